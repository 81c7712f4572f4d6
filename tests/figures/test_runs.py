"""Curves over the rows of a stream."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from devfnn.errors import InputError
from devfnn.figures import (
    layers_over_time,
    measure_over_time,
    rate_over_time,
    rules_over_time,
    run_overview,
    training_samples_over_time,
)
from devfnn.figures.timeline import EVENT_MARKS, MOST_MARKS
from figures import made

OVER_TIME = [rate_over_time, layers_over_time, rules_over_time, training_samples_over_time]


def drawn(ax):
    """Lines and collections of axes by their labels."""
    artists = [*ax.lines, *ax.collections, *ax.patches]
    return {artist.get_label(): artist for artist in artists}


def legend_texts(ax):
    """What the legend says."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def tick_texts(axis):
    """Labels of the ticks that are in view."""
    axis.figure.canvas.draw()
    low, high = sorted(axis.get_view_interval())
    ticks = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
    return [text.get_text() for place, text in ticks if low <= place <= high]


def with_events(kind, rows):
    """A run in which this happened at these rows."""
    return made.result(event_log=[{"kind": kind, "row": row} for row in rows])


@pytest.mark.parametrize("draw", OVER_TIME)
def test_axes_that_are_given_are_drawn_on_and_returned(draw):
    ax = Figure().add_subplot()
    assert draw(made.result(), ax=ax) is ax
    assert ax.lines or ax.patches
    assert ax.get_xlim() == (0.0, 2000.0)


@pytest.mark.parametrize("draw", OVER_TIME)
def test_every_call_makes_a_figure_of_its_own(draw):
    assert draw(made.result()).figure is not draw(made.result()).figure


def test_accuracy_is_drawn_for_each_chunk_and_over_the_latest():
    result = made.result()
    lines = drawn(rate_over_time(result))
    for name, part in (("each chunk", "per_chunk"), ("latest 10 chunks", "windowed")):
        x, y = lines[name].get_data()
        assert x.tolist() == result["per_chunk"]["rows"]
        assert np.isnan(y[0])
        assert y[1:].tolist() == result[part]["accuracy"][1:]
    assert lines["latest 10 chunks"].get_linewidth() > 2 * lines["each chunk"].get_linewidth()


def test_points_of_a_long_run_are_called_what_they_are():
    long = made.result(chunks_per_point=16)
    assert "each 16 chunks" in drawn(rate_over_time(long))
    assert training_samples_over_time(long).get_ylabel() == "training samples\nper 16 chunks"


def test_without_a_window_only_chunks_are_drawn():
    assert legend_texts(rate_over_time(made.result(windowed=None)))[:2] == [
        "each chunk",
        "true drift",
    ]


def test_rows_have_thousands_separators_and_accuracy_is_in_percent():
    ax = rate_over_time(made.result(40, 500))
    assert "10,000" in tick_texts(ax.xaxis)
    assert ax.get_xlabel() == "rows of the stream"
    assert all(text.endswith(" %") for text in tick_texts(ax.yaxis))


def test_no_tick_claims_an_accuracy_over_100_percent_or_among_the_events():
    result = made.result()
    result = made.with_column(result, "accuracy", [None, *np.linspace(0.0, 1.0, 19)])
    ax = rate_over_time(result)
    shares = [float(text.removesuffix(" %")) for text in tick_texts(ax.yaxis)]
    assert min(shares) == 0.0
    assert max(shares) == 100.0
    assert ax.get_ylim()[0] < -0.1
    assert ax.get_ylim()[1] > 1.0


def test_true_drift_is_a_line_where_the_new_concept_begins():
    lines = drawn(rate_over_time(made.result(drift_positions=[500, 1500])))["true drift"]
    assert [segment[:, 0].tolist() for segment in lines.get_segments()] == [[500] * 2, [1500] * 2]


def test_drift_outside_the_run_is_left_out():
    ax = rate_over_time(made.result(drift_positions=[0, 500, 2000, 9000]))
    assert len(drawn(ax)["true drift"].get_segments()) == 1
    assert "true drift" not in drawn(rate_over_time(made.result(drift_positions=[9000])))


def test_very_many_drifts_become_short_strokes():
    few, many = (
        drawn(rate_over_time(made.result(drift_positions=list(range(1, count + 1)))))["true drift"]
        for count in (MOST_MARKS, MOST_MARKS + 1)
    )
    assert np.ptp(few.get_segments()[0][:, 1]) == 1.0
    assert np.ptp(many.get_segments()[0][:, 1]) < 0.1


@pytest.mark.parametrize("kind", EVENT_MARKS)
def test_events_are_marked_at_their_rows(kind):
    ax = rate_over_time(with_events(kind, [300, 700]))
    name, shape, colour = EVENT_MARKS[kind]
    mark = drawn(ax)[name]
    assert mark.get_xdata().tolist() == [300, 700]
    assert mark.get_marker() == shape
    assert mark.get_markerfacecolor() == colour
    assert legend_texts(ax).count(name) == 1


def test_only_kinds_that_happened_are_in_the_legend_and_each_looks_different():
    texts = legend_texts(rate_over_time(made.result()))
    assert texts == ["each chunk", "latest 10 chunks", "true drift", "drift found", "layer added"]
    assert len({shape for _, shape, _ in EVENT_MARKS.values()}) == len(EVENT_MARKS)
    assert len({colour for _, _, colour in EVENT_MARKS.values()}) == len(EVENT_MARKS)


def test_kinds_have_lanes_of_their_own_below_the_curve():
    log = [{"kind": kind, "row": 500} for kind in EVENT_MARKS]
    result = made.result(event_log=log)
    ax = rate_over_time(result)
    lanes = [drawn(ax)[name].get_ydata()[0] for name, _, _ in EVENT_MARKS.values()]
    assert lanes == sorted(lanes, reverse=True)
    assert np.diff(lanes).max() < -0.04
    lowest = min(value for value in result["per_chunk"]["accuracy"] if value is not None)
    low, high = ax.get_ylim()
    assert (lowest - low) / (high - low) > max(lanes) + 0.03


def test_more_than_60_events_become_a_rug():
    few, many = (
        drawn(rate_over_time(with_events("DriftWarned", range(count))))["drift warning"]
        for count in (MOST_MARKS, MOST_MARKS + 1)
    )
    assert few.get_marker() == "d"
    assert many.get_marker() == "|"
    assert len(many.get_xdata()) == MOST_MARKS + 1


def test_layers_that_vote_and_all_layers_are_steps():
    result = made.result()
    result = made.with_column(result, "layers_total", [3] * 20)
    lines = drawn(layers_over_time(result))
    assert lines["layers that vote"].get_ydata().tolist() == result["per_chunk"]["layers"]
    assert lines["all layers"].get_ydata().tolist() == [3] * 20
    assert lines["all layers"].get_drawstyle() == "steps-post"


def test_counts_begin_at_0_and_ticks_are_whole():
    ax = layers_over_time(made.result())
    assert ax.get_ylim()[0] == 0.0
    assert tick_texts(ax.yaxis) == ["0", "1", "2"]


def test_rules_are_drawn():
    result = made.result()
    (line,) = rules_over_time(result).lines
    assert line.get_ydata().tolist() == result["per_chunk"]["rules"]


def test_training_samples_fill_their_chunks():
    result = made.result()
    stairs = drawn(training_samples_over_time(result))["labels used"]
    values, edges, _ = stairs.get_data()
    assert values.tolist() == result["per_chunk"]["labels"]
    assert edges.tolist() == [0, *result["per_chunk"]["rows"]]


def test_rows_of_chunks_are_drawn_only_if_labels_were_spared():
    assert "rows of the chunk" in drawn(training_samples_over_time(made.result()))
    all_used = made.with_column(made.result(), "labels", [100] * 20)
    assert "rows of the chunk" not in drawn(training_samples_over_time(all_used))


def test_the_overview_has_four_panels_over_the_same_rows():
    figure = run_overview(made.result())
    panels = figure.axes
    titles = [ax.get_title(loc="left") for ax in panels]
    assert titles == ["(a) accuracy", "(b) layers", "(c) rules", "(d) training samples"]
    assert all(ax.get_shared_x_axes().joined(panels[0], ax) for ax in panels)
    assert [ax.get_xlabel() for ax in panels] == ["", "", "", "rows of the stream"]
    assert ["true drift" in drawn(ax) for ax in panels] == [True] * 4
    named = [ax for ax in panels if ax.get_legend() and "true drift" in legend_texts(ax)]
    assert named == panels[:1]


STACKED_MARKS = ("DriftFound", "DriftWarned", "LayerAdded", "LayersMerged")
CONCEPT_MARKS = ("DriftFound", "LayerKept", "LayerRecalled", "LayerDropped")
"""Events that the two kinds of network can have; no run has those of both."""


def test_every_mark_is_of_one_network_or_of_both():
    assert {*STACKED_MARKS, *CONCEPT_MARKS} == set(EVENT_MARKS)


@pytest.mark.parametrize("kinds", [STACKED_MARKS, CONCEPT_MARKS], ids=["stacked", "concepts"])
def test_titles_and_legends_of_the_overview_do_not_overlap(kinds):
    log = [{"kind": kind, "row": 500} for kind in kinds]
    figure = run_overview(made.result(event_log=log))
    figure.canvas.draw()
    for ax in figure.axes:
        if ax.get_legend() is not None:
            title = ax._left_title.get_window_extent()
            assert not title.overlaps(ax.get_legend().get_window_extent())


def test_the_overview_goes_into_a_figure_that_is_given():
    figure = Figure(figsize=(7, 8), layout="constrained")
    assert run_overview(made.result(), figure=figure) is figure
    assert len(figure.axes) == 4


def test_an_overview_of_a_run_that_was_not_scored_draws_nothing():
    figure = Figure()
    with pytest.raises(InputError, match=r"'accuracy' was not measured.*devfnn on sea"):
        run_overview(made.without(made.result(), "accuracy"), figure=figure)
    assert figure.axes == []


@pytest.mark.parametrize(("missing", "n_panels"), [("layers", 3), ("rules", 3), ("labels", 3)])
def test_an_overview_has_the_panels_of_which_something_is_known(missing, n_panels):
    figure = run_overview(made.without(made.result(), missing))
    assert len(figure.axes) == n_panels
    assert [ax.get_title(loc="left")[:3] for ax in figure.axes] == ["(a)", "(b)", "(c)"]


def test_an_overview_of_a_model_without_layers_and_rules_shows_its_rate():
    result = made.without(made.without(made.without(made.result(), "layers"), "rules"), "labels")
    (ax,) = run_overview(result).axes
    assert "accuracy" in ax.get_title(loc="left")


def test_any_measure_can_be_drawn():
    result = made.result()
    ax = measure_over_time(result, "kappa")
    assert ax.lines[0].get_ydata()[1:].tolist() == result["per_chunk"]["kappa"][1:]
    assert ax.get_ylabel() == "kappa"
    smooth = measure_over_time(result, "kappa", windowed=True)
    assert smooth.lines[0].get_ydata()[1:].tolist() == result["windowed"]["kappa"][1:]


@pytest.mark.parametrize(
    ("measure", "ending"), [("f1", " %"), ("rules", ""), ("model_bytes", "kB")]
)
def test_measures_have_their_units(measure, ending):
    texts = tick_texts(measure_over_time(made.result(), measure).yaxis)
    assert texts[-1].endswith(ending)
    assert texts[-1].removesuffix(ending).strip().replace(".", "").isdigit()


def test_an_unknown_measure_is_refused_with_all_names():
    with pytest.raises(InputError, match=r"'acuracy'.*choose one of .*accuracy.*log_loss.*rules"):
        measure_over_time(made.result(), "acuracy")


@pytest.mark.parametrize("measure", ["rows", "voting_weights", "feature_mask"])
def test_what_is_no_measure_is_refused(measure):
    with pytest.raises(InputError, match="there is no"):
        measure_over_time(made.result(), measure)


def test_a_measure_without_a_window_is_refused():
    with pytest.raises(InputError, match=r"'rules' in 'windowed'.*accuracy"):
        measure_over_time(made.result(), "rules", windowed=True)


def test_a_measure_that_was_never_taken_is_refused():
    with pytest.raises(InputError, match="'auc' was not measured in any chunk"):
        measure_over_time(made.result(), "auc")


@pytest.mark.parametrize("draw", [*OVER_TIME, run_overview])
@pytest.mark.parametrize("n_chunks", [0, 1])
def test_a_curve_needs_two_chunks(draw, n_chunks):
    result = made.result()
    columns = {name: values[:n_chunks] for name, values in result["per_chunk"].items()}
    with pytest.raises(InputError, match=f"at least two chunks.* has {n_chunks}: .*smaller"):
        draw(result | {"per_chunk": columns})


def test_a_result_without_chunks_is_refused():
    with pytest.raises(InputError, match=r"has no 'per_chunk'.*--json"):
        rate_over_time({"model": "devfnn", "stream": "sea"})


def test_a_run_that_was_always_right_can_be_drawn():
    perfect = made.with_column(made.result(windowed=None), "accuracy", [None] + [1.0] * 19)
    assert "100 %" in tick_texts(rate_over_time(perfect).yaxis)
