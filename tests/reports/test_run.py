"""The report of a run: complete, honest about what is missing, harmless whatever the data say."""

import copy

import pytest

from devfnn.reports import run_report
from devfnn.reports.run import MOST_EVENTS
from reports.made_results import made_result
from reports.parsed import Page, outside_references

BARE = {
    "format": 1,
    "model": "no_change",
    "stream": "sea",
    "rows": 1000,
    "chunks": 2,
    "per_chunk": {"rows": [500, 1000], "accuracy": [None, 0.75]},
}
"""The least that a result may hold."""


@pytest.fixture
def undrawn(monkeypatch):
    """Leave figures out, where only the words matter."""
    monkeypatch.setattr("devfnn.reports.page.picture", lambda title, *data, **how: {"title": title})


@pytest.fixture(scope="module")
def bare_page():
    return Page(run_report(BARE))


def test_the_page_is_well_formed(run_page, bare_page):
    for page in (run_page, bare_page):
        assert page.mistakes == []
        assert page.open == []
        assert page.count("html") == page.count("main") == page.count("h1") == 1
        assert len(page.ids()) == len(set(page.ids()))


def test_every_link_leads_to_a_place_on_the_page(run_page):
    targets = [about["href"] for tag, about in run_page.elements if tag == "a"]
    assert len(targets) == 10
    assert {target[1:] for target in targets} <= set(run_page.ids())


def test_nothing_is_fetched_from_elsewhere(run_page):
    assert outside_references(run_page.rawdata_all) == []
    policy = next(about["content"] for _, about in run_page.elements if "http-equiv" in about)
    assert policy.startswith("default-src 'none'")
    assert run_page.count("script") == 0


def test_key_figures_stand_at_the_top(run_page):
    top = run_page.text.split("Over time Overview")[0]
    assert "devfnn on sea" in top
    assert "100,000 rows, 200 chunks of 500, preset default, scaling online, seed 0" in top
    for name, value in (
        ("accuracy", "91.37 %"),
        ("accuracy overall", "91.37 %"),
        ("rows per second", "61,234"),
        ("rules", "14.2"),
        ("layers", "3.4"),
        ("labels used", "62.5 %"),
        ("model size", "104.9 kB"),
    ):
        assert f"{name} {value}" in top
    assert "devfnn run sea --rows 100000 --seed 0 --set boxes.max_rules=12" in top
    assert "85 rows at the end do not fill a chunk and were left out" in top


def test_all_figures_are_there(run_page):
    for title in ("Overview", "Voting weights", "Layers at work", "Confusion matrix"):
        assert title in run_page.text
    assert "Reliability" in run_page.text
    assert run_page.text.count("Memberships of ") >= 2
    assert "Rules over " in run_page.text
    assert run_page.count("svg") == run_page.count("figure") >= 8
    assert "Left out" not in run_page.text


def test_measures_have_values_and_a_meaning(run_page):
    measures = run_page.section("Measures")
    assert "accuracy 91.37 % 91.37 % ± 4.67 %" in measures
    assert "kappa temporal 0.870" in measures
    assert "Gain over repeating the previous label" in measures
    assert "the last window holds the last 10 chunks" in measures


def test_figures_of_unequal_classes_come_before_all_others(run_page, undrawn):
    top = run_page.text.split("Over time Overview")[0]
    figures = "class precision recall F1 rows class 0 90.00 % 88.00 % 89.00 %"
    assert 0 < top.index(figures) < top.index("accuracy 91.37 %")
    assert "at the top of the page" in run_page.section("Classes")
    result = made_result()
    for each in result["per_class"]:
        each["support"] = 1000
    page = Page(run_report(result))
    assert figures in page.section("Classes")
    assert page.text.index(figures) > page.text.index("accuracy 91.37 %")


def test_layers_are_told_with_what_they_count_and_cost(run_page, undrawn):
    layers = run_page.section("Layers")
    assert "layer state counts costs worth chunks at work" in layers
    assert "0 quick line works 12.3 % 10.0 % - 100 %" in layers
    assert "1 clouds rests, 12 steps 0.0 % 0.0 % -0.0012 50 %" in layers
    assert "2 short trees on trial 87.7 % 90.0 % +0.0456 100 %" in layers
    without = Page(run_report({**made_result(), "standings": []}))
    assert "The model has no layers" in without.section("Layers")


def test_a_run_of_little_use_says_so_at_the_top(undrawn):
    result = made_result() | {"kappa_m": -0.1}
    result["confusion"] = [[95, 0], [5, 0]]
    top = Page(run_report(result)).text.split("accuracy 91.37 %")[0]
    assert "Class class 1 was never predicted, though 5 of 100 rows have it." in top
    assert "no better than always predicting the most frequent class" in top
    assert "--class-weights balanced" in top
    assert "was never predicted" not in Page(run_report(made_result())).text


def test_drifts_are_compared_with_true_ones(run_page):
    drift = run_page.section("Drift")
    assert "Of 3 true drifts 2 were found, after 750 rows on average; 4 false alarms." in drift
    assert "25,000 found 500 rows later 50,000 missed 75,000 found 1,000 rows later" in drift


def test_without_known_drifts_nothing_is_said_about_detection(undrawn):
    result = made_result(n_chunks=12) | {"drift_detection": None, "drift_positions": []}
    page = Page(run_report(result))
    assert "Drift was found 2 times. The true drifts of this stream are not known" in page.text
    result["events"] = {"DriftFound": 1}
    assert "Drift was found 1 time." in Page(run_report(result)).text


def test_events_are_listed_with_their_reasons(run_page):
    events = run_page.section("Events")
    assert "drift found 2" in events
    assert "25,500 50 drift found Errors moved from 10.0 % to 34.0 %, by more" in events
    assert "Rule 0 of layer 1: significance 0.01 fell below 0.02." in events
    assert run_page.rawdata_all.count('<td class="kind">') == 304


def test_of_very_many_events_the_first_and_last_are_listed(undrawn):
    result = made_result(n_chunks=12)
    event = {"kind": "RuleBorn", "layer": 0, "explanation": "it is new to us"}
    result["event_log"] = [event | {"row": row, "chunk": 0} for row in range(MOST_EVENTS + 234)]
    result["events"] = {"RuleBorn": MOST_EVENTS + 234}
    events = Page(run_report(result)).section("Events")
    assert "rule born 1,234" in events
    assert "234 events between are not listed" in events
    assert events.count("It is new to us.") == MOST_EVENTS
    assert "1,233 0 rule born" in events
    assert " 499 0 rule born" in events
    assert " 500 0 rule born" not in events


def test_rules_are_text_with_their_share_of_the_vote(run_page):
    rules = run_page.section("Rules at the end")
    assert "IF feature 0 is about 0.30" in rules
    assert "layer 0, rule 0, 1,000 rows 50.0 % IF" in rules
    assert "rows, archived 50.0 % IF" in rules


def test_parameters_that_differ_from_the_default_come_first_and_are_marked(run_page):
    settings = run_page.section("Settings")
    assert "stream.noise 0.1" in settings
    assert "label" not in settings
    marked = run_page.rawdata_all.split("<mark>")[1:]
    assert [each.split("</mark>")[0] for each in marked] == ["12", "0.2"]
    table = run_page.section("Parameters").split("parameter value default meaning")[1]
    assert table.split()[:3] == ["boxes.max_rules", "12", "20"]


def test_versions_are_listed(run_page):
    assert "devfnn 0.1.0 python 3.11.2 numpy 2.2.1" in run_page.section("Versions")


def test_what_a_result_lacks_is_said_in_its_place(bare_page):
    text = bare_page.text
    assert text.count("Left out.") == 4  # all figures but the rate, of which something is known
    assert "'voting_weights'" in text and "'feature_mask'" in text
    assert "Overview Accuracy and training samples, chunk by chunk." in text
    assert "The result has no measures by class." in text
    assert "The structure of the model did not change, or the model has no events." in text
    assert "The result has no rules: its model has none, or they were not kept." in text
    assert "There is no setting in the result." in text
    assert "The model has no such parameters." in text
    assert "With 2 chunks, means and deviations over chunks are imprecise." in text


def test_a_run_of_one_chunk_says_that_nothing_was_predicted(undrawn):
    one = BARE | {"chunks": 1, "per_chunk": {"rows": [500], "accuracy": [None]}}
    page = Page(run_report(one))
    assert "There is only one chunk, which is learned: nothing was predicted." in page.text
    assert "Nothing was measured" in page.section("Measures")


def test_a_long_run_says_what_its_points_and_events_are(undrawn):
    long = made_result(n_chunks=12) | {"chunks_per_point": 16, "events_dropped": 70_000}
    page = Page(run_report(long))
    assert "chunks are told 16 at a time" in page.text
    assert "The mean is over 16 chunks at a time" in page.section("Measures")
    assert "its 70,000 oldest events are counted" in page.section("Events")


def test_an_interrupted_run_says_so(undrawn):
    assert "The run was interrupted" in Page(run_report(BARE | {"is_complete": False})).text


HOSTILE = "<script>alert('x')</script>\"'><img src=x onerror=alert(1)>&amp;$x^$"


def hostile_result():
    """A result in which every text tries to be markup."""
    result = made_result(n_chunks=12, n_events=2)
    names = [HOSTILE, *result["feature_names"][1:]]
    for key in ("model", "stream", "preset", "scaling", "command", "version"):
        result[key] = HOSTILE
    result |= {
        "feature_names": names,
        "class_names": [HOSTILE, "b"],
        "classes": [HOSTILE, "b"],
        "settings": {HOSTILE: HOSTILE, "nested": {HOSTILE: [HOSTILE]}},
        "config": {HOSTILE: HOSTILE, "vote": HOSTILE},
        "versions": {HOSTILE: HOSTILE},
        "events": {HOSTILE: 3},
    }
    result["per_class"][0] |= {"name": HOSTILE, "label": HOSTILE}
    result["event_log"] += [
        {"kind": HOSTILE, "row": 1, "chunk": 0, "explanation": HOSTILE + " again"},
        {
            "kind": "FeatureOff",
            "row": 1,
            "chunk": 0,
            "feature": HOSTILE,
            "score": 1,
            "threshold": 0,
        },
        {"kind": "ClassAdded", "row": 1, "chunk": 0, HOSTILE: "{layer.__class__}"},
    ]
    for rule in result["rules"]:
        rule["inputs"] = [HOSTILE, *rule["inputs"][1:]]
        rule["probabilities"] = [[HOSTILE, 0.4], ["b", 0.6]]
    return result


def test_text_from_the_data_is_never_markup():
    page = Page(run_report(hostile_result()))
    assert page.mistakes == []
    assert page.count("script") == 0
    assert page.count("img") == 0
    assert not any(name.startswith("on") for _, about in page.elements for name in about)
    assert outside_references(page.rawdata_all.replace("src=x", "")) == []
    assert "<script>alert" in page.text  # shown as text
    in_figures = [part.split("</svg>")[0] for part in page.rawdata_all.split("<svg")[1:]]
    assert any("&lt;script&gt;" in figure for figure in in_figures)
    assert not any("<script" in figure for figure in in_figures)


def test_letters_that_cannot_be_written_are_replaced(undrawn):
    text = run_report(BARE | {"stream": "half \ud800"})
    text.encode("utf-8")
    assert "half ?" in text


def test_the_same_result_gives_the_same_page_and_stays_as_it_was(run_page):
    result = made_result()
    before = copy.deepcopy(result)
    assert run_report(result) == run_page.rawdata_all
    assert result == before


def test_many_classes_and_rules_are_counted_not_listed(monkeypatch, undrawn):
    monkeypatch.setattr("devfnn.reports.run.MOST_LISTED", 4)
    page = Page(run_report(made_result(n_chunks=12, n_classes=9)))
    assert "5 more classes with fewer rows are not listed." in page.text
    assert "2 more rules are not listed." in page.text


def test_voting_weights_of_a_long_run_are_thinned(monkeypatch):
    result = made_result(n_chunks=40, n_events=0)
    monkeypatch.setattr("devfnn.reports.run.MOST_DRAWN", 10)
    drawn = []

    def weights(thinned, ax):
        drawn.append(thinned["per_chunk"])
        return ax

    monkeypatch.setattr("devfnn.figures.voting_weights", weights)
    monkeypatch.setattr("devfnn.reports.page.as_svg", lambda drawing, title: "")
    assert "Share of each layer in the vote, every 4 chunks." in run_report(result)
    assert drawn[0]["rows"] == result["per_chunk"]["rows"][3::4]
    assert drawn[0]["voting_weights"][-1] == result["per_chunk"]["voting_weights"][-1]
