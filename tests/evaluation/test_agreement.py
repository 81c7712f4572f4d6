"""The loop against those of River and CapyMOA: the same counts, to the row."""

import datetime

import numpy as np
import pytest

from devfnn.evaluation import Procedure, iter_prequential
from devfnn.evaluation.measures import added, measures
from devfnn.streams import from_arrays

NAMES = [f"f{place}" for place in range(4)]


def made(n_rows=1000, n_classes=2, seed=3):
    """Rows of classes that move apart and together, with labels that stay for a while."""
    rng = np.random.default_rng(seed)
    y = np.repeat(rng.integers(0, n_classes, n_rows // 4 + 1), 4)[:n_rows]
    shift = np.sin(np.arange(n_rows) / 300.0)[:, None]
    X = rng.normal(size=(n_rows, 4)) + y[:, None] * shift + rng.normal(size=(1, 4))
    return X, y


def counts(model, stream, procedure):
    """Rows predicted right and rows scored, and the sum of all tallies."""
    results = list(iter_prequential(model, stream, procedure))
    total = added(each.tally for each in results if each.tally is not None)
    assert total.n_scored == sum(each.n_scored for each in results)
    return (total.n_correct, total.n_scored), total


class Ordered:
    """A stream with its classes in another order."""

    def __init__(self, stream, classes):
        self.stream, self.classes = stream, classes
        self.feature_names = stream.feature_names

    def __iter__(self):
        return iter(self.stream)


# ---- River


def river_model(name):
    """A fresh classifier."""
    if name == "LogisticRegression":
        scaler = pytest.importorskip("river.preprocessing").StandardScaler()
        return scaler | pytest.importorskip("river.linear_model").LogisticRegression()
    if name == "GaussianNB":
        return pytest.importorskip("river.naive_bayes").GaussianNB()
    return pytest.importorskip("river.tree").HoeffdingTreeClassifier()


def river_says(model, X, y, names=NAMES, **options):
    """The same by River's own loop, over rows as dicts or as they are given."""
    from river import evaluate, metrics, stream

    metric = metrics.Accuracy()
    rows = stream.iter_array(X, y, feature_names=names) if isinstance(X, np.ndarray) else X
    evaluate.progressive_val_score(rows, model, metric, **options)
    return round(metric.get() * metric.cm.n_samples), int(metric.cm.n_samples)


@pytest.mark.parametrize("name", ["GaussianNB", "HoeffdingTreeClassifier"])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_row_by_row_counts_are_those_of_river(name, n_classes):
    X, y = made(n_classes=n_classes)
    ours, _ = counts(
        river_model(name), from_arrays(X, y, feature_names=NAMES), Procedure(by_row=True)
    )
    assert ours == river_says(river_model(name), X, y)
    assert ours[1] == 999


@pytest.mark.parametrize("name", ["GaussianNB", "HoeffdingTreeClassifier"])
@pytest.mark.parametrize("delay", [0, 1, 7, 300])
def test_counts_with_delayed_labels_are_those_of_river(name, delay):
    X, y = made(600)
    stream = from_arrays(X, y, feature_names=NAMES)
    procedure = Procedure(by_row=True, delay=delay, unpredicted="skip")
    ours, _ = counts(river_model(name), stream, procedure)
    assert ours == river_says(river_model(name), X, y, delay=delay)
    assert ours[1] == 600 - max(1, delay)


@pytest.mark.parametrize("delay", [None, 0, 7])
def test_a_model_that_answers_before_it_has_learned_is_scored_from_the_first_row(delay):
    X, y = made()
    procedure = Procedure(by_row=True, delay=delay, unpredicted="skip")
    stream = from_arrays(X, y, feature_names=NAMES)
    ours, _ = counts(river_model("LogisticRegression"), stream, procedure)
    assert ours == river_says(river_model("LogisticRegression"), X, y, delay=delay)
    assert ours[1] == 1000


@pytest.fixture
def uneven():
    """Rows with moments that come ever later and delays that differ, many of them equal."""
    X, y = made(500)
    rng = np.random.default_rng(5)
    X[:, 2] = np.cumsum(rng.integers(0, 4, 500))
    X[:, 3] = rng.integers(0, 60, 500)
    return X, y


def test_moments_and_delays_by_features_are_those_of_river(uneven):
    X, y = uneven
    stream = from_arrays(X, y, feature_names=NAMES, chunk_rows=70)
    for options in ({"delay": "f3"}, {"delay": "f3", "moment": "f2"}, {"delay": 9, "moment": "f2"}):
        procedure = Procedure(by_row=True, unpredicted="skip", **options)
        ours, _ = counts(river_model("GaussianNB"), stream, procedure)
        assert ours == river_says(river_model("GaussianNB"), X, y, **options)


def test_moments_and_delays_by_functions_are_those_of_river(uneven):
    X, y = uneven
    stream = from_arrays(X, y, feature_names=NAMES, chunk_rows=70)
    procedure = Procedure(
        by_row=True,
        unpredicted="skip",
        delay=lambda chunk: 3 * chunk.X[:, 3] + chunk.y,
        moment=lambda chunk: 2 * chunk.X[:, 2],
    )
    ours, _ = counts(river_model("GaussianNB"), stream, procedure)
    theirs = river_says(
        river_model("GaussianNB"),
        X,
        y,
        delay=lambda x, y: 3 * x["f3"] + y,
        moment=lambda x: 2 * x["f2"],
    )
    assert ours == theirs


def test_delays_in_time_are_those_of_river(uneven):
    X, y = uneven
    start, delay = datetime.datetime(2024, 3, 1), datetime.timedelta(minutes=45)
    dates = [start + datetime.timedelta(minutes=float(minute)) for minute in X[:, 2]]
    stream = from_arrays(X, y, feature_names=NAMES, times=np.array(dates, "M8[us]"))
    procedure = Procedure(by_row=True, unpredicted="skip", delay=delay)
    ours, _ = counts(river_model("GaussianNB"), stream, procedure)
    by_date = dict(zip(map(tuple, X[:, 2:].tolist()), dates, strict=False))
    theirs = river_says(
        river_model("GaussianNB"),
        X,
        y,
        delay=delay,
        moment=lambda x: by_date[x["f2"], x["f3"]],
    )
    assert ours == theirs
    assert ours[1] < 499


def test_a_model_that_says_nothing_at_times_is_scored_as_river_scores_it():
    base = pytest.importorskip("river.base")

    class Shy(base.Classifier):
        """Repeats the last label, if it likes the row."""

        last = None

        def predict_proba_one(self, x):
            return {self.last: 1.0} if x["f0"] > 0 and self.last is not None else {}

        def learn_one(self, x, y):
            self.last = y

    X, y = made(600)
    stream = from_arrays(X, y, feature_names=NAMES)
    skipping, _ = counts(Shy(), stream, Procedure(by_row=True, unpredicted="skip"))
    assert skipping == river_says(Shy(), X, y)
    assert 100 < skipping[1] < 500
    strict, _ = counts(Shy(), stream, Procedure(by_row=True))
    assert strict == (skipping[0], 599)


def test_the_matrix_of_river_is_ours():
    from river import evaluate, metrics, stream

    X, y = made(n_classes=3)
    matrix = metrics.ConfusionMatrix()
    rows = stream.iter_array(X, y, feature_names=NAMES)
    evaluate.progressive_val_score(rows, river_model("GaussianNB"), matrix)
    source = from_arrays(X, y, feature_names=NAMES)
    _, total = counts(river_model("GaussianNB"), source, Procedure(by_row=True))
    order = source.classes
    assert total.confusion.tolist() == [
        [int(matrix[truth][predicted]) for predicted in order] for truth in order
    ]


# ---- CapyMOA


@pytest.fixture(scope="module")
def capymoa():
    """Makes CapyMOA's models and runs its loop."""
    pytest.importorskip("capymoa", exc_type=(ImportError, RuntimeError))
    from capymoa import classifier
    from capymoa.evaluation import prequential_evaluation
    from capymoa.stream import NumpyStream

    def both(name, X, y):
        source = NumpyStream(X, y)
        model = getattr(classifier, name)
        theirs = prequential_evaluation(source, model(source.get_schema())).cumulative
        return model(source.get_schema()), theirs

    return both


MOA = Procedure(by_row=True, unpredicted="first")


def assert_agrees_with_capymoa(found, theirs):
    (n_correct, n_scored), total = found
    ours = measures(total)
    assert n_correct == round(theirs.accuracy() * n_scored / 100)
    assert 100 * ours["accuracy"] == pytest.approx(theirs.accuracy(), abs=1e-9)
    assert 100 * ours["kappa"] == pytest.approx(theirs.kappa(), abs=1e-9)
    assert 100 * ours["kappa_temporal"] == pytest.approx(theirs.kappa_t(), abs=1e-9)
    assert 100 * ours["kappa_m"] == pytest.approx(theirs.kappa_m(), abs=1e-9)


@pytest.mark.parametrize("name", ["NaiveBayes", "HoeffdingTree"])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_row_by_row_counts_are_those_of_capymoa(capymoa, name, n_classes):
    X, y = made(n_classes=n_classes)
    model, theirs = capymoa(name, X, y)
    stream = from_arrays(X, y, feature_names=NAMES)
    # The first class is that of the lowest number for them, and the first to come for us.
    found = counts(model, Ordered(stream, sorted(stream.classes)), MOA)
    assert found[0][1] == 1000
    assert_agrees_with_capymoa(found, theirs)


# ---- Electricity


@pytest.fixture(scope="module")
def electricity(load_stream):
    """Its first rows: six weeks, in which prices and demand drift and the trees split."""
    X, y = (rows[:2000] for rows in load_stream("electricity"))
    return X, y, Ordered(from_arrays(X, y), [0, 1])


@pytest.mark.parametrize("name", ["GaussianNB", "HoeffdingTreeClassifier"])
def test_on_electricity_counts_are_those_of_river(electricity, name):
    X, y, stream = electricity
    ours, _ = counts(river_model(name), stream, Procedure(by_row=True))
    assert ours == river_says(river_model(name), X, y, list(stream.feature_names))
    assert ours[1] == 1999


@pytest.mark.parametrize("name", ["NaiveBayes", "HoeffdingTree"])
def test_on_electricity_counts_are_those_of_capymoa(electricity, capymoa, name):
    X, y, stream = electricity
    model, theirs = capymoa(name, X, y)
    found = counts(model, stream, MOA)
    assert found[0][1] == 2000
    assert_agrees_with_capymoa(found, theirs)
