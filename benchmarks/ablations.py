"""Every mechanism switched off in turn, and other ways to do things: changes of the default."""

from typing import Any

ABLATIONS: dict[str, dict[str, Any]] = {
    "growing off": {"growing": False},
    "merging off": {"merging": False},
    "feature mask on": {"feature_mask": True},
    "active learning off": {"active_learning": False},
    "rule growing off": {"rule_growing": False},
    "pruning off": {"pruning": False},
    "crossings off": {"crossings": False},
    "recall off": {"recall": False},
    "forgetting off": {"forgetting": False},
    "clouds off": {"max_clouds": 0},
    "prior reach off": {"prior_reach": 1.0},
    "label noise off": {"label_noise": 0.0},
    "votes equal": {"vote_power": 0.0},
    "stacked layers": {"network": "stacked"},
}
