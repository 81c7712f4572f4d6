"""The MLflow flavour: models come back as they were, from folders, runs and the registry."""

import numpy as np
import pandas as pd
import pytest

from devfnn import DEVFNN, GClass, InputError, StorageError

pytest.importorskip("devfnn.adapters.mlflow", reason="needs MLflow", exc_type=ImportError)

import mlflow

import devfnn.adapters.mlflow
from devfnn.adapters.mlflow import load_model, log_model, save_model


@pytest.fixture
def table(rng):
    """Rows with names."""
    return pd.DataFrame(rng.random((600, 3)), columns=["warm", "wet", "wind"])


@pytest.fixture
def labels(table):
    """Their labels."""
    return np.where(table["warm"] > table["wet"], "dry", "rain")


@pytest.fixture
def model(table, labels):
    """A model that knows the first half of the rows."""
    made = DEVFNN()
    made.learn(table[:300], labels[:300])
    return made


@pytest.fixture
def tracking(tmp_path, monkeypatch):
    """A tracking store and a registry in a folder of their own; databases need more libraries."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())


def test_a_saved_model_goes_on_as_it_would_have(model, table, labels, tmp_path):
    save_model(model, tmp_path / "saved")
    other = load_model(tmp_path / "saved")
    for each in (model, other):
        each.learn(table[300:], labels[300:])
    assert np.array_equal(other.predict_proba(table), model.predict_proba(table))


def test_the_artifact_is_our_own_file(model, table, tmp_path):
    save_model(model, tmp_path / "saved")
    file = tmp_path / "saved" / "data" / "model.devfnn"
    assert np.array_equal(DEVFNN.load(file).predict(table), model.predict(table))
    assert not list((tmp_path / "saved").rglob("*.pkl"))
    needs = (tmp_path / "saved" / "requirements.txt").read_text()
    assert f"devfnn[mlflow]=={devfnn.__version__}" in needs


def test_the_python_function_predicts_labels_or_probabilities(model, table, tmp_path):
    save_model(model, tmp_path / "saved")
    uri = str(tmp_path / "saved")
    function = mlflow.pyfunc.load_model(uri)
    assert np.array_equal(function.predict(table), model.predict(table))
    assert function.get_raw_model().classes == model.classes
    function = mlflow.pyfunc.load_model(uri, model_config={"predicts": "probabilities"})
    assert np.array_equal(function.predict(table), model.predict_proba(table))
    save_model(model, tmp_path / "shares", predicts="probabilities")
    function = mlflow.pyfunc.load_model(str(tmp_path / "shares"))
    assert np.array_equal(function.predict(table), model.predict_proba(table))


def test_the_signature_is_inferred_from_an_example(model, table, tmp_path):
    save_model(model, tmp_path / "saved", input_example=table[:5])
    described = mlflow.models.Model.load(tmp_path / "saved")
    assert described.signature.inputs.input_names() == ["warm", "wet", "wind"]
    assert described.signature.outputs is not None
    function = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    turned = table[["wind", "warm", "wet"]]
    assert np.array_equal(function.predict(turned), model.predict(table))
    with pytest.raises(mlflow.MlflowException, match="wind"):
        function.predict(table.drop(columns="wind"))


def test_columns_are_taken_by_name_also_without_a_signature(model, table, tmp_path):
    save_model(model, tmp_path / "saved")
    function = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    turned = table[["wind", "warm", "wet"]]
    assert np.array_equal(function.predict(turned), model.predict(table))
    for wrong, message in (
        (table.drop(columns="wind"), "column 'wind' is absent"),
        (table.assign(sun=1.0), "unknown column 'sun'"),
        (table.assign(wind="strong"), "must be numbers"),
        (table.assign(wind=np.nan), 'use missing="skip"'),
    ):
        with pytest.raises(InputError, match=message):
            function.predict(wrong)


def test_an_example_that_does_not_fit_is_refused_before_anything_is_written(model, table, tmp_path):
    with pytest.raises(InputError, match="column 'wind' is absent"):
        save_model(model, tmp_path / "saved", input_example=table[["warm", "wet"]])
    assert not (tmp_path / "saved").exists()


def test_an_example_may_be_an_array(table, labels, tmp_path):
    X = table.to_numpy()
    model = DEVFNN()
    model.learn(X, labels)
    save_model(model, tmp_path / "saved", input_example=X[:5], predicts="probabilities")
    signature = mlflow.models.Model.load(tmp_path / "saved").signature
    assert signature.inputs.is_tensor_spec()
    assert signature.outputs.inputs[0].shape == (-1, 2)
    function = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    assert np.array_equal(function.predict(X), model.predict_proba(X))


def test_a_logged_model_is_found_again(model, table, tracking):
    with mlflow.start_run():
        info = log_model(
            model, name="weather", input_example=table[:3], registered_model_name="weather"
        )
    assert set(info.flavors) == {"devfnn", "python_function"}
    for uri in (info.model_uri, "models:/weather/1"):
        assert np.array_equal(load_model(uri).predict(table), model.predict(table))
    function = mlflow.pyfunc.load_model(info.model_uri)
    assert np.array_equal(function.predict(table), model.predict(table))


def test_other_models_of_ours_are_kept_too(table, labels, tmp_path):
    model = GClass()
    model.learn(table, labels)
    save_model(model, tmp_path / "saved", metadata={"place": "here"})
    assert type(load_model(tmp_path / "saved")) is GClass
    assert mlflow.models.Model.load(tmp_path / "saved").metadata == {"place": "here"}


def test_what_cannot_be_saved_or_loaded_is_said(model, tmp_path):
    with pytest.raises(InputError, match="not a dict"):
        save_model({}, tmp_path / "saved")
    with pytest.raises(InputError, match='"labels" or "probabilities"'):
        save_model(model, tmp_path / "saved", predicts="classes")
    assert not (tmp_path / "saved").exists()
    mlflow.models.Model(flavors={"other": {}}).save(tmp_path / "MLmodel")
    with pytest.raises(InputError, match="is no model of devfnn, but of other"):
        load_model(tmp_path)
    save_model(model, tmp_path / "saved")
    (tmp_path / "saved" / "data" / "model.devfnn").write_bytes(b"broken")
    with pytest.raises(StorageError):
        load_model(tmp_path / "saved")
