"""The critical difference diagram, and accuracy against speed."""

import itertools
import types

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from devfnn.errors import InputError
from devfnn.figures import accuracy_against_speed, critical_difference
from devfnn.figures.comparison import group_bars
from devfnn.figures.style import BLUE, new_figure
from figures import made

LONG_NAMES = [f"a model with quite a long name {place}" for place in range(15)]
RANKS_15 = [2.1, 2.3, 3.9, 4.4, 4.5, 6.1, 6.9, 8.0, 8.1, 9.3, 10.1, 11.5, 13.0, 14.2, 14.6]


def overlapping(ax):
    """Pairs of texts that run into each other."""
    figure = ax.figure
    figure.canvas.draw()
    texts = [text for text in ax.texts if text.get_text()]
    # Of an annotation, only the text: its own extent has the line to the point in it.
    boxes = [(text.get_text(), Text.get_window_extent(text).padded(-0.5)) for text in texts]
    return [
        (one, other)
        for (one, box), (other, second) in itertools.combinations(boxes, 2)
        if box.overlaps(second)
    ]


def outside(ax):
    """Texts that are not wholly in the figure."""
    whole = ax.figure.bbox
    return [
        text.get_text()
        for text in ax.texts
        if not whole.count_contains(text.get_window_extent().corners()) == 4
    ]


def texts(ax):
    """All that is written, by text."""
    return {text.get_text(): text for text in ax.texts}


def rank_place(ax, rank):
    """Where a whole rank is on the scale."""
    return texts(ax)[str(rank)].get_position()[0]


def bars(ax):
    """Ends of the bars on the scale, in ranks."""
    first, second = rank_place(ax, 1), rank_place(ax, 2)
    return [
        tuple(np.round(1.0 + (np.array(line.get_xdata()) - first) / (second - first), 1))
        for line in ax.lines
        if line.get_color() == BLUE
    ]


@pytest.mark.parametrize("n_models", [2, 3, 8, 15])
@pytest.mark.parametrize("post_hoc", ["nemenyi", "wilcoxon-holm"])
def test_no_text_of_the_diagram_runs_into_another_or_out_of_the_figure(n_models, post_hoc):
    ranks = np.linspace(1.0, n_models, n_models)
    ax = critical_difference(
        made.ranking(ranks, post_hoc=post_hoc, names=LONG_NAMES[:n_models], n_streams=12)
    )
    assert overlapping(ax) == []
    assert outside(ax) == []


@pytest.mark.parametrize("size", [(3.0, 2.0), (7.0, 4.0), (12.0, 3.0)])
def test_in_axes_of_any_size_the_diagram_fits(size):
    ax = new_figure(*size).add_subplot()
    assert critical_difference(made.ranking(RANKS_15, names=LONG_NAMES), ax=ax) is ax
    assert overlapping(ax) == []
    assert outside(ax) == []


def test_every_model_is_named_with_its_rank_at_the_end_of_its_line():
    ax = critical_difference(made.ranking([1.25, 2.0, 2.75]))
    written = texts(ax)
    for name in ("model a  1.25", "model b  2.00", "2.75  model c"):
        height = written[name].get_position()[1]
        assert any(list(line.get_ydata())[1:] == [height, height] for line in ax.lines)


def test_the_line_of_a_model_begins_at_its_rank():
    ax = critical_difference(made.ranking([1.5, 1.9, 2.6]))
    first, second = rank_place(ax, 1), rank_place(ax, 2)
    starts = sorted(line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 3)
    assert np.allclose(1.0 + (np.array(starts) - first) / (second - first), [1.5, 1.9, 2.6])


def test_the_best_are_at_the_left_from_the_top():
    ax = critical_difference(made.ranking([3.5, 1.0, 2.5, 3.0]))
    places = {
        f"model {text.split('model ')[1][0]}": text_artist.get_position()
        for text, text_artist in texts(ax).items()
        if "model " in text
    }
    assert places["model b"][0] == places["model c"][0]
    assert places["model b"][1] > places["model c"][1]
    assert places["model a"][0] == places["model d"][0] > places["model b"][0]
    assert places["model a"][1] > places["model d"][1]
    assert rank_place(ax, 1) < rank_place(ax, 4)


def test_bars_join_the_groups():
    groups = [("model a", "model b"), ("model b", "model c"), ("model d",)]
    ranking = made.ranking([1.0, 2.0, 3.0, 4.0], groups=groups)
    ends = bars(critical_difference(ranking))
    assert ends == [(1.0, 2.0), (2.0, 3.0)]


def test_bars_that_meet_are_on_different_levels_and_others_share_one():
    groups = [("model a", "model b"), ("model b", "model c"), ("model d", "model e")]
    ranking = made.ranking([1.0, 2.0, 3.0, 4.0, 5.0], groups=groups)
    assert [level for *_, level in group_bars(ranking)] == [0, 1, 0]


def test_the_critical_difference_is_shown_in_its_length():
    ranking = made.ranking([1.0, 2.0, 3.0], n_streams=20)
    ax = critical_difference(ranking)
    text = f"critical difference {ranking.critical_difference:.2f}"
    middle, height = texts(ax)[text].get_position()
    (line,) = [line for line in ax.lines if np.allclose(line.get_ydata(), height - 4.0)]
    unit = rank_place(ax, 2) - rank_place(ax, 1)
    assert np.ptp(line.get_xdata()) == pytest.approx(ranking.critical_difference * unit)
    assert np.mean(line.get_xdata()) == pytest.approx(middle)


def test_without_a_critical_difference_none_is_shown():
    ax = critical_difference(made.ranking([1.0, 2.0, 3.0], post_hoc="wilcoxon-holm"))
    assert not any(text.startswith("critical") for text in texts(ax))


def test_a_critical_difference_beyond_the_scale_stays_in_the_figure():
    ranking = made.ranking([1.4, 1.6], n_streams=2)
    assert ranking.critical_difference > 1.0
    ax = critical_difference(ranking)
    assert max(max(line.get_xdata()) for line in ax.lines) < ax.get_xlim()[1]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n_streams": 20}, "20 streams; Friedman p = 0.0031"),
        ({"n_streams": 1}, "1 stream;"),
        ({"friedman_p": 1e-9}, "Friedman p < 0.0001"),
        ({"groups": ()}, "all models differ at 5 % (Nemenyi)"),
        ({"groups": (("model a", "model b"),)}, "bars join models that do not differ at 5 %"),
        ({"significance": 0.1, "post_hoc": "wilcoxon-holm"}, "at 10 % (Wilcoxon, Holm)"),
    ],
)
def test_the_note_says_what_it_is_based_on(changes, said):
    ranking = types.SimpleNamespace(**(vars(made.ranking([1.0, 2.0, 3.0])) | changes))
    assert any(said in text.replace("\n", " ") for text in texts(critical_difference(ranking)))


def test_without_a_friedman_test_nothing_is_said_about_it():
    ranking = types.SimpleNamespace(**(vars(made.ranking([1.0, 2.0])) | {"friedman_p": None}))
    assert not any("Friedman" in text for text in texts(critical_difference(ranking)))


def test_one_model_cannot_be_compared():
    with pytest.raises(InputError, match="at least two models"):
        critical_difference(made.ranking([1.0]))


def points(ax):
    """Where the models are."""
    return {
        text.get_text(): tuple(np.round(text.xy, 6))
        for text in ax.texts  # annotations know the point they name
    }


def test_points_are_means_over_seeds_then_streams():
    cells = [
        {"model": "a", "stream": "x", "accuracy_mean": 0.8, "rows_per_second": 100.0},
        {"model": "a", "stream": "x", "accuracy_mean": 0.6, "rows_per_second": 100.0},
        {"model": "a", "stream": "y", "accuracy_mean": 0.9, "rows_per_second": 10_000.0},
    ]
    ax = accuracy_against_speed(cells)
    assert points(ax) == {"a": (1000.0, 0.8)}
    assert ax.get_ylabel() == "accuracy, mean over 2 streams"
    assert ax.get_xscale() == "log"


def test_only_streams_that_all_models_have_are_counted():
    cells = made.cells({"a": (0.9, 100.0), "b": (0.8, 1000.0)}, streams=["x"])
    cells += made.cells({"a": (0.1, 1.0)}, streams=["y"])
    cells += made.cells({"a": (0.1, 1.0), "b": (None, None)}, streams=["z"])
    ax = accuracy_against_speed(cells)
    assert points(ax) == {"a": (100.0, 0.9), "b": (1000.0, 0.8)}
    assert ax.get_ylabel() == "accuracy, mean over 1 stream"


def test_the_line_joins_models_that_no_other_beats():
    standings = {"best": (0.9, 100.0), "between": (0.8, 5e3), "fast": (0.7, 1e5)}
    standings |= {"beaten": (0.75, 1e3), "slow twin": (0.9, 50.0)}
    (line,) = accuracy_against_speed(made.cells(standings)).lines
    assert np.allclose(line.get_xdata(), [100.0, 5e3, 1e5])
    assert np.allclose(line.get_ydata(), [0.9, 0.8, 0.7])
    assert line.get_drawstyle() == "steps-pre"


def test_undefeated_points_are_filled():
    ax = accuracy_against_speed(made.cells({"good": (0.9, 100.0), "bad": (0.8, 50.0)}))
    (dots,) = ax.collections
    assert dots.get_offsets().data.round(6).tolist() == [[100.0, 0.9], [50.0, 0.8]]
    faces = dots.get_facecolors()
    assert faces[1].tolist() == [1.0, 1.0, 1.0, 1.0]
    assert faces[0].tolist() != faces[1].tolist()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("spread", [0.3, 0.02])
def test_names_of_points_do_not_overlap(seed, spread):
    rng = np.random.default_rng(seed)
    standings = {
        f"a model called {place}": (0.6 + spread * rng.random(), 10.0 ** rng.uniform(3.0, 5.5))
        for place in range(15)
    }
    ax = accuracy_against_speed(made.cells(standings))
    assert overlapping(ax) == []
    assert outside(ax) == []


def test_equal_models_are_both_named():
    ax = accuracy_against_speed(made.cells({"one": (0.9, 100.0), "other": (0.9, 100.0)}))
    assert overlapping(ax) == []
    assert set(points(ax)) == {"one", "other"}


def test_axes_that_are_given_are_drawn_on_and_returned():
    ax = Figure().add_subplot()
    assert accuracy_against_speed(made.cells({"a": (0.9, 100.0)}), ax=ax) is ax
    assert len(ax.collections) == 1


def test_speeds_have_thousands_separators():
    ax = accuracy_against_speed(made.cells({"a": (0.9, 2_000.0), "b": (0.8, 900_000.0)}))
    ax.figure.canvas.draw()
    assert "100,000" in [text.get_text() for text in ax.get_xticklabels()]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([], "no cells"),
        (
            made.cells({"a": (0.9, 1.0)}, ["x"]) + made.cells({"b": (0.9, 1.0)}, ["y"]),
            "on the same streams",
        ),
        (made.cells({"a": (0.9, None)}), "accuracy and speed of all models"),
        (made.cells({"a": (0.9, 0.0)}), "accuracy and speed of all models"),
    ],
)
def test_cells_that_cannot_be_compared_are_refused(cells, message):
    with pytest.raises(InputError, match=message):
        accuracy_against_speed(cells)
