"""DEVFNN in MLflow: `pip install 'devfnn[mlflow]'`.

The artifact is the file that `model.save` writes, never a pickle: a model that is loaded goes on
learning as the saved one would have.
"""

import os
import pathlib
import sys
import tempfile
import warnings
from typing import Any

from devfnn.adapters.shared import check_is_core, needs
from devfnn.errors import InputError
from devfnn.model.devfnn import DEVFNN
from devfnn.storage import load

with needs("MLflow", "mlflow"), warnings.catch_warnings():
    # MLflow warns of its own type hints when it is imported.
    warnings.filterwarnings("ignore", message=".*Any type hint is inferred")
    import mlflow.artifacts
    import mlflow.pyfunc
    from mlflow.models import Model, ModelSignature, infer_signature
    from mlflow.models.model import ModelInfo

__all__ = ["get_default_pip_requirements", "load_model", "log_model", "save_model"]

FLAVOR_NAME, FILE_NAME = "devfnn", "model.devfnn"

LABELS, PROBABILITIES = "labels", "probabilities"
"""What the Python function of a model predicts."""


def get_default_pip_requirements() -> list[str]:
    """What a logged model needs to be loaded."""
    import devfnn

    return [f"devfnn[mlflow]=={devfnn.__version__}"]


def save_model(
    model: DEVFNN,
    path: str | os.PathLike[str],
    *,
    signature: ModelSignature | None = None,
    input_example: Any = None,
    predicts: str = LABELS,
    **options: Any,
) -> None:
    """Write a DEVFNN or GClass, not an adapter, to a new or empty folder, in MLflow's format.

    Without a `signature` it is inferred from `input_example`, some rows, if there is one.
    `predicts` is "labels" or "probabilities": what `predict` of the Python function gives. Whoever
    loads it may choose anew: `mlflow.pyfunc.load_model(uri, model_config={"predicts": ...})`.
    Options are other arguments of `mlflow.pyfunc.save_model`, as `metadata`.
    """
    import devfnn

    check_is_core(model, "saved")
    function = _Function(model, predicts)
    if signature is None and input_example is not None:
        signature = infer_signature(input_example, function.predict(input_example))
    if "conda_env" not in options:  # else MLflow loads the model in a process to find out
        options.setdefault("pip_requirements", get_default_pip_requirements())
    described, version = options.pop("mlflow_model", None) or Model(), devfnn.__version__
    described.add_flavor(FLAVOR_NAME, data=f"data/{FILE_NAME}", devfnn_version=version, code=None)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, FILE_NAME)
        model.save(file)
        mlflow.pyfunc.save_model(
            os.fspath(path),
            loader_module=__name__,
            data_path=file,
            mlflow_model=described,
            signature=signature,
            input_example=input_example,
            model_config={"predicts": predicts},
            **options,
        )


def log_model(model: DEVFNN, name: str = "model", **options: Any) -> ModelInfo:
    """Log a DEVFNN or GClass under a name, to the active run or a new one.

    Options are arguments of `save_model`, and of `mlflow.models.Model.log`, as `tags`.
    """
    own = sys.modules[__name__]
    info: ModelInfo = Model.log(None, flavor=own, name=name, model=model, **options)
    return info


def load_model(model_uri: str | os.PathLike[str], dst_path: str | None = None) -> DEVFNN:
    """Read a model from a path, or from what MLflow understands: "runs:/...", "models:/...".

    It can go on learning. What lies elsewhere is copied to `dst_path`, or a temporary folder.
    """
    uri = os.fspath(model_uri)
    folder = mlflow.artifacts.download_artifacts(artifact_uri=uri, dst_path=dst_path)
    flavors = Model.load(folder).flavors
    if FLAVOR_NAME not in flavors:
        raise InputError(f"{model_uri} is no model of devfnn, but of {', '.join(sorted(flavors))}")
    return load(pathlib.Path(folder, flavors[FLAVOR_NAME]["data"]))


class _Function:
    """A model as MLflow's Python function."""

    def __init__(self, model: DEVFNN, predicts: str) -> None:
        if predicts not in (LABELS, PROBABILITIES):
            raise InputError(f'predicts must be "{LABELS}" or "{PROBABILITIES}", not {predicts!r}')
        self._model, self._predicts = model, predicts

    def get_raw_model(self) -> DEVFNN:
        """The model itself."""
        return self._model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Labels of rows, or their class probabilities; MLflow's parameters have no meaning."""
        if self._predicts == PROBABILITIES:
            return self._model.predict_proba(model_input)
        return self._model.predict(model_input)


def _load_pyfunc(path: str, model_config: dict[str, Any] | None = None) -> _Function:
    """Called by MLflow."""
    return _Function(load(path), (model_config or {}).get("predicts", LABELS))
