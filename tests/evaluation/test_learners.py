"""Models of four libraries behind one interface."""

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.errors import InputError
from devfnn.evaluation import Procedure, iter_prequential
from devfnn.evaluation.learners import adapted
from devfnn.streams import from_arrays, read, sea
from devfnn.types import Chunk

NAMES = ("width", "height", "depth")


def data(n_rows=300, seed=0, labels=("low", "high")):
    """Rows on two sides of a line, and their labels."""
    X = np.random.default_rng(seed).random((n_rows, 3))
    return X, np.array(labels)[(X[:, 0] + X[:, 1] > 1).astype(int)]


def stream(n_rows=600, chunk_rows=100, labels=("low", "high")):
    X, y = data(n_rows, labels=labels)
    return from_arrays(X, y, feature_names=NAMES, chunk_rows=chunk_rows)


def wrapped(model, classes=("low", "high"), by_row=False):
    return adapted(model, by_row=by_row, feature_names=NAMES, classes=classes)


def accuracy(model, source, procedure=None):
    results = [each for each in iter_prequential(model, source, procedure) if each.n_scored]
    return sum(each.n_correct for each in results) / sum(each.n_scored for each in results)


# ---- what is no model


class Deaf:
    """Predicts, but does not learn."""

    def predict(self, X):
        return np.zeros(len(X))


def test_what_cannot_learn_is_refused_and_told_what_would_do():
    with pytest.raises(InputError, match="Deaf cannot learn") as caught:
        list(iter_prequential(Deaf(), sea(100)))
    for verb in ("learn,", "learn_one (River)", "train (CapyMOA)", "partial_fit (scikit-learn)"):
        assert verb in str(caught.value)


def test_train_alone_does_not_make_a_model_of_capymoa():
    class Trainable:
        def train(self):
            """As in PyTorch."""

    with pytest.raises(InputError, match="Trainable cannot learn"):
        wrapped(Trainable())


# ---- models with learn


class Native:
    """Predicts what it is told to, and writes down how it learns."""

    def __init__(self):
        self.learned = []

    def predict(self, X):
        return ["low"] * len(X)

    def learn(self, X, y):
        self.learned.append(("learn", len(y)))


class WithProbabilities(Native):
    classes = np.array(["high", "low"])

    def predict_proba(self, X):
        return [[0.25, 0.75]] * len(X)


class ByRow(Native):
    def learn_rows(self, X, y):
        self.learned.append(("learn_rows", len(y)))


def test_a_model_with_predict_alone_gives_labels():
    said = wrapped(Native()).predict(np.zeros((2, 3)))
    assert (said.labels, said.probabilities) == (["low", "low"], None)
    results = list(iter_prequential(Native(), stream()))
    assert results[1].n_correct == (data(600)[1][100:200] == "low").sum()
    assert results[1].tally.auc is None


def test_probabilities_and_classes_may_be_lists_or_arrays():
    said = wrapped(WithProbabilities()).predict(np.zeros((2, 3)))
    assert said.labels is None
    assert said.classes == ["high", "low"]
    assert said.probabilities.tolist() == [[0.25, 0.75]] * 2
    both = [list(iter_prequential(model(), stream())) for model in (Native, WithProbabilities)]
    assert [each.n_correct for each in both[0]] == [each.n_correct for each in both[1]]
    assert both[1][1].tally.totals[2] == 100  # rows with probabilities


def test_probabilities_without_classes_are_not_asked_for():
    class Nameless(Native):
        def predict_proba(self, X):
            raise AssertionError("of which classes?")

    assert wrapped(Nameless()).predict(np.zeros((1, 3))).labels == ["low"]


def test_learning_may_return_nothing():
    assert wrapped(Native()).learn(*data(3)) == ()


def test_row_by_row_a_model_learns_by_rows_if_it_can():
    for by_row, verb in ((True, "learn_rows"), (False, "learn")):
        model = ByRow()
        wrapped(model, by_row=by_row).learn(*data(5))
        assert model.learned == [(verb, 5)]
    model = Native()
    wrapped(model, by_row=True).learn(*data(5))
    assert model.learned == [("learn", 5)]


def test_a_model_that_cannot_ask_says_so():
    assert wrapped(Native()).wanted(np.zeros((2, 3))) is None
    assert wrapped(Native()).asks_itself is False
    assert wrapped(DEVFNN()).wanted(np.zeros((2, 3))).tolist() == [True, True]


# ---- River


@pytest.fixture
def listening():
    """A classifier of River that writes down the rows it sees, and predicts labels only."""
    base = pytest.importorskip("river.base")

    class Listening(base.Classifier):
        def __init__(self):
            self.seen = []

        def predict_one(self, x):
            return self.seen[-1][1] if self.seen else None

        def learn_one(self, x, y):
            self.seen.append((x, y))

    return Listening


def test_rivers_models_see_rows_with_the_names_of_features(listening):
    model = listening()
    X, y = data(3)
    wrapped(model).learn(X, y)
    expected = [
        (dict(zip(NAMES, row, strict=True)), label)
        for row, label in zip(X.tolist(), y, strict=True)
    ]
    assert model.seen == expected
    assert all(type(value) is float for row, _ in model.seen for value in row.values())
    assert all(type(label) is str for _, label in model.seen)


def test_features_without_names_are_numbered(listening):
    model = listening()
    adapted(model, by_row=True, feature_names=(), classes=()).learn(*data(1))
    assert list(model.seen[0][0]) == ["x0", "x1", "x2"]


def test_a_river_model_that_overrides_predict_one_is_taken_by_its_word(listening):
    model = listening()
    X, y = data(4)
    wrapped(model).learn(X, y)
    assert wrapped(model).predict(X).labels == [y[-1]] * 4
    results = list(iter_prequential(listening(), stream(), Procedure(by_row=True)))
    n_repeated = (data(600)[1][1:] == data(600)[1][:-1]).sum()
    assert sum(each.n_correct for each in results) == n_repeated


def test_a_river_classifier_is_taken_by_its_probabilities():
    naive_bayes = pytest.importorskip("river.naive_bayes")
    model = naive_bayes.GaussianNB()
    learner = wrapped(model)
    assert learner.predict(np.zeros((2, 3))).labels == [None, None]
    assert learner.predict(np.zeros((2, 3))).probabilities is None
    X, y = data(50)
    learner.learn(X, y)
    said = learner.predict(X)
    rows = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
    assert said.labels == [model.predict_one(row) for row in rows]
    for row, shares in zip(rows, said.probabilities, strict=True):
        expected = model.predict_proba_one(row)
        assert dict(zip(said.classes, shares, strict=True)) == expected
    assert accuracy(naive_bayes.GaussianNB(), stream()) > 0.85


def test_classes_that_a_river_model_learns_later_get_columns_of_their_own():
    naive_bayes = pytest.importorskip("river.naive_bayes")
    learner = wrapped(naive_bayes.GaussianNB())
    X, _ = data(9)
    learner.learn(X[:3], np.array(["b"] * 3))
    assert learner.predict(X[:1]).classes == ["b"]
    learner.learn(X[3:], np.array(["a", "b"] * 3))
    said = learner.predict(X)
    assert said.classes == ["b", "a"]
    assert said.probabilities.sum(axis=1) == pytest.approx(np.ones(9))


def test_a_pipeline_of_river_predicts_as_its_last_step_does(listening):
    preprocessing = pytest.importorskip("river.preprocessing")
    linear_model = pytest.importorskip("river.linear_model")
    pipeline = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    source = stream(labels=(0, 1))
    assert accuracy(pipeline, source, Procedure(by_row=True)) > 0.85
    said = wrapped(pipeline, classes=(0, 1)).predict(data(4)[0])
    assert set(said.classes) == {False, True}
    assert said.probabilities.shape == (4, 2)
    stubborn = preprocessing.StandardScaler() | listening()
    wrapped(stubborn).learn(*data(5))
    assert wrapped(stubborn).predict(data(2)[0]).labels == [data(5)[1][-1]] * 2


@pytest.mark.parametrize("labels", [(0, 1), (False, True)])
def test_labels_that_are_false_and_true_to_a_river_model_are_zero_and_one(labels):
    linear_model = pytest.importorskip("river.linear_model")
    from river import preprocessing

    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    results = list(iter_prequential(model, stream(labels=labels), Procedure(by_row=True)))
    assert set(model.predict_proba_one(dict.fromkeys(NAMES, 0.5))) == {False, True}
    assert len(results[-1].tally.confusion) == 2
    assert sum(each.n_correct for each in results) > 500


# ---- River's active learners


def active_model(discount=3.0):
    active = pytest.importorskip("river.active")
    from river import linear_model, preprocessing

    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    return active.EntropySampler(model, discount_factor=discount, seed=1)


class Watching:
    """An active learner, and the rows it asked for and learned."""

    def __init__(self, model):
        self.asked, self.learned = [], []
        self._model = model
        predict, learn = model.predict_proba_one, model.learn_one

        def predict_proba_one(x):
            said, wish = predict(x)
            if wish:
                self.asked.append(x["width"])
            return said, wish

        def learn_one(x, y):
            self.learned.append(x["width"])
            learn(x, y)

        model.predict_proba_one, model.learn_one = predict_proba_one, learn_one


@pytest.mark.parametrize("by_row", [False, True])
def test_an_active_learner_of_river_learns_what_it_asked_for(by_row):
    model = active_model()
    watching = Watching(model)
    results = list(iter_prequential(model, stream(labels=(0, 1)), Procedure(by_row=by_row)))
    n_first = 1 if by_row else 100  # before anything is learned it cannot ask
    assert watching.learned[n_first:] == watching.asked
    assert 100 < len(watching.learned) < 500
    assert results[-1].n_labels == len(watching.learned)
    assert sum(each.n_correct or 0 for each in results) > 400


def test_a_learner_that_never_asks_gets_the_first_labels_only():
    model = active_model(discount=1e9)
    results = list(iter_prequential(model, stream(labels=(0, 1)), Procedure(by_row=True)))
    assert results[-1].n_labels == 1


@pytest.mark.parametrize("delay", [1, 7])
def test_an_active_learner_asks_for_the_rows_that_are_learned_not_for_those_predicted_last(
    listening, delay
):
    from river import active

    class WideOnly(active.base.ActiveLearningClassifier):
        """Asks for wide rows."""

        def _ask_for_label(self, x, y_pred):
            return x["width"] > 0.5

    model = WideOnly(listening())
    model.predict_proba_one = lambda x: ({"low": 1.0}, model._ask_for_label(x, None))
    list(iter_prequential(model, stream(200), Procedure(by_row=True, delay=delay)))
    learned = [row["width"] for row, _ in model.classifier.seen]
    widths = data(200)[0][:, 0]
    assert learned[1:] == widths[1:][widths[1:] > 0.5].tolist()


def test_an_active_learner_may_be_the_end_of_a_pipeline():
    active = pytest.importorskip("river.active")
    from river import linear_model, preprocessing

    sampler = active.EntropySampler(linear_model.LogisticRegression(), seed=1)
    pipeline = preprocessing.StandardScaler() | sampler
    results = list(iter_prequential(pipeline, stream(labels=(0, 1)), Procedure(by_row=True)))
    assert results[-1].n_labels < 600
    assert sum(each.n_correct for each in results) > 400


# ---- scikit-learn


def test_a_model_of_scikit_learn_is_told_all_classes_in_advance():
    from sklearn.linear_model import SGDClassifier

    X, y = data(100)
    model = SGDClassifier(loss="log_loss", random_state=0)
    wrapped(model, classes=("low", "middle", "high")).learn(X, y)
    assert sorted(model.classes_) == ["high", "low", "middle"]
    said = wrapped(model).predict(X)
    assert said.labels is None
    assert said.classes == ["high", "low", "middle"]
    assert said.probabilities.shape == (100, 3)


def test_a_model_of_scikit_learn_is_told_classes_that_come_late_in_a_file(tmp_path):
    from sklearn.linear_model import SGDClassifier

    path = tmp_path / "late.csv"
    path.write_text("a,label\n" + "1,low\n2,high\n" * 5 + "9,late\n")
    source = read(path, inspect_rows=4, chunk_rows=4)
    model = SGDClassifier(loss="log_loss", random_state=0)
    assert sum(each.chunk_rows for each in iter_prequential(model, source)) == 11
    assert sorted(model.classes_) == ["high", "late", "low"]


def test_a_stream_without_classes_is_refused_for_scikit_learn():
    from sklearn.naive_bayes import GaussianNB

    chunks = list(stream())
    with pytest.raises(InputError, match="GaussianNB must know all classes in advance"):
        list(iter_prequential(GaussianNB(), chunks))


def test_a_class_that_scikit_learn_was_not_told_of_is_refused():
    from sklearn.naive_bayes import GaussianNB

    learner = wrapped(GaussianNB(), classes=("low", "high"))
    with pytest.raises(InputError, match=r"GaussianNB cannot learn a class .*: 'other'"):
        learner.learn(np.zeros((2, 3)), np.array(["low", "other"]))


@pytest.mark.parametrize("labels", [("low", "high"), (0, 1), (False, True), (-1, 1), (1, 5000)])
def test_models_of_scikit_learn_follow_a_stream_with_labels_of_any_kind(labels):
    from sklearn.linear_model import Perceptron
    from sklearn.naive_bayes import GaussianNB

    source = stream(labels=labels)
    with_probabilities = list(iter_prequential(GaussianNB(), source))
    without = list(iter_prequential(Perceptron(random_state=0), source))
    assert sum(each.n_correct or 0 for each in with_probabilities) > 430
    assert sum(each.n_correct or 0 for each in without) > 350
    assert with_probabilities[-1].tally.auc > 0.9
    assert without[-1].tally.auc is None
    assert len(without[-1].tally.confusion) == 2


def test_scikit_learn_in_the_loop_is_scikit_learn_by_hand():
    from sklearn.naive_bayes import GaussianNB

    model, n_correct = GaussianNB(), []
    for index, chunk in enumerate(stream()):
        if index:
            n_correct.append(int((model.predict(chunk.X) == chunk.y).sum()))
        model.partial_fit(chunk.X, chunk.y, classes=["low", "high"])
    results = list(iter_prequential(GaussianNB(), stream()))
    assert [each.n_correct for each in results] == [None, *n_correct]


# ---- CapyMOA


@pytest.fixture(scope="module")
def naive_bayes():
    """Make CapyMOA's naive Bayes for labels."""
    pytest.importorskip("capymoa", exc_type=(ImportError, RuntimeError))
    from capymoa.classifier import NaiveBayes
    from capymoa.stream import Schema

    def make(*labels):
        return NaiveBayes(
            Schema.from_custom(
                features=[*NAMES, "class"], target="class", categories={"class": list(labels)}
            )
        )

    return make


@pytest.mark.parametrize(
    ("texts", "labels", "knows_classes"),
    [
        (("low", "high"), ("low", "high"), True),
        (("low", "high"), ("low", "high"), False),
        (("high", "low"), ("low", "high"), True),
        (("0", "1"), (0, 1), True),
        (("0", "1"), (0, 1), False),
        (("1", "-1"), (-1, 1), True),
        (("1", "-1"), (-1, 1), False),
        (("False", "True"), (False, True), True),
    ],
)
def test_labels_of_the_stream_are_found_in_the_schema(naive_bayes, texts, labels, knows_classes):
    learner = wrapped(naive_bayes(*texts), classes=labels if knows_classes else ())
    X, y = data(300, labels=labels)
    learner.learn(X, y)
    said = learner.predict(X)
    right = [str(one) == str(other) for one, other in zip(said.labels, y.tolist(), strict=True)]
    assert np.mean(right) > 0.85
    assert said.probabilities.shape == (300, 2)
    assert [str(label) for label in said.classes] == list(texts)
    if knows_classes:
        assert accuracy(naive_bayes(*texts), stream(labels=labels)) > 0.85


def test_a_label_that_is_not_in_the_schema_is_refused(naive_bayes):
    with pytest.raises(InputError, match=r"the schema of the CapyMOA model has no class .*high"):
        list(iter_prequential(naive_bayes("low", "middle"), stream()))


def test_without_classes_numbers_of_the_schema_are_scored_as_numbers(naive_bayes):
    chunks = list(stream(labels=(0, 1)))
    results = list(iter_prequential(naive_bayes("0", "1"), chunks))
    assert sum(each.n_correct or 0 for each in results) > 430
    assert len(results[-1].tally.confusion) == 2


def test_a_model_of_capymoa_that_knows_nothing_says_nothing():
    class Silent:
        schema = None

        def train(self, instance):
            """Learns nothing."""

        def predict_proba(self, instance):
            return None

    pytest.importorskip("capymoa", exc_type=(ImportError, RuntimeError))
    from capymoa.stream import Schema

    model = Silent()
    model.schema = Schema.from_custom(
        features=[*NAMES, "class"], target="class", categories={"class": ["low", "high"]}
    )
    said = wrapped(model).predict(np.zeros((2, 3)))
    assert said.labels == [None, None]
    assert np.isnan(said.probabilities).all()
    for unpredicted, expected in (("wrong", (0, 500)), ("skip", (0, 0)), ("first", None)):
        results = list(iter_prequential(model, stream(), Procedure(unpredicted=unpredicted)))
        n_correct = sum(each.n_correct or 0 for each in results)
        n_scored = sum(each.n_scored for each in results)
        if unpredicted == "first":
            first = stream().classes[0]
            expected = (int((data(600)[1] == first).sum()), 600)
        assert (n_correct, n_scored) == expected


class Asking:
    """Asks for every second row, and learns what it is given."""

    def __init__(self):
        self.learned = []

    def predict(self, X):
        return np.zeros(len(X), np.int64)

    def wants_label(self, X):
        return np.arange(len(X)) % 2 == 0

    def learn(self, X, y):
        self.learned += X[:, 0].tolist()


def test_a_model_that_asks_but_takes_no_mask_is_given_the_rows_it_gets():
    model = Asking()
    chunks = [
        Chunk(np.arange(4.0 * k, 4.0 * k + 4)[:, None], np.zeros(4, np.int64)) for k in range(3)
    ]
    list(iter_prequential(model, chunks, Procedure(label_budget=1.0)))
    assert model.learned == [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0]


def test_a_class_in_place_of_a_model_is_refused():
    with pytest.raises(InputError, match=r"a model is needed, not its class: Asking\(...\)"):
        list(iter_prequential(Asking, []))
