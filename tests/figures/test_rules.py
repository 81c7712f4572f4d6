"""Rules as curves and ellipses."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from devfnn.errors import InputError
from devfnn.figures import membership_curves, rule_ellipses
from devfnn.figures.rules import MOST_POINTS
from devfnn.figures.style import GREY, PALETTE
from figures import made

TILTED = [[4.0, 3.0], [3.0, 9.0]]
BOTH = ("price", "demand")


def curves(ax):
    """Curves of the rules, in their order."""
    return [line for line in ax.lines if line.get_label().startswith("rule")]


def ellipses(ax, steps=1):
    """Outlines of the rules at one or two standard deviations, in their order."""
    return ax.patches[2 - steps :: 2]


def legend_texts(ax):
    """What the legend says."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def many_classes(n_classes):
    """A rule for each class, and one more for the last."""
    labels = [f"class {place}" for place in range(n_classes)]
    says = [*labels, labels[-1]]
    return [
        made.rule(
            [float(place), 0.0],
            np.eye(2),
            probabilities={each: 0.9 if each == label else 0.01 for each in labels},
        )
        for place, label in enumerate(says)
    ]


def test_a_membership_is_the_gaussian_of_the_margin():
    ax = membership_curves([made.rule([5.0, 2.0], TILTED)], "demand")
    (line,) = curves(ax)
    x, y = line.get_data()
    assert np.allclose(y, np.exp(-0.5 * ((x - 2.0) / 3.0) ** 2))
    assert y.max() == pytest.approx(1.0)
    assert x[y.argmax()] == pytest.approx(2.0)
    low, high = ax.get_xlim()
    assert low < 2.0 - 9.0
    assert high > 2.0 + 9.0
    assert ax.get_xlabel() == "demand"


def test_curves_are_coloured_by_the_most_probable_class():
    rules = [
        made.rule([0.0, 0.0], np.eye(2), says="up"),
        made.rule([1.0, 0.0], np.eye(2), says="down"),
        made.rule([2.0, 0.0], np.eye(2), says="up"),
    ]
    ax = membership_curves(rules, "price")
    assert [line.get_color() for line in curves(ax)] == [PALETTE[0], PALETTE[1], PALETTE[0]]
    assert legend_texts(ax) == ["up", "down"]


def test_archived_rules_are_dashed():
    rules = [
        made.rule([0.0, 0.0], np.eye(2)),
        made.rule([1.0, 0.0], np.eye(2), is_archived=True),
    ]
    ax = membership_curves(rules, "price")
    assert [line.get_linestyle() for line in curves(ax)] == ["-", "--"]
    assert legend_texts(ax) == ["up", "archived"]
    outlines = ellipses(rule_ellipses(rules, BOTH))
    assert [outline.get_linestyle() for outline in outlines] == ["-", "--"]


def test_one_very_wide_rule_does_not_hide_the_others():
    rules = [made.rule([float(place), 0.0], np.eye(2)) for place in range(4)]
    rules.append(made.rule([0.0, 0.0], 1e8 * np.eye(2)))
    low, high = membership_curves(rules, "price").get_xlim()
    assert high - low < 50.0
    low, high = rule_ellipses(rules, BOTH).get_xlim()
    assert high - low < 50.0


def test_a_very_narrow_rule_still_reaches_1():
    rules = [made.rule([0.5, 0.0], 1e-10 * np.eye(2)), made.rule([0.0, 0.0], np.eye(2))]
    assert curves(membership_curves(rules, "price"))[0].get_ydata().max() == pytest.approx(1.0)


def test_a_rule_without_width_is_a_line_straight_up():
    ax = membership_curves([made.rule([5.0, 0.0], np.zeros((2, 2)))], "price")
    x, y = curves(ax)[0].get_data()
    assert x.tolist() == [5.0, 5.0]
    assert y.tolist() == [0.0, 1.0]
    assert ax.get_xlim()[0] < 5.0 < ax.get_xlim()[1]


def test_what_an_earlier_layer_says_can_be_drawn_for_rules_that_hear_it():
    rules = [
        made.rule([0.0, 0.0], np.eye(2)),
        made.rule([0.0, 0.0, 0.7], np.diag([1.0, 1.0, 0.01]), layer=1, rule=4),
    ]
    ax = membership_curves(rules, "layer 0 says up")
    assert [line.get_label() for line in curves(ax)] == ["rule 4 of layer 1"]


def test_of_very_many_classes_those_that_most_rules_say_have_colours():
    ax = membership_curves(many_classes(23), "price")
    colours = [line.get_color() for line in curves(ax)]
    assert colours[22] == colours[23] != GREY
    assert colours.count(GREY) == 23 - (len(PALETTE) - 1)
    assert len(set(colours)) == len(PALETTE)
    assert legend_texts(ax)[-1] == "16 other classes"
    assert "class 22" in legend_texts(ax)


def test_an_ellipse_is_one_standard_deviation_of_the_margin():
    rule = made.rule([1.0, 2.0, 0.5], [[4.0, 3.0, 0.1], [3.0, 9.0, 0.1], [0.1, 0.1, 1.0]])
    ax = rule_ellipses([rule], BOTH)
    inverse = np.linalg.inv(np.array(TILTED))
    for steps in (1, 2):
        (outline,) = ellipses(ax, steps)
        offsets = outline.get_xy() - [1.0, 2.0]
        distances = np.einsum("ij,jk,ik->i", offsets, inverse, offsets)
        assert np.allclose(distances, steps**2)
        assert np.ptp(offsets[:, 0]) == pytest.approx(2 * steps * 2.0, rel=1e-2)
    assert ellipses(ax, 2)[0].get_alpha() < ellipses(ax, 1)[0].get_alpha()


def test_the_features_choose_the_axes():
    ax = rule_ellipses([made.rule([1.0, 2.0], TILTED)], ("demand", "price"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("demand", "price")
    outline = ellipses(ax)[0].get_xy()
    assert np.allclose((outline.min(axis=0) + outline.max(axis=0)) / 2.0, [2.0, 1.0], atol=1e-2)


def test_units_that_are_ages_apart_do_not_spoil_an_ellipse():
    scale = np.array([1e9, 1e-9])
    covariance = np.array([[1.0, 0.5], [0.5, 1.0]]) * np.outer(scale, scale)
    outline = ellipses(rule_ellipses([made.rule([0.0, 0.0], covariance)], BOTH))[0]
    x, y = (outline.get_xy() / scale).T
    assert np.allclose((x**2 - x * y + y**2) / 0.75, 1.0)


def test_ellipses_without_width_can_be_drawn():
    rule_ellipses([made.rule([0.0, 0.0], np.zeros((2, 2)))], BOTH).figure.canvas.draw()


def test_all_ellipses_and_rows_are_in_view():
    rules = [made.rule([0.0, 0.0], np.eye(2)), made.rule([9.0, 3.0], TILTED)]
    X = np.array([[-50.0, 0.0], [0.0, 70.0], [np.nan, 1.0]])
    ax = rule_ellipses(rules, BOTH, X=X)
    for limits, column in ((ax.get_xlim(), 0), (ax.get_ylim(), 1)):
        seen = np.concatenate([*(each.get_xy()[:, column] for each in ax.patches), X[:2, column]])
        assert limits[0] < seen.min()
        assert limits[1] > seen.max()


def test_rows_have_the_colours_of_their_labels():
    rules = [made.rule([0.0, 0.0], np.eye(2))]
    ax = rule_ellipses(rules, BOTH, X=[[1.0, 2.0], [3.0, 4.0]], y=["down", "up"])
    (dots,) = ax.collections
    assert dots.get_offsets().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    colours = [to_hex(face[:3]) for face in dots.get_facecolors()]
    assert colours == [PALETTE[1], PALETTE[0]]
    assert legend_texts(ax) == ["up", "down"]


def test_classes_that_are_numbers_are_called_classes():
    rules = [made.rule([0.0, 0.0], np.eye(2), probabilities={0: 0.8, 1: 0.2})]
    assert legend_texts(membership_curves(rules, "price")) == ["class 0"]
    ax = rule_ellipses(rules, BOTH, X=[[1.0, 2.0]], y=np.array([1]))
    assert legend_texts(ax) == ["class 0", "class 1"]


def test_rows_may_have_all_features_or_just_the_two():
    rule = made.rule(
        [0.0] * 3, np.eye(3), inputs=("price", "demand", "hour"), n_features=3, n_rows=1.0
    )
    whole = rule_ellipses([rule], ("hour", "price"), X=[[1.0, 2.0, 3.0]])
    assert whole.collections[0].get_offsets().tolist() == [[3.0, 1.0]]
    two = rule_ellipses([rule], ("hour", "price"), X=[[3.0, 1.0]])
    assert two.collections[0].get_offsets().tolist() == [[3.0, 1.0]]


def test_of_very_many_rows_some_are_drawn():
    X = np.random.default_rng(0).normal(size=(3 * MOST_POINTS, 2))
    y = np.arange(len(X)) % 2
    ax = rule_ellipses([made.rule([0.0, 0.0], np.eye(2))], BOTH, X=X, y=y)
    assert len(ax.collections[0].get_offsets()) == MOST_POINTS


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0, 2.0, 3.0, 4.0]], None, r"shape \(1, 4\).*all 2 features.*price and demand"),
        ([1.0, 2.0], None, r"shape \(2,\)"),
        ([[1.0, 2.0]], [1, 2], "1 rows and 2 labels"),
    ],
)
def test_rows_that_do_not_fit_are_refused(X, y, message):
    with pytest.raises(InputError, match=message):
        rule_ellipses([made.rule([0.0, 0.0], np.eye(2))], BOTH, X=X, y=y)


def test_axes_that_are_given_are_drawn_on_and_returned():
    rules = [made.rule([0.0, 0.0], np.eye(2))]
    figure = Figure()
    first, second = figure.subplots(1, 2)
    assert membership_curves(rules, "price", ax=first) is first
    assert rule_ellipses(rules, BOTH, ax=second) is second
    assert curves(first)
    assert ellipses(second)


@pytest.mark.parametrize(
    ("rules", "features", "message"),
    [
        ([], BOTH, "no rules to draw"),
        (
            [made.rule([0.0, 0.0], np.eye(2))],
            ("pricee", "demand"),
            "no input 'pricee', but price, demand",
        ),
        ([made.rule([0.0, 0.0], np.eye(2))], ("price",), "need two features"),
        (
            [
                made.rule([0.0], np.eye(1)),
                made.rule([0.0], np.eye(1), inputs=("demand",)),
            ],
            BOTH,
            "no rule has both price and demand",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(rules, features, message):
    with pytest.raises(InputError, match=message):
        rule_ellipses(rules, features)


def test_an_unknown_feature_has_no_membership():
    with pytest.raises(InputError, match="no input 'prise'"):
        membership_curves([made.rule([0.0, 0.0], np.eye(2))], "prise")
