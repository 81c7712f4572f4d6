"""Votes of layers and features in use."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from devfnn.errors import InputError
from devfnn.figures import feature_mask, layers_at_work, voting_weights
from devfnn.figures.runs import LEFT_OUT, MOST_NAMES, STATES, USED
from figures import made


def bands(ax):
    """Upper and lower end of each layer's band at a row, by label."""

    def at(row):
        ends = {}
        for band in ax.collections:
            if band.get_label().startswith("layer"):
                heights = [
                    y
                    for path in band.get_paths()
                    for x, y in path.vertices
                    if x == row and np.isfinite(y)
                ]
                ends[band.get_label()] = heights
        return ends

    return at


def mask_of(ax):
    """The image of features in use."""
    return ax.collections[0].get_array()


def with_weights(weights):
    """A run with these voting weights, a list for each chunk."""
    result = made.result(len(weights))
    return made.with_column(result, "voting_weights", weights)


def with_mask(masks, names):
    """A run with these feature masks, a list for each chunk."""
    result = made.result(len(masks), feature_names=names)
    return made.with_column(result, "feature_mask", masks)


def test_votes_are_shares_that_add_up():
    ax = voting_weights(with_weights([[2.0], [1.0, 3.0], [1.0, 3.0]]))
    at_the_end = bands(ax)(300.0)
    assert (min(at_the_end["layer 0"]), max(at_the_end["layer 0"])) == (0.0, 0.25)
    assert (min(at_the_end["layer 1"]), max(at_the_end["layer 1"])) == (0.25, 1.0)
    at_the_start = bands(ax)(100.0)
    assert max(at_the_start["layer 0"]) == 1.0
    assert ax.get_ylim() == (0.0, 1.0)


def test_chunks_and_layers_without_a_vote_are_left_out():
    ax = voting_weights(with_weights([None, [1.0, None], [0.0, 0.0], [2.0, 2.0], [2.0, 2.0]]))
    at = bands(ax)
    assert at(100.0) == {"layer 0": [], "layer 1": []}
    assert max(at(200.0)["layer 0"]) == 1.0
    assert max(at(500.0)["layer 0"]) == 0.5


def test_a_few_layers_have_a_legend_and_many_a_scale():
    few = voting_weights(with_weights([[1.0] * 3] * 4))
    names = [text.get_text() for text in few.get_legend().get_texts()]
    assert names == ["layer 0", "layer 1", "layer 2", "true drift"]
    many = voting_weights(with_weights([[1.0] * 20] * 4))
    assert many.get_legend() is None
    assert [ax.get_ylabel() for ax in many.figure.axes] == ["share of the vote", "layer"]
    colours = {tuple(band.get_facecolor()[0]) for band in many.collections[:20]}
    assert len(colours) == 20


@pytest.mark.parametrize("weights", [None, [], [None] * 3, [[]] * 3])
def test_a_model_without_votes_is_refused(weights):
    with pytest.raises(InputError, match="has no 'voting_weights': only models with layers"):
        voting_weights(made.with_column(made.result(3), "voting_weights", weights))


def test_votes_that_are_all_0_are_refused():
    with pytest.raises(InputError, match=r"all voting weights .* are 0"):
        voting_weights(with_weights([[0.0], [0.0]]))


@pytest.mark.parametrize(("draw", "name"), [(voting_weights, "votes"), (feature_mask, "mask")])
def test_axes_that_are_given_are_drawn_on_and_returned(draw, name):
    ax = Figure().add_subplot()
    assert draw(made.result(), ax=ax) is ax, name
    assert ax.collections


def test_features_are_lines_and_chunks_are_columns():
    ax = feature_mask(with_mask([[1, 0], [1, 1], [0, 1]], ["price", "demand"]))
    assert mask_of(ax).tolist() == [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    corners = ax.collections[0].get_coordinates()
    assert corners[0, :, 0].tolist() == [0, 100, 200, 300]
    ticks = {
        text.get_text(): place
        for place, text in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    }
    assert ticks == {"price": 0.5, "demand": 1.5}
    assert ax.yaxis_inverted()


def test_used_and_left_out_have_their_colours_and_shares():
    ax = feature_mask(with_mask([[1, 0], [1, 1]], ["price", "demand"]))
    image = ax.collections[0]
    assert image.to_rgba([0.0, 1.0]).tolist() == [list(to_rgba(LEFT_OUT)), list(to_rgba(USED))]
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[:2] == ["used (75 %)", "left out (25 %)"]


def test_a_mask_that_uses_all_says_so():
    ax = feature_mask(made.result(drift_positions=[]))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["used (100 %)"]
    assert (mask_of(ax) == 1.0).all()


def test_shares_are_not_rounded_to_none_or_all():
    masks = [[1] * 20 for _ in range(20)]
    masks[3][4] = 0
    ax = feature_mask(with_mask(masks, [f"x{place}" for place in range(20)]))
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[:2] == ["used (> 99 %)", "left out (< 1 %)"]


def test_chunks_without_a_mask_are_white_and_said():
    ax = feature_mask(with_mask([None, [1], [None]], ["price"]))
    assert mask_of(ax).mask.tolist() == [[True, False, True]]
    assert "not known" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_of_many_features_only_some_are_named():
    names = [f"x{place}" for place in range(120)]
    ax = feature_mask(with_mask([[1] * 120] * 3, names))
    texts = [text.get_text() for text in ax.get_yticklabels()]
    assert len(texts) == MOST_NAMES
    assert [names[int(place)] for place in ax.get_yticks()] == texts
    few = feature_mask(with_mask([[1] * 12] * 3, names[:12]))
    assert [text.get_text() for text in few.get_yticklabels()] == names[:12]


def test_a_model_without_a_mask_is_refused():
    with pytest.raises(InputError, match="has no 'feature_mask'"):
        feature_mask(made.without(made.result(), "feature_mask"))


def test_a_layer_has_the_colour_of_what_it_does_in_every_chunk():
    states = [["votes", "votes"], ["votes", "rests"], ["votes", "on trial", "waits"]]
    result = made.with_column(made.result(3), "layer_states", states)
    result["standings"] = [{"layer": 0, "name": "line"}, {"layer": 1, "name": "clouds"}]
    ax = layers_at_work(result)
    known = list(STATES)
    expected = [["votes"] * 3, ["votes", "rests", "on trial"], [None, None, "waits"]]
    for line, states in zip(mask_of(ax), expected, strict=True):
        named = [None if value is np.ma.masked else known[int(value)] for value in line]
        assert named == states
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["line 0", "clouds 1", "layer 2"]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["works", "on trial", "waits for its concept", "rests"]


def test_a_run_without_layers_has_no_layers_at_work():
    with pytest.raises(InputError, match="layer_states"):
        layers_at_work(made.result(3))
