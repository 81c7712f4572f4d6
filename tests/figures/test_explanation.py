"""What speaks for a class, as bars."""

import dataclasses
import itertools

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from devfnn import DEVFNN, presets
from devfnn.errors import InputError
from devfnn.figures import contribution_bars, save
from devfnn.figures.style import BLUE, RED
from scenes import flipped, run


@pytest.fixture(scope="module")
def why():
    """An explanation with something for and something against."""
    X, _ = flipped(10)
    model = DEVFNN(feature_names=["heat in $", "wind", "dust"])
    y = np.where(X[:, 1] + 0.3 * X[:, 0] > 0.7, "rain", "dry")
    run(model, X, y)
    return model.explain([0.1, 0.95, 0.4])


def widths(ax):
    """How long the bars are, from top to bottom."""
    return [bar.get_width() for bar in ax.patches]


def names(ax):
    """What stands beside the bars."""
    return [text.get_text() for text in ax.get_yticklabels()]


def test_bars_are_what_is_usual_then_features_then_the_sum(why):
    ax = contribution_bars(why)
    added = why.contributions()
    assert widths(ax)[:-1] == pytest.approx([why.usually(), *added.values()])
    assert widths(ax)[-1] == pytest.approx(why.usually() + sum(added.values()))
    assert names(ax)[0] == "usually" and names(ax)[-1] == "together"
    assert "wind = 0.95" in names(ax)
    assert r"heat in \$ = 0.1" in names(ax)


def test_every_bar_begins_where_the_one_before_ends(why):
    bars = contribution_bars(why).patches
    assert bars[0].get_x() == bars[-1].get_x() == 0.0
    for before, after in itertools.pairwise(bars[:-1]):
        assert after.get_x() == pytest.approx(before.get_x() + before.get_width())


def test_colours_say_for_and_against_and_the_numbers_have_signs(why):
    ax = contribution_bars(why)
    for bar in ax.patches[1:-1]:
        assert to_hex(bar.get_facecolor()) == (BLUE if bar.get_width() > 0.0 else RED)
    assert {bar.get_width() > 0.0 for bar in ax.patches[1:-1]} == {True, False}
    texts = [text.get_text() for text in ax.texts]
    assert texts == [f"{width:+.2f}".replace("-", "\N{MINUS SIGN}") for width in widths(ax)]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["raises it", "lowers it"]


def test_of_many_inputs_the_others_share_a_bar(why, monkeypatch):
    first, *rest = why.contributions().values()
    for most, others in ((1, "2 others"), (2, "1 other")):
        monkeypatch.setattr("devfnn.figures.rules.MOST_STEPS", most)
        ax = contribution_bars(why)
        assert names(ax)[most + 1] == others
        assert widths(ax)[1] == pytest.approx(first)
        assert sum(widths(ax)[2:-1]) == pytest.approx(sum(rest))


def test_the_axis_names_the_classes(why):
    label = contribution_bars(why).get_xlabel()
    assert label.startswith("log odds of rain, against dry (probability ")


def test_it_is_drawn_where_one_wishes(why):
    ax = Figure().add_subplot()
    assert contribution_bars(why, ax=ax) is ax


def test_numbers_that_cannot_be_drawn_are_refused(why):
    layers = [dataclasses.replace(layer, bias=layer.bias * np.nan) for layer in why.layers]
    with pytest.raises(InputError, match="not finite"):
        contribution_bars(dataclasses.replace(why, layers=tuple(layers)))


def test_a_single_class_and_no_feature_can_be_drawn(tmp_path):
    model = DEVFNN()
    model.learn([[1.0, 2.0]], ["only"])
    ax = contribution_bars(model.explain([1.0, 2.0]))
    assert names(ax) == ["usually", "together"]
    assert ax.get_xlabel() == "log odds of only (probability 100 %)"
    save(ax, tmp_path / "why.png")


@pytest.mark.parametrize(("network", "suffix"), [("default", "svg"), ("stacked", "pdf")])
def test_both_networks_can_be_drawn(network, suffix, tmp_path):
    X, y = flipped(5)
    model = DEVFNN(presets.by_name(network))
    run(model, X, y)
    save(contribution_bars(model.explain(X[0])), tmp_path / f"why.{suffix}")


def test_scores_are_not_called_log_odds():
    X, y = flipped(5)
    model = DEVFNN(presets.stacked().replace(gaussian__consequent="least_squares"))
    run(model, X, y)
    assert contribution_bars(model.explain(X[0])).get_xlabel().startswith("score of class ")
