"""Bad input: each case has its answer, and a refused call leaves the model as it was."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from contract import ROWS, Table, rows
from devfnn import DEVFNN, InputError, NotLearnedError
from devfnn.storage import dump
from scenes import config_of, each_network

X, Y = rows()
NAN, INFINITY = float("nan"), float("inf")

Ask = Callable[[DEVFNN, Any], Any]
ASKS: dict[str, Ask] = {
    "learn": lambda model, X: model.learn(X, [0] * len(X)),
    "learn_rows": lambda model, X: model.learn_rows(X, [0] * len(X)),
    "predict": lambda model, X: model.predict(X),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "wants_label": lambda model, X: model.wants_label(X),
}
ASKS_ONE: dict[str, Ask] = {
    "learn_one": lambda model, x: model.learn_one(x, 0),
    "predict_one": lambda model, x: model.predict_one(x),
    "predict_proba_one": lambda model, x: model.predict_proba_one(x),
}

BAD_ROWS: dict[str, tuple[Any, str]] = {
    "too narrow": ([[0.1, 0.2]], "rows have 2 features, the model knows 3"),
    "too wide": ([[0.1, 0.2, 0.3, 0.4]], "rows have 4 features, the model knows 3"),
    "no features": (np.empty((2, 0)), "rows have 0 features, the model knows 3"),
    "NaN": ([[0.1, 0.2, 0.3], [0.1, NAN, 0.3]], 'row 1, feature 1 is NaN; use missing="skip"'),
    "None": ([[0.1, None, 0.3]], "row 0, feature 1 is NaN"),
    "infinity": ([[0.1, 0.2, INFINITY]], "row 0, feature 2 is infinite or beyond 1e"),
    "minus infinity": ([[0.1, -INFINITY, 0.3]], "row 0, feature 1 is infinite"),
    "too large": ([[1e101, 0.2, 0.3]], "row 0, feature 0 is infinite or beyond 1e"),
    "text": ([["a", "b", "c"]], "features must be numbers, not .*; encode categories first"),
    "digits": ([["1", "2", "3"]], "features must be numbers"),
    "some text": ([[0.1, "b", 0.3]], "features must be numbers"),
    "text as objects": (
        np.array([[0.1, "b", 0.3]], object),
        "features must be numbers, not text; encode categories first",
    ),
    "objects": ([[0.1, object(), 0.3]], "features must be numbers"),
    "complex": ([[0.1, 1j, 0.3]], "features must be numbers, not complex128"),
    "dates": (np.array([["2020-01-01"] * 3], "datetime64[D]"), "features must be numbers, not"),
}
BAD_SHAPES: dict[str, tuple[Any, str]] = {
    "one dimension": (
        [0.1, 0.2, 0.3],
        "not an array of 1 dimension.*use learn_one and predict_one",
    ),
    "three dimensions": (np.zeros((1, 1, 3)), "not an array of 3 dimension"),
    "ragged": ([[0.1, 0.2, 0.3], [0.1, 0.2]], "rows must all have the same number of features"),
    "no rows at all": ([], "not an array of 1 dimension"),
}


def taught(network: str, **changes: Any) -> DEVFNN:
    """A model that has learned a chunk, and some rows after it."""
    model = DEVFNN(config_of(network, **changes))
    model.learn(X, Y)
    model.learn_rows(X[:20], Y[:20])
    return model


@functools.cache
def known(network: str) -> DEVFNN:
    """Such a model for calls that are refused: it stays as it is, which `refused` looks at."""
    return taught(network)


def refused(model: DEVFNN, call: Callable[[], Any], message: str) -> None:
    """The call is refused for this reason, and the model stays as it was."""
    state = dump(model)
    with pytest.raises(InputError, match=message):
        call()
    assert dump(model) == state


# ---- rows


@pytest.mark.parametrize("verb", ASKS)
@pytest.mark.parametrize("case", [*BAD_ROWS, *BAD_SHAPES])
@each_network
def test_bad_rows_are_refused_and_change_nothing(network: str, verb: str, case: str) -> None:
    bad, message = (BAD_ROWS | BAD_SHAPES)[case]
    model = known(network)
    refused(model, lambda: ASKS[verb](model, bad), message)


@pytest.mark.parametrize("verb", ASKS_ONE)
@pytest.mark.parametrize("case", BAD_ROWS)
@each_network
def test_a_bad_row_is_refused_and_changes_nothing(network: str, verb: str, case: str) -> None:
    bad, message = BAD_ROWS[case]
    model = known(network)
    message = message.replace("row 1,", "row 0,")
    refused(model, lambda: ASKS_ONE[verb](model, bad[-1]), message)


@pytest.mark.parametrize("verb", ASKS_ONE)
@pytest.mark.parametrize("bad", [X[:1], 0.5, [0.1, [0.2], 0.3]], ids=["matrix", "number", "ragged"])
@each_network
def test_one_row_must_be_a_vector(network: str, verb: str, bad: Any) -> None:
    model = known(network)
    refused(model, lambda: ASKS_ONE[verb](model, bad), "one row is a vector of features")


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize("case", [*BAD_ROWS, *BAD_SHAPES])
@each_network
def test_a_fresh_model_refuses_bad_rows_too(network: str, verb: str, case: str) -> None:
    bad, message = (BAD_ROWS | BAD_SHAPES)[case]
    model = DEVFNN(config_of(network), feature_names=["a", "b", "c"])
    refused(model, lambda: ASKS[verb](model, bad), message)
    assert model.n_rows == 0 and not model.classes


@each_network
def test_rows_without_features_are_refused_by_a_model_that_knows_none(network: str) -> None:
    model = DEVFNN(config_of(network))
    refused(model, lambda: model.learn(np.empty((2, 0)), [0, 1]), "rows have no features")


@each_network
def test_a_fresh_model_with_names_knows_its_width_when_asked_for_wants(network: str) -> None:
    model = DEVFNN(config_of(network), feature_names=["a", "b", "c"])
    refused(model, lambda: model.wants_label(X[:, :2]), "rows have 2 features, the model knows 3")


@pytest.mark.parametrize("verb", ASKS)
@each_network
def test_with_missing_skip_nan_is_an_absent_feature(network: str, verb: str) -> None:
    model = taught(network, missing="skip")
    holey = X.copy()
    holey[::3, 0] = holey[::5, 2] = NAN
    holey[7] = NAN
    ASKS[verb](model, holey)
    assert np.isfinite(model.predict_proba(holey)).all()
    infinite = [[0.1, NAN, INFINITY]]
    refused(model, lambda: ASKS[verb](model, infinite), "row 0, feature 2 is infinite")


@each_network
def test_a_column_named_twice_is_refused(network: str) -> None:
    model = DEVFNN(config_of(network))
    model.learn(Table("abc", X), Y)
    wider = Table("abca", np.concatenate([X, X[:, :1]], axis=1))
    refused(model, lambda: model.predict(wider), "'a'")
    fresh = DEVFNN(config_of(network))
    refused(fresh, lambda: fresh.learn(Table("aba", X), Y), "'a'")
    with pytest.raises(InputError, match="'a'"):
        DEVFNN(config_of(network), feature_names=["a", "b", "a"])


# ---- labels and weights

BAD_LABELS: dict[str, tuple[Any, str]] = {
    "too few": ([0] * (ROWS - 1), f"{ROWS - 1} labels for {ROWS} rows"),
    "too many": ([0] * (ROWS + 1), f"{ROWS + 1} labels for {ROWS} rows"),
    "None": ([*Y[1:], None], f"the label of row {ROWS - 1} is missing; leave such rows out"),
    "NaN": ([0, NAN, *Y[2:]], "the label of row 1 is missing"),
    "NaN in an array": (np.where(np.arange(ROWS) == 3, NAN, Y), "the label of row 3 is missing"),
    "a list": ([*Y[1:], [1]], f"the label of row {ROWS - 1} is a list, which cannot name a class"),
    "an array": ([np.ones(1), *Y[1:]], "the label of row 0 is a ndarray, which cannot name"),
    "a matrix": (Y[:, None], "the label of row 0 is a list, which cannot name a class"),
    "one number": (1, "labels must be a sequence, one for each row"),
    "an array of no dimension": (np.array(1), "labels must be a sequence, one for each row"),
    "nothing": (None, "labels must be a sequence, one for each row"),
    "a text": ("a" * ROWS, "labels must be a sequence, one for each row"),
}
BAD_WEIGHTS: dict[str, tuple[Any, str]] = {
    "too few": (np.ones(ROWS - 1), f"{ROWS - 1} weights for {ROWS} rows"),
    "one number": (1.0, f"1 weights for {ROWS} rows"),
    "a matrix": (np.ones((ROWS, 1)), f"{ROWS} weights for {ROWS} rows"),
    "negative": ([-1e-9] + [1.0] * (ROWS - 1), "weights must lie between 0 and 1e"),
    "NaN": ([NAN] + [1.0] * (ROWS - 1), "weights must lie between 0 and 1e"),
    "infinite": ([INFINITY] + [1.0] * (ROWS - 1), "weights must lie between 0 and 1e"),
    "too large": ([1e7] + [1.0] * (ROWS - 1), "weights must lie between 0 and 1e"),
    "text": (["heavy"] * ROWS, "weights must be numbers"),
}
BAD_MASKS: dict[str, Any] = {
    "too short": np.ones(ROWS - 1, np.bool_),
    "numbers": np.ones(ROWS),
    "a number": 1,
}


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize("case", BAD_LABELS)
@each_network
def test_bad_labels_are_refused_and_change_nothing(network: str, verb: str, case: str) -> None:
    bad, message = BAD_LABELS[case]
    for model in (known(network), DEVFNN(config_of(network))):
        refused(model, functools.partial(getattr(model, verb), X, bad), message)


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize("case", BAD_WEIGHTS)
@each_network
def test_bad_weights_are_refused_and_change_nothing(network: str, verb: str, case: str) -> None:
    bad, message = BAD_WEIGHTS[case]
    model = known(network)
    refused(model, lambda: getattr(model, verb)(X, Y, bad), message)


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@pytest.mark.parametrize("case", BAD_MASKS)
@each_network
def test_a_bad_mask_of_chosen_rows_is_refused(network: str, verb: str, case: str) -> None:
    model = known(network)
    mask = BAD_MASKS[case]
    refused(model, lambda: getattr(model, verb)(X, Y, chosen=mask), "chosen must be True or a mask")


@pytest.mark.parametrize("label", [None, NAN, [1], {1: 2}], ids=str)
@each_network
def test_a_bad_label_of_one_row_is_refused(network: str, label: Any) -> None:
    model = known(network)
    refused(model, lambda: model.learn_one(X[0], label), "the label of row 0")


@pytest.mark.parametrize("weight", [-1.0, NAN, INFINITY, None, "heavy"], ids=str)
@each_network
def test_a_bad_weight_of_one_row_is_refused(network: str, weight: Any) -> None:
    model = known(network)
    refused(model, lambda: model.learn_one(X[0], 1, weight), "weights must")


# ---- unusual, but welcome


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@each_network
def test_an_empty_chunk_is_passed_over(network: str, verb: str) -> None:
    config = config_of(network)
    for model in (taught(network), DEVFNN(config), DEVFNN(config, ["a", "b", "c"])):
        state = dump(model)
        assert getattr(model, verb)(X[:0], []) == []
        assert getattr(model, verb)(X[:0], Y[:0], []) == []
        assert getattr(model, verb)(Table("abc", X[:0]), []) == []
        assert dump(model) == state


@each_network
def test_no_rows_get_no_predictions(network: str) -> None:
    model = known(network)
    assert model.predict(X[:0]).shape == (0,)
    assert model.predict_proba(X[:0]).shape == (0, 2)
    assert model.wants_label(X[:0]).shape == (0,)


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@each_network
def test_a_chunk_of_one_class_is_learned(network: str, verb: str) -> None:
    model = DEVFNN(config_of(network))
    events = getattr(model, verb)(X, ["only"] * ROWS)
    assert [event.kind for event in events if event.kind == "ClassAdded"] == ["ClassAdded"]
    assert set(model.predict(X)) == {"only"}
    np.testing.assert_allclose(model.predict_proba(X), np.ones((ROWS, 1)), rtol=1e-15)
    getattr(model, verb)(X, ["other"] * ROWS)
    getattr(model, verb)(X, np.where(Y == 1, "other", "only"))
    getattr(model, verb)(X, np.where(Y == 1, "other", "only"))
    assert (model.predict(X) == np.where(Y == 1, "other", "only")).mean() > 0.8


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@each_network
def test_chunks_of_one_row_are_learned(network: str, verb: str) -> None:
    model = DEVFNN(config_of(network))
    for row in range(ROWS // 2):
        getattr(model, verb)(X[row : row + 1], Y[row : row + 1])
    assert model.n_rows == ROWS // 2
    assert (model.predict(X[ROWS // 2 :]) == Y[ROWS // 2 :]).mean() > 0.75


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
@each_network
def test_labels_of_mixed_type_are_classes_of_their_own(network: str, verb: str) -> None:
    names = [1, "1", (1,), 1.5, b"1"]
    labels = [names[row % 5] for row in range(ROWS)]
    model = DEVFNN(config_of(network))
    getattr(model, verb)(X, labels)
    assert model.classes == names
    assert set(model.predict(X).tolist()) <= set(names)
    before = model.classes
    getattr(model, verb)(X[:3], [1.0, np.int64(1), True])  # equal, so the same class
    assert model.classes == before


@pytest.mark.parametrize("value", ["1e400", "-1e400", "1e101"])
def test_numbers_too_long_for_a_model_are_infinite_ones(value: str) -> None:
    """Without the warning that NumPy has for what becomes infinite."""
    model = known("swift")
    rows = X[:2].astype(np.longdouble)
    rows[0, 1] = np.longdouble(value)
    for each in (rows, rows.astype(object)):
        refused(model, lambda each=each: model.learn(each, [0, 1]), "row 0, feature 1 is infinite")
        refused(model, lambda each=each: model.predict(each), "row 0, feature 1 is infinite")


@pytest.mark.parametrize("verb", ["learn", "learn_rows"])
def test_a_mask_that_is_none_is_refused(verb: str) -> None:
    model = known("swift")
    for chosen in ([[True], [True, False]], [1, 0], "yes", [True], [[True, False]]):
        call = functools.partial(getattr(model, verb), X[:2], [0, 1], chosen=chosen)
        refused(model, call, "chosen must be True or a mask of 2 rows")


@each_network
def test_a_fresh_model_refuses_to_predict(network: str) -> None:
    for verb in ("predict", "predict_proba"):
        with pytest.raises(NotLearnedError, match="has not learned anything yet; call learn first"):
            ASKS[verb](DEVFNN(config_of(network)), X)
    model = DEVFNN(config_of(network))
    model.learn(X, Y, np.zeros(ROWS))
    with pytest.raises(NotLearnedError):
        model.predict_one(X[0])


@pytest.mark.parametrize("bad", [np.float32("inf"), np.float16("-inf"), 1e101, 10**400], ids=repr)
@pytest.mark.parametrize("name", [*ASKS, *ASKS_ONE, "explain", "ask"])
@each_network
def test_infinity_of_any_type_is_refused_where_values_may_be_missing(
    network: str, name: str, bad: Any
) -> None:
    """In single precision 1e100 is infinite too, so that infinity is not beyond it."""
    model, row = known_gaps(network), [0.5, bad, NAN]
    asks = ASKS | {"ask": lambda model, X: model.ask(X)}
    one = ASKS_ONE | {"explain": lambda model, x: model.explain(x)}
    refused(
        model,
        lambda: one[name](model, row) if name in one else asks[name](model, [row]),
        "infinite|must be numbers",
    )


@functools.cache
def known_gaps(network: str) -> DEVFNN:
    """The same of models that know missing values."""
    return taught(network, missing="skip")
