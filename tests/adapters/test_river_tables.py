"""Tables of any kind through River's adapter."""

import decimal
import pickle

import numpy as np
import pytest

pytest.importorskip("river", minversion="0.26")

from devfnn import InputError
from devfnn.adapters.river import DEVFNNClassifier
from river_rows import NAMES, as_dicts, learned, rows


def tables():
    """Makers of tables and columns of every kind."""
    import pandas
    import pyarrow

    yield "pandas", pandas.DataFrame, pandas.Series
    yield "pyarrow", pyarrow.table, lambda values: pyarrow.chunked_array([values])
    import polars

    yield "polars", polars.DataFrame, polars.Series


@pytest.mark.parametrize(
    ("kind", "table", "column"), list(tables()), ids=["pandas", "pyarrow", "polars"]
)
def test_tables_of_any_kind_are_the_same_as_rows(kind, table, column):
    X, y = rows(300)
    labels = [["up", "down", "flat"][label] for label in y]
    one = learned(X, labels)
    many = DEVFNNClassifier()
    X_table = table(dict(zip(NAMES, X.T.copy(), strict=True)))
    assert len(many.predict_many(X_table)) == 300  # before it has learned anything
    empty = many.predict_proba_many(X_table)
    assert len(empty.columns) == 0 and len(empty) == (300 if kind == "pandas" else 0)
    many.learn_many(X_table, column(labels))
    predicted, shares = many.predict_many(X_table), many.predict_proba_many(X_table)
    assert type(shares) is type(X_table)
    assert type(predicted) is type(column(labels))
    listed = predicted.to_pylist() if kind == "pyarrow" else predicted.to_list()
    assert listed == [one.predict_one(x) for x in as_dicts(X)]
    for label in one.model.classes:
        expected = [one.predict_proba_one(x)[label] for x in as_dicts(X)]
        assert np.array_equal(np.asarray(shares[label]), expected)


def test_tables_keep_their_index_and_labels():
    pandas = pytest.importorskip("pandas")
    X, y = rows(50)
    frame = pandas.DataFrame(X, columns=NAMES, index=range(100, 150))
    model = DEVFNNClassifier()
    model.learn_many(frame, pandas.Series(y, name="class", index=frame.index), w=2.0)
    assert model.predict_many(frame).index.tolist() == list(range(100, 150))
    assert model.predict_many(frame).name == "class"
    assert model.predict_proba_many(frame).columns.tolist() == model.model.classes
    with pytest.raises(InputError, match="'colour' is 'red'"):
        model.learn_many(frame.assign(colour="red"), y)


@pytest.mark.parametrize(
    "dtypes",
    [("Int64", "Float64", "boolean"), ("float64", "float64", "object"), ("Float32",) * 3],
    ids=str,
)
def test_what_pandas_has_where_there_is_nothing_is_missing(dtypes):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (200, 3)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = (np.nansum(X, axis=1) > 1).tolist()
    columns = [[None if np.isnan(v) else v for v in column] for column in X.T.tolist()]
    made = [pandas.Series(c, dtype=d) for c, d in zip(columns, dtypes, strict=True)]
    frame = pandas.DataFrame(dict(zip(NAMES, made, strict=True)))
    many, one = DEVFNNClassifier(), DEVFNNClassifier()
    many.learn_many(frame, y)
    for row, label in zip(X.tolist(), y, strict=True):
        x = {name: value for name, value in zip(NAMES, row, strict=True)}
        one.learn_one(x, label)
    assert many.model.__getstate__() == one.model.__getstate__()
    shares = many.predict_proba_many(frame)
    assert shares[True].tolist() == [
        one.predict_proba_one(dict(zip(NAMES, row, strict=True)))[True] for row in X.tolist()
    ]


def test_numbers_of_any_kind_are_numbers():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [decimal.Decimal("0.5"), 2], "b": [True, 10**30]}, dtype=object)
    model = DEVFNNClassifier()
    model.learn_many(frame, ["x", "y"])
    other = DEVFNNClassifier()
    for x, y in (({"a": 0.5, "b": 1.0}, "x"), ({"a": 2.0, "b": 1e30}, "y")):
        other.learn_one(x, y)
    assert model.model.__getstate__() == other.model.__getstate__()


NEW = {"a": [1.0, 2.0], "new": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("table", "y", "w", "message"),
    [
        (NEW, [0], None, "1 labels for 2 rows"),
        (NEW, [0, None], None, "label of row 1 is missing"),
        (NEW, [0, [1]], None, "cannot name a class"),
        (NEW, 0, None, "labels must be a column, a list or an array, not int"),
        (NEW, "ab", None, "labels must be a column, a list or an array, not str"),
        (NEW, [0, 1], "2", "weights must be numbers"),
        (NEW, [0, 1], ["2", "3"], "weights must be numbers"),
        (NEW, [0, 1], [1.0], "1 weights for 2 rows"),
        (NEW, [0, 1], [1.0, None], "weights must lie between"),
        (NEW, [0, 1], float("nan"), "weights must lie between"),
        (NEW, [0, 1], -1, "weights must lie between"),
        (NEW, [0, 1], np.float64(-1), "weights must lie between"),
        (NEW, [0, 1], [1.0, -1.0], "weights must lie between"),
        (NEW, [0, 1], 10**400, "weights must be numbers"),
        (NEW, [0, 1], {"w": 1}, "weights must be a column"),
        ({"a": [1.0, 2.0], "new": [1, 10**400]}, [0, 1], None, "'new' is infinite or beyond"),
        ({"a": [1.0, 2.0], "new": [1.0, "x"]}, [0, 1], None, "'new' is 'x', not a number"),
        ({"a": [1.0, 2.0], "new": [1.0, -np.inf]}, [0, 1], None, "'new' is infinite"),
    ],
)
def test_a_refused_table_changes_nothing(table, y, w, message):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table, dtype=object)
    for model in (DEVFNNClassifier(), learned(*rows(50))):
        before = pickle.dumps(model)
        with pytest.raises(InputError, match=message):
            model.learn_many(frame, y, w)
        assert pickle.dumps(model) == before


def test_labels_that_pandas_does_not_have_are_missing():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(NEW)
    for labels in (
        pandas.Series([1, None], dtype="Int64"),
        pandas.Series(["a", None], dtype="category"),
    ):
        with pytest.raises(InputError, match="label of row 1 is missing"):
            DEVFNNClassifier().learn_many(frame, labels)


def test_rows_of_weight_0_are_passed_over_with_their_labels():
    pandas = pytest.importorskip("pandas")
    X, y = rows(60)
    frame = pandas.DataFrame(X, columns=NAMES)
    model, some = DEVFNNClassifier(), DEVFNNClassifier()
    model.learn_many(frame, [None] * 60, w=0)
    assert model.model.feature_names == []
    labels = [None if row % 3 == 0 else label for row, label in enumerate(y)]
    model.learn_many(frame, labels, w=[0.0, 1.0, 2.0] * 20)
    kept = [row for row in range(60) if row % 3]
    some.learn_many(frame.iloc[kept], [y[row] for row in kept], w=[1.0, 2.0] * 20)
    assert model.model.__getstate__() == some.model.__getstate__()


def test_what_is_no_table_is_refused():
    model = learned(*rows(50))
    for act in (model.predict_many, model.predict_proba_many, lambda X: model.learn_many(X, [1])):
        with pytest.raises(InputError, match="rows must be a table of pandas"):
            act([[1.0, 2.0, 3.0]])


def test_a_column_that_is_there_twice_is_refused():
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    twice = pandas.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(InputError, match="unique column names, got: - 'a' 2 times"):
        DEVFNNClassifier().learn_many(twice, [1])
    twice = pyarrow.table([[1.0], [2.0]], names=["a", "a"])
    with pytest.raises(InputError, match="'a'"):
        DEVFNNClassifier().learn_many(twice, [1])


@pytest.mark.parametrize("value", [np.inf, -np.inf, 2e100])
def test_a_column_of_numbers_with_an_infinite_one_is_refused(value):
    pandas = pytest.importorskip("pandas")
    model = learned(*rows(50))
    frame = pandas.DataFrame({"a": [1.0, np.nan], "b": [0.5, value]})
    for act in (model.predict_many, lambda X: model.learn_many(X, [0, 1])):
        with pytest.raises(InputError, match="feature 'b' is infinite or beyond 1e"):
            act(frame)
