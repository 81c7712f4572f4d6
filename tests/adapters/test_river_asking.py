"""What River's adapter finds and asks for: drift, and labels."""

import pickle

import numpy as np
import pytest

pytest.importorskip("river", minversion="0.26")

from river import active, datasets, ensemble, evaluate, metrics, naive_bayes, preprocessing

from devfnn import InputError
from devfnn.adapters.river import ConflictSampler, DEVFNNClassifier, HoeffdingErrorDrift
from devfnn.model.queries import Query


def accuracy(model, **settings):
    """Accuracy of a model on Phishing."""
    data = datasets.Phishing()
    return evaluate.progressive_val_score(data, model, metrics.Accuracy(), **settings).get()


# ---- drift


def drifts(detector, rates, rows_each=2000, seed=0):
    """At which rows a detector finds drift, and where it warns."""
    rng = np.random.default_rng(seed)
    found, warned = [], []
    for row in range(rows_each * len(rates)):
        detector.update(bool(rng.random() < rates[row // rows_each]))
        found += [row] * detector.drift_detected
        warned += [row] * detector.warning_detected
    return found, warned


def test_drift_is_found_once_and_soon():
    detector = HoeffdingErrorDrift()
    found, warned = drifts(detector, [0.1, 0.3])
    assert len(found) == detector.n_detections == 1
    assert 2000 < found[0] < 2250
    assert warned[0] < found[0]


def test_errors_that_stay_or_become_rarer_are_no_drift():
    assert drifts(HoeffdingErrorDrift(), [0.4, 0.1])[0] == []
    assert sum(len(drifts(HoeffdingErrorDrift(), [0.2], 20000, seed)[0]) for seed in range(3)) == 0


def test_the_detector_is_the_test_of_the_model():
    from devfnn.model.mechanisms.drift import drift_in_stream

    errors = (np.random.default_rng(4).random(640) < 0.3).astype(np.int64)
    detector, track = HoeffdingErrorDrift(clock=64), np.zeros(4, np.int64)
    for start in range(0, 640, 64):
        for error in errors[start : start + 64].tolist():
            detector.update(error)
        verdict = drift_in_stream(track, errors[start : start + 64], 1e-4, 1e-3, one_sided=True)
        assert detector.verdict == verdict


def test_the_detector_works_inside_river():
    from river import drift

    model = drift.DriftRetrainingClassifier(naive_bayes.GaussianNB(), HoeffdingErrorDrift())
    assert accuracy(model) > 0.8


# ---- labels that are asked for


def test_the_sampler_asks_and_keeps_its_budget_in_every_window():
    model = ConflictSampler(DEVFNNClassifier(), budget=0.2, window=50, seed=0)
    asked = []
    for x, y in datasets.Phishing():
        _, wants_label = model.predict_one(x)
        asked.append(wants_label)
        if wants_label:
            model.learn_one(x, y)
    in_window = np.convolve(asked, np.ones(50), "valid")
    assert in_window.max() <= 10
    assert sum(asked) > 0.1 * len(asked)
    assert model.classifier.model.n_labels_used == sum(asked)


def test_the_sampler_works_in_evaluation_also_with_late_labels():
    for settings in ({}, {"delay": 50}):
        model = ConflictSampler(DEVFNNClassifier(), budget=0.3, seed=0)
        assert isinstance(model, active.base.ActiveLearningClassifier)
        assert accuracy(model, **settings) > 0.8
        assert 0 < model.classifier.model.n_rows < 400


def test_the_sampler_takes_other_models_and_pipelines():
    scaled = preprocessing.StandardScaler() | DEVFNNClassifier()
    for classifier in (naive_bayes.GaussianNB(), scaled):
        assert accuracy(ConflictSampler(classifier, certainty=0.8, seed=0)) > 0.7
    core = scaled["DEVFNNClassifier"].model
    assert 0 < core.n_labels_used == core.n_rows < 1000  # what was asked for is learned


def fed(model, data):
    """At which rows a sampler asks, when what it asks for is learned."""
    asked = []
    for row, (x, y) in enumerate(data):
        _, wants_label = model.predict_one(x)
        if wants_label:
            model.learn_one(x, y)
            asked.append(row)
    return asked


def test_labels_that_were_paid_for_reach_models_inside_of_ensembles():
    # it would learn next to nothing itself
    sure = {"labels__exploration": 0.0, "labels__certainty": 0.0}
    bag = ensemble.BaggingClassifier(DEVFNNClassifier(**sure), 2, seed=1)
    model = ConflictSampler(preprocessing.StandardScaler() | bag, exploration=0.5, seed=0)
    data = list(datasets.Phishing().take(400))
    asked = fed(model, data)
    for member in bag.models:
        assert member.model.n_labels_used == member.model.n_rows > 0.7 * len(asked) > 100
    n_used = member.model.n_labels_used
    for x, y in data[:100]:
        member.learn_one(x, y)  # not asked for any more
    assert member.model.n_labels_used < n_used + 50


def test_a_model_without_probabilities_is_refused():
    model = ConflictSampler(ensemble.VotingClassifier([DEVFNNClassifier(), DEVFNNClassifier()]))
    with pytest.raises(InputError, match="VotingClassifier gives no probabilities"):
        model.predict_one({"a": 1.0})


class Counting(naive_bayes.GaussianNB):
    """Counts what it learns."""

    n_learned = 0

    def learn_one(self, x, y):
        super().learn_one(x, y)
        self.n_learned += 1


def test_every_label_asked_for_reaches_a_model_of_another_kind():
    model = ConflictSampler(Counting(), budget=0.3, seed=0)
    asked = fed(model, datasets.Phishing())
    assert model.classifier.n_learned == len(asked) > 50


@pytest.mark.parametrize(
    ("budget", "window", "most"), [(0.29, 100, 29), (0.05, 20, 1), (0.5, 7, 3), (0.0, 10, 0)]
)
def test_the_budget_is_a_bound_on_every_window(budget, window, most):
    model = ConflictSampler(
        naive_bayes.GaussianNB(), budget=budget, window=window, exploration=1.0, seed=2
    )
    asked = np.zeros(1250)
    asked[fed(model, datasets.Phishing())] = 1
    assert np.convolve(asked, np.ones(window), "valid").max() <= most
    assert asked.any() == (most > 0)


def test_the_whole_budget_may_be_spent():
    model = ConflictSampler(naive_bayes.GaussianNB(), budget=0.29, seed=0)
    asks = [model._ask_for_label({}, {}) for _ in range(250)]  # nothing is known: it always asks
    assert asks == ([True] * 29 + [False] * 71) * 2 + [True] * 29 + [False] * 21


def test_queries_say_which_labels_were_asked_for_and_why():
    model = ConflictSampler(DEVFNNClassifier(), certainty=0.8, exploration=0.1, seed=0)
    asked, certainties = [], []
    for row, (x, y) in enumerate(datasets.Phishing().take(500)):
        shares, wants_label = model.predict_proba_one(x)
        first, second = sorted([0.0, 0.0, *shares.values()])[:-3:-1]
        if wants_label:
            model.learn_one(x, y)
            asked.append(row)
            certainties.append(first / (first + second) if shares else 0.5)
    queries = model.queries
    assert isinstance(queries, list) and isinstance(queries[0], Query)
    assert [query.row for query in queries] == asked
    assert [query.certainty for query in queries] == pytest.approx(certainties)
    assert queries[0] == (0, "nothing known yet", 0.5, None)
    assert {query.reason for query in queries[1:]} == {"unsure", "by chance"}
    for query in queries[1:]:
        assert (query.reason == "unsure") == (query.certainty < 0.8)
    assert pickle.loads(pickle.dumps(model)).queries == queries


def test_queries_say_what_is_left_of_the_budget():
    model = ConflictSampler(DEVFNNClassifier(), budget=0.3, window=50, seed=0)
    asked = fed(model, datasets.Phishing().take(500))
    for query in model.queries:
        in_window = sum(query.row - 49 <= row <= query.row for row in asked)
        assert query.n_left == 15 - in_window
    assert min(query.n_left for query in model.queries) == 0


def test_only_the_newest_queries_are_kept():
    model = ConflictSampler(naive_bayes.GaussianNB(), seed=0)
    for _ in range(1500):
        model._ask_for_label({}, {})
    assert [query.row for query in model.queries] == list(range(500, 1500))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": 1.5}, "budget must be between 0 and 1, not 1.5"),
        ({"exploration": -0.1}, "exploration must be between 0 and 1, not -0.1"),
        ({"window": 0}, "window must be between 1 and"),
        ({"budget": 0.001}, "a window of 1000 rows has room for one"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        ConflictSampler(naive_bayes.GaussianNB(), **settings)
