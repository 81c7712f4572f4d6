"""Rules as pictures: memberships along one feature, ellipses over two."""

import collections
import difflib
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon

from devfnn.errors import InputError
from devfnn.figures.columns import Floats
from devfnn.figures.style import (
    GREY,
    INK,
    PALE,
    PALETTE,
    WIDTH,
    axes_or_new,
    label,
    legend_above,
    styled,
)

if TYPE_CHECKING:
    from devfnn.model.rules import Rule

MOST_POINTS = 4000
"""Rows that are drawn; of more, every so many."""


@styled
def membership_curves(rules: "Sequence[Rule]", feature: str, ax: Axes | None = None) -> Axes:
    """How far a value of one feature belongs to each rule, coloured by what the rule says.

    Of lines and boxes, which hold for all values between their bounds, it shows where their rows
    are.

    Parameters
    ----------
    rules
        Rules of a model, as `DEVFNN.rules()` gives them.
    feature
        Name of the feature, or of another input of the rules.
    ax
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; archived rules are dashed.

    Raises
    ------
    InputError
        If there are no rules, or none has this input.
    """
    shown = _rules_with(rules, [feature])
    centers, spreads = _margins(shown, feature)
    low, high = _reach(centers, spreads)
    values = np.linspace(low, high, 600)
    colours = _colours(rules)
    ax = axes_or_new(ax, WIDTH, 2.8)
    for rule, center, spread in zip(shown, centers, spreads, strict=True):
        ax.plot(
            *_bell(values, center, spread),
            color=colours[_says(rule)],
            linewidth=1.0 if rule.is_archived else 1.4,
            linestyle="--" if rule.is_archived else "-",
            alpha=0.9 if len(shown) <= 30 else 0.5,
            label=f"rule {rule.rule} of layer {rule.layer}",
        )
    ax.set(xlim=(low, high), ylim=(0.0, 1.05), ylabel="membership")
    ax.set_xlabel(label(feature, 60))
    ax.grid(axis="y", color=PALE, linewidth=0.5)
    _name_classes(ax, shown, colours)
    return ax


@styled
def rule_ellipses(
    rules: "Sequence[Rule]",
    features: tuple[str, str],
    ax: Axes | None = None,
    X: Any = None,
    y: Any = None,
) -> Axes:
    """Where rules are on two features: one standard deviation, and faintly two.

    Of lines and boxes it shows where their rows are.

    Parameters
    ----------
    rules
        Rules of a model, as `DEVFNN.rules()` gives them.
    features
        Names of the features along x and y.
    ax
        Where to draw; a new figure if None.
    X
        Rows to draw as points: all features of the model, or just the two.
    y
        Their labels, for colours.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; archived rules are dashed.

    Raises
    ------
    InputError
        If there are no rules, none has these inputs, or rows and labels do not fit.
    """
    if len(features) != 2:
        raise InputError(f"ellipses need two features, not {features!r}: name one for each axis")
    shown = _rules_with(rules, features)
    points = _points(X, shown[0], features)
    labels = _point_labels(y, points)
    colours = _colours(rules, labels or [])
    ax = axes_or_new(ax, 5.6, 4.4)
    _draw_points(ax, points, labels, colours)
    for rule in shown:
        _draw_rule(ax, rule, features, colours[_says(rule)])
    ax.set_xlim(_limits(shown, features[0], points[:, 0]))
    ax.set_ylim(_limits(shown, features[1], points[:, 1]))
    ax.set_xlabel(label(features[0], 50))
    ax.set_ylabel(label(features[1], 50))
    _name_classes(ax, shown, colours, labels or ())
    return ax


def _rules_with(rules: "Sequence[Rule]", features: Sequence[str]) -> "list[Rule]":
    """Rules that have these inputs."""
    if not len(rules):
        raise InputError("there are no rules to draw: let the model learn something first")
    known = list(dict.fromkeys(name for rule in rules for name in rule.inputs))
    for feature in features:
        if feature not in known:
            close = difflib.get_close_matches(str(feature), known, n=1)
            hint = f"; did you mean {close[0]}?" if close else f": {', '.join(known[:20])}"
            raise InputError(f"the rules have no input {feature!r}{hint}")
    shown = [rule for rule in rules if set(features) <= set(rule.inputs)]
    if not shown:
        raise InputError(f"no rule has both {' and '.join(features)} among its inputs")
    return shown


def _margins(rules: "Sequence[Rule]", feature: str) -> tuple[Floats, Floats]:
    """Centres and standard deviations of rules on one input."""
    places = [rule.inputs.index(feature) for rule in rules]
    pairs = list(zip(rules, places, strict=True))
    centers = np.array([float(rule.center[place]) for rule, place in pairs])
    variances = np.array([float(rule.covariance[place][place]) for rule, place in pairs])
    return centers, np.sqrt(np.maximum(variances, 0.0))


def _reach(centers: Floats, spreads: Floats, steps: float = 3.2) -> tuple[float, float]:
    """From where to where to draw; a single very wide rule does not make all others narrow."""
    usual = float(np.median(spreads))
    widths = steps * (np.minimum(spreads, 3.0 * usual) if usual > 0.0 else spreads)
    low, high = float((centers - widths).min()), float((centers + widths).max())
    if low < high:
        return low, high
    around = max(abs(low), 1.0) * 0.05
    return low - around, high + around


def _limits(rules: "Sequence[Rule]", feature: str, values: Floats) -> tuple[float, float]:
    """From where to where the rules and rows are on one input."""
    ends = [*_reach(*_margins(rules, feature), steps=2.1), *values[np.isfinite(values)]]
    room = 0.03 * (max(ends) - min(ends))
    return min(ends) - room, max(ends) + room


def _bell(values: Floats, center: float, spread: float) -> tuple[Floats, Floats]:
    """A Gaussian membership; a line straight up if the rule has no width."""
    own = center + spread * np.linspace(-4.0, 4.0, 161)
    everywhere = np.sort(np.concatenate([values, own]))
    if spread <= 0.0:
        return np.array([center, center]), np.array([0.0, 1.0])
    return everywhere, np.exp(-0.5 * ((everywhere - center) / spread) ** 2)


def _draw_rule(ax: Axes, rule: "Rule", features: tuple[str, str], colour: str) -> None:
    """The ellipses of a rule, and its centre."""
    places = [rule.inputs.index(feature) for feature in features]
    center = np.asarray(rule.center, np.float64)[places]
    covariance = np.asarray(rule.covariance, np.float64)[np.ix_(places, places)]
    name = f"rule {rule.rule} of layer {rule.layer}"
    style = "--" if rule.is_archived else "-"
    for steps, strength in ((2.0, 0.3), (1.0, 1.0)):
        outline = center + steps * _outline(covariance)
        ax.add_patch(
            Polygon(
                outline,
                closed=True,
                fill=False,
                edgecolor=colour,
                linestyle=style,
                linewidth=0.8 if steps == 2.0 else 1.5,
                alpha=strength,
                label=name if steps == 1.0 else "",
                zorder=3.0,
            )
        )
    ax.plot(*center, marker="+", markersize=5.0, color=colour, zorder=3.5)


def _outline(covariance: Floats) -> Floats:
    """Points one standard deviation around 0.

    By correlation and not by eigenvectors: features may have units that are ages apart.
    """
    angles = np.linspace(0.0, 2.0 * np.pi, 97)
    spreads = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    product = spreads[0] * spreads[1]
    correlation = float(np.clip(covariance[0, 1] / product, -1.0, 1.0)) if product > 0.0 else 0.0
    second = correlation * np.cos(angles) + np.sqrt(1.0 - correlation**2) * np.sin(angles)
    return np.column_stack([spreads[0] * np.cos(angles), spreads[1] * second])


def _points(X: Any, rule: "Rule", features: tuple[str, str]) -> Floats:
    """The two columns of the rows, (n_rows, 2)."""
    if X is None:
        return np.zeros((0, 2))
    rows = np.asarray(X, np.float64)
    if rows.ndim == 2 and rows.shape[1] == rule.n_features:
        places = [rule.inputs.index(feature) for feature in features]
        if max(places) < rule.n_features:
            return rows[:, places]
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise InputError(
            f"rows of shape {rows.shape} do not fit: give all {rule.n_features} features "
            f"of the model, or the two columns {' and '.join(features)}"
        )
    return rows


def _point_labels(y: Any, points: Floats) -> list[Hashable] | None:
    if y is None:
        return None
    labels = np.asarray(y).tolist()
    if len(labels) != len(points):
        raise InputError(f"{len(points)} rows and {len(labels)} labels: give one for each row")
    return list(labels)


def _draw_points(
    ax: Axes, points: Floats, labels: list[Hashable] | None, colours: dict[Hashable, str]
) -> None:
    """Rows as small dots behind the rules."""
    step = max(-(-len(points) // MOST_POINTS), 1)
    chosen = points[::step]
    faces: str | list[str] = GREY if labels is None else [colours[each] for each in labels[::step]]
    if len(chosen):
        ax.scatter(
            chosen[:, 0],
            chosen[:, 1],
            s=5.0,
            c=faces,
            alpha=0.35,
            linewidths=0.0,
            rasterized=len(chosen) > 1000,
            zorder=2.0,
        )


def _says(rule: "Rule") -> Hashable:
    """The class a rule finds most probable."""
    return max(rule.probabilities, key=rule.probabilities.__getitem__)


def _colours(rules: "Sequence[Rule]", labels: Iterable[Hashable] = ()) -> dict[Hashable, str]:
    """A colour for every class; if these are too many, for those that most rules say."""
    known = [each for rule in rules for each in rule.probabilities]
    classes = list(dict.fromkeys([*known, *labels]))
    if len(classes) > len(PALETTE):
        counts = collections.Counter(map(_says, rules))
        common = sorted(classes, key=lambda each: -counts[each])[: len(PALETTE) - 1]
        first = [each for each in classes if each in common]
        return dict.fromkeys(classes, GREY) | dict(zip(first, PALETTE, strict=False))
    return dict(zip(classes, PALETTE, strict=False))


def _name_classes(
    ax: Axes,
    rules: "Sequence[Rule]",
    colours: dict[Hashable, str],
    labels: Iterable[Hashable] = (),
) -> None:
    """A legend of the classes that rules say and rows have, and of what dashes mean."""
    seen = {*map(_says, rules), *labels}
    named = {each: colour for each, colour in colours.items() if each in seen and colour != GREY}
    handles = [
        Line2D([], [], color=colour, linewidth=1.5, label=_class_name(each))
        for each, colour in named.items()
    ]
    n_others = len(seen) - len(named)
    if n_others:
        others = "another class" if n_others == 1 else f"{n_others} other classes"
        handles.append(Line2D([], [], color=GREY, linewidth=1.5, label=others))
    if any(rule.is_archived for rule in rules):
        handles.append(Line2D([], [], color=INK, linewidth=1.0, linestyle="--", label="archived"))
    legend_above(ax, handles)


def _class_name(each: Hashable) -> str:
    """A class in a legend; a bare number would say nothing."""
    return label(each if isinstance(each, str) else f"class {each}")
