"""Rules over one feature or two, and contributions to a prediction."""

import collections
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon

from devfnn.arrays import Floats
from devfnn.errors import InputError
from devfnn.figures import style
from devfnn.figures.style import axes_or_new, label, legend_above, new_figure, styled
from devfnn.figures.timeline import Result
from devfnn.formatting import listed, named, percent, plural
from devfnn.model.explanation import Explanation
from devfnn.model.rules import Rule

MOST_POINTS = 4000
"""Rows that are drawn; of more, every second, third, ..."""

FEWEST_CURVES, MOST_CURVES = 2, 4
"""Features whose memberships are drawn."""

LEAST_CONTRAST = 0.05
"""Below this, the curves of all rules are almost the same."""

MOST_STEPS = 10
"""Inputs that have a bar of their own."""

LINE_HEIGHT, MARGINS = 0.24, 0.9
"""Inches that a bar takes, and all else."""

THICKNESS = 0.62
"""Share of its line that a bar fills."""


@styled
def membership_curves(rules: Sequence[Rule], feature: str, ax: Axes | None = None) -> Axes:
    """Membership of the values of one input in each rule, coloured by the class of the rule.

    Archived rules are dashed. Of lines and boxes, which hold for all values between their bounds,
    it shows where their rows are.
    """
    shown = _rules_with(rules, [feature])
    centers, spreads = _margins(shown, feature)
    low, high = _reach(centers, spreads)
    values = np.linspace(low, high, 600)
    colours = _colours(rules)
    ax = axes_or_new(ax, style.WIDTH, 2.8)
    for rule, center, spread in zip(shown, centers, spreads, strict=True):
        ax.plot(
            *_bell(values, center, spread),
            color=colours[_predicts(rule)],
            linewidth=1.0 if rule.is_archived else 1.4,
            linestyle="--" if rule.is_archived else "-",
            alpha=0.9 if len(shown) <= 30 else 0.5,
            label=f"rule {rule.rule} of layer {rule.layer}",
        )
    ax.set(xlim=(low, high), ylim=(0.0, 1.05), xlabel=label(feature, 60), ylabel="membership")
    ax.grid(axis="y", color=style.PALE, linewidth=0.5)
    _name_classes(ax, shown, colours)
    return ax


@styled
def membership_panels(rules: Sequence[Rule], features: Sequence[str]) -> Figure:
    """Memberships along several features, in panels below each other."""
    figure = new_figure(style.WIDTH, 2.6 * len(features))
    panels = figure.subplots(len(features), 1, squeeze=False)
    for panel, feature in zip(panels[:, 0], features, strict=True):
        membership_curves(rules, feature, ax=panel)
    return figure


@styled
def rule_ellipses(
    rules: Sequence[Rule],
    features: tuple[str, str],
    ax: Axes | None = None,
    X: Any = None,
    y: Any = None,
) -> Axes:
    """Where rules are on two features: one standard deviation, and faintly two.

    Archived rules are dashed. Of lines and boxes it shows where their rows are. `X` are rows to
    draw as points, with all features of the model or just the two; `y` are labels to colour them.
    """
    if len(features) != 2:
        raise InputError(f"ellipses need two features, not {features!r}: name one for each axis")
    shown = _rules_with(rules, features)
    points = _points(X, shown[0], features)
    labels = None if y is None else list(np.asarray(y).tolist())
    if labels is not None and len(labels) != len(points):
        raise InputError(f"{len(points)} rows and {len(labels)} labels: give one for each row")
    colours = _colours(rules, labels or [])
    ax = axes_or_new(ax, 5.6, 4.4)
    some = slice(None, None, -(-len(points) // MOST_POINTS) or 1)
    faces = style.GREY if labels is None else [colours[each] for each in labels[some]]
    if len(points):
        dots = ax.scatter(points[some, 0], points[some, 1], 5.0, faces, alpha=0.35, linewidths=0.0)
        dots.set(rasterized=len(points) > 1000, zorder=2.0)
    for rule in shown:
        _draw_rule(ax, rule, features, colours[_predicts(rule)])
    xlim, ylim = (_limits(shown, *each) for each in zip(features, points.T, strict=True))
    ax.set(xlim=xlim, ylim=ylim, xlabel=label(features[0], 50), ylabel=label(features[1], 50))
    _name_classes(ax, shown, colours, labels or ())
    return ax


def _rules_with(rules: Sequence[Rule], features: Sequence[str]) -> list[Rule]:
    """Rules that have these inputs."""
    if not len(rules):
        raise InputError("there are no rules to draw: let the model learn something first")
    known = list(dict.fromkeys(name for rule in rules for name in rule.inputs))
    for feature in features:
        if feature not in known:
            raise InputError(f"the rules have no input {feature!r}, but {listed(known, 20)}")
    shown = [rule for rule in rules if set(features) <= set(rule.inputs)]
    if not shown:
        raise InputError(f"no rule has both {' and '.join(features)} among its inputs")
    return shown


def _margins(rules: Sequence[Rule], feature: str) -> tuple[Floats, Floats]:
    """Centres and standard deviations of rules on one input."""
    pairs = [(rule, rule.inputs.index(feature)) for rule in rules]
    centers = np.array([float(rule.center[place]) for rule, place in pairs])
    variances = np.array([float(rule.covariance[place][place]) for rule, place in pairs])
    return centers, np.sqrt(np.maximum(variances, 0.0))


def _reach(centers: Floats, spreads: Floats, steps: float = 3.2) -> tuple[float, float]:
    """Limits of the axis; a single very wide rule does not make all others narrow."""
    usual = float(np.median(spreads))
    widths = steps * (np.minimum(spreads, 3.0 * usual) if usual > 0.0 else spreads)
    low, high = float((centers - widths).min()), float((centers + widths).max())
    if low < high:
        return low, high
    around = max(abs(low), 1.0) * 0.05
    return low - around, high + around


def _limits(rules: Sequence[Rule], feature: str, values: Floats) -> tuple[float, float]:
    """Limits of an axis with all rules and rows."""
    ends = [*_reach(*_margins(rules, feature), steps=2.1), *values[np.isfinite(values)]]
    room = 0.03 * (max(ends) - min(ends))
    return min(ends) - room, max(ends) + room


def _bell(values: Floats, center: float, spread: float) -> tuple[Floats, Floats]:
    """A Gaussian membership; a vertical line if the rule has no width."""
    if spread <= 0.0:
        return np.array([center, center]), np.array([0.0, 1.0])
    own = center + spread * np.linspace(-4.0, 4.0, 161)
    everywhere = np.sort(np.concatenate([values, own]))
    return everywhere, np.exp(-0.5 * ((everywhere - center) / spread) ** 2)


def _draw_rule(ax: Axes, rule: Rule, features: tuple[str, str], colour: str) -> None:
    """The ellipses of a rule, and its centre."""
    places = [rule.inputs.index(feature) for feature in features]
    center = np.asarray(rule.center, np.float64)[places]
    outline = _outline(np.asarray(rule.covariance, np.float64)[np.ix_(places, places)])
    for steps, width, strength in ((2.0, 0.8, 0.3), (1.0, 1.5, 1.0)):
        ellipse = Polygon(center + steps * outline, fill=False, edgecolor=colour, zorder=3.0)
        ellipse.set(linestyle="--" if rule.is_archived else "-", linewidth=width, alpha=strength)
        ax.add_patch(ellipse)
    ax.plot(*center, marker="+", markersize=5.0, color=colour, zorder=3.5)


def _outline(covariance: Floats) -> Floats:
    """Points one standard deviation around 0.

    By correlation and not by eigenvectors: the units of features may differ by many magnitudes.
    """
    angles = np.linspace(0.0, 2.0 * np.pi, 97)
    spreads = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    product = spreads[0] * spreads[1]
    correlation = float(np.clip(covariance[0, 1] / product, -1.0, 1.0)) if product > 0.0 else 0.0
    second = correlation * np.cos(angles) + np.sqrt(1.0 - correlation**2) * np.sin(angles)
    return np.column_stack([spreads[0] * np.cos(angles), spreads[1] * second])


def _points(X: Any, rule: Rule, features: tuple[str, str]) -> Floats:
    """The two columns of the rows, (n_rows, 2)."""
    rows = np.zeros((0, 2)) if X is None else np.asarray(X, np.float64)
    places = [rule.inputs.index(feature) for feature in features]
    if rows.ndim == 2 and rows.shape[1] == rule.n_features > max(places):
        return rows[:, places]
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise InputError(
            f"rows of shape {rows.shape} do not fit: give all {rule.n_features} features "
            f"of the model, or the two columns {' and '.join(features)}"
        )
    return rows


def _predicts(rule: Rule) -> Hashable:
    """The most probable class of a rule."""
    return max(rule.probabilities, key=rule.probabilities.__getitem__)


def _colours(rules: Sequence[Rule], labels: Iterable[Hashable] = ()) -> dict[Hashable, str]:
    """A colour for every class; if these are too many, for those that most rules predict."""
    known = (each for rule in rules for each in rule.probabilities)
    coloured = classes = list(dict.fromkeys([*known, *labels]))
    if len(classes) > len(style.PALETTE):
        counts = collections.Counter(map(_predicts, rules))
        common = sorted(classes, key=lambda each: -counts[each])[: len(style.PALETTE) - 1]
        coloured = [each for each in classes if each in common]
    return dict.fromkeys(classes, style.GREY) | dict(zip(coloured, style.PALETTE, strict=False))


def _name_classes(
    ax: Axes, rules: Sequence[Rule], colours: dict[Hashable, str], labels: Iterable[Hashable] = ()
) -> None:
    """A legend of the classes of rules and rows, and of dashed lines."""
    seen = {*map(_predicts, rules), *labels}
    lines: list[tuple[str, str, Any]] = [
        (label(named(each)), colour, "-")
        for each, colour in colours.items()
        if each in seen and colour != style.GREY
    ]
    if n_others := len(seen) - len(lines):
        others = "another class" if n_others == 1 else f"{n_others} other classes"
        lines.append((others, style.GREY, "-"))
    if any(rule.is_archived for rule in rules):
        lines.append(("archived", style.INK, "--"))
    handles = [
        Line2D([], [], color=colour, linestyle=dashes, linewidth=1.5, label=name)
        for name, colour, dashes in lines
    ]
    legend_above(ax, handles)


# ---- which rules and features to draw


def rules_of(result: Result) -> list[Rule]:
    """The rules that the model had at the end of a run."""
    if not result.get("rules"):
        raise InputError("the result has no rules: its model has none, or they were not kept")
    return [Rule.from_dict(data) for data in result["rules"]]


def rules_to_draw(rules: Sequence[Rule]) -> list[Rule]:
    """The active rules of the layer with the largest vote, if possible one with several rules."""
    active = [rule for rule in rules if not rule.is_archived]
    if not active:
        raise InputError("all rules of the result are archived")
    sizes = collections.Counter(rule.layer for rule in active)
    best = max(active, key=lambda rule: (sizes[rule.layer] > 1, rule.voting_weight, -rule.layer))
    return [rule for rule in active if rule.layer == best.layer]


def features_by_contrast(rules: Sequence[Rule], result: Result) -> list[str]:
    """Features of the rules: the most used first, among equals those that separate rules best.

    A feature separates rules whose centres are further apart than their spreads.
    """
    names = list(dict.fromkeys(name for rule in rules for name in rule.inputs[: rule.n_features]))
    masks = [mask for mask in result["per_chunk"].get("feature_mask") or [] if mask]
    sums = [sum(column) for column in zip(*masks, strict=True)]
    used = dict(zip(result.get("feature_names") or [], sums, strict=False))
    return sorted(names, key=lambda name: (-used.get(name, len(masks)), -_contrast(rules, name)))


def features_to_draw(rules: Sequence[Rule], names: Sequence[str]) -> list[str]:
    """The first of the features, as long as their curves differ."""
    return [
        name
        for place, name in enumerate(names[:MOST_CURVES])
        if place < FEWEST_CURVES or _contrast(rules, name) >= LEAST_CONTRAST
    ]


def _contrast(rules: Sequence[Rule], name: str) -> float:
    """Variance of the centres of rules over their own mean variance."""
    having = [rule for rule in rules if name in rule.inputs[: rule.n_features]]
    centers, spreads = _margins(having, name)
    weights = np.maximum([rule.n_rows for rule in having], 1.0)
    middle = np.average(centers, weights=weights)
    between = float(weights @ (centers - middle) ** 2)
    return between / max(float(weights @ spreads**2), 1e-300)


# ---- what each feature adds to the score of a class


@styled
def contribution_bars(explanation: Explanation, ax: Axes | None = None) -> Axes:
    """The score of the predicted class in steps: the usual one, what each feature adds, the sum.

    The inputs that add most have bars of their own, the others share one.
    """
    names, added = _steps(explanation)
    stops = np.cumsum(added)
    if not np.isfinite(stops).all():
        raise InputError("the explanation has numbers that are not finite: it cannot be drawn")
    colours = [style.BLUE if width > 0.0 else style.RED for width in added[1:]]
    legend = [
        Patch(color=colour, label=name)
        for colour, name in ((style.BLUE, "raises it"), (style.RED, "lowers it"))
        if colour in colours
    ]
    names, colours = ["usually", *names, "together"], [style.GREY, *colours, style.INK]
    starts, stops = np.array([0.0, *stops[:-1], 0.0]), np.append(stops, stops[-1])
    low, high = min(*starts, *stops), max(*starts, *stops)
    reach = high - low or 1.0
    ax = axes_or_new(ax, style.WIDTH, MARGINS + LINE_HEIGHT * len(names))
    ax.barh(range(len(names)), stops - starts, THICKNESS, starts, color=colours, zorder=3.0)
    for place, width in enumerate(stops - starts):
        is_right = width >= 0.0
        ax.text(
            stops[place] + (0.012 if is_right else -0.012) * reach,
            place,
            f"{width:+.2f}".replace("-", "\N{MINUS SIGN}"),
            ha="left" if is_right else "right",
            va="center",
            fontsize=style.SMALL,
            fontweight="bold" if place == len(names) - 1 else "normal",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
            zorder=2.5,
        )
    # Thin lines lead from the end of a bar to the next.
    places = np.arange(len(names) - 1)
    gap = (places + THICKNESS / 2.0, places + 1.0 - THICKNESS / 2.0)
    ax.vlines(stops[:-1], *gap, colors=style.GREY, linewidth=0.7, zorder=2.0)
    ax.axvline(0.0, color=style.INK, linewidth=0.8, zorder=1.5)
    room = 0.15 * reach  # for numbers
    ax.set(xlim=(low - room, high + room), ylim=(len(names) - 0.4, -0.6))
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(axis="y", length=0.0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x", color=style.PALE, linewidth=0.5)
    ax.set_xlabel(_axis_label(explanation))
    if legend:
        legend_above(ax, legend)
    return ax


def _steps(explanation: Explanation) -> tuple[list[str], list[float]]:
    """Names of inputs, and what is usual and what each input adds, the others together."""
    added = {name: value for name, value in explanation.contributions().items() if value}
    values = dict(zip(explanation.features, explanation.values.tolist(), strict=True))
    shown, others = list(added)[:MOST_STEPS], list(added)[MOST_STEPS:]
    # Outputs of other layers have no value.
    names = [f"{label(key)} = {values[key]:.4g}" if key in values else label(key) for key in shown]
    steps = [explanation.usually(), *(added[name] for name in shown)]
    if others:
        names.append(plural(len(others), "other"))
        steps.append(sum(added[name] for name in others))
    return names, steps


def _axis_label(explanation: Explanation) -> str:
    """What the numbers are."""
    place, labels = explanation.place_of(), explanation.labels
    kinds = {layer.output_is for layer in explanation.layers}
    what = "score" if kinds == {"scores"} else "log odds"
    others = "" if len(labels) < 2 else ", against the other classes"
    if len(labels) == 2:
        others = f", against {label(named(labels[1 - place]))}"
    share = percent(float(explanation.probabilities[place]), 0)
    return f"{what} of {label(named(labels[place]))}{others} (probability {share})"
