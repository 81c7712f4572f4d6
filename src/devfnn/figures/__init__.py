"""Figures of runs, comparisons, rules and explanations, for papers.

Every function takes plain data or objects of the package, draws on the axes `ax`, or on those of
a new figure if it is None, and returns them. InputError says what the data lack. Results are those
that `devfnn run --json` and `devfnn compare --json` write.
"""

from devfnn.figures.comparison import (
    accuracy_against_labels,
    accuracy_against_speed,
    critical_difference,
)
from devfnn.figures.rules import contribution_bars, membership_curves, rule_ellipses
from devfnn.figures.runs import (
    confusion_matrix,
    feature_mask,
    layers_at_work,
    layers_over_time,
    measure_over_time,
    rate_over_time,
    reliability_curve,
    rules_over_time,
    run_overview,
    training_samples_over_time,
    voting_weights,
)
from devfnn.figures.style import as_svg, save

__all__ = [
    "accuracy_against_labels",
    "accuracy_against_speed",
    "as_svg",
    "confusion_matrix",
    "contribution_bars",
    "critical_difference",
    "feature_mask",
    "layers_at_work",
    "layers_over_time",
    "measure_over_time",
    "membership_curves",
    "rate_over_time",
    "reliability_curve",
    "rule_ellipses",
    "rules_over_time",
    "run_overview",
    "save",
    "training_samples_over_time",
    "voting_weights",
]
