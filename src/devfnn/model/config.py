"""Every parameter of the model, once: its range, its meaning and its symbol in the paper.

A configuration is nested: the list of layers, then a section for every kind of layer and every
mechanism. A section of something that the network does not have is None, and setting one of its
parameters is refused; so is any value but the default of a parameter that cannot act. Mechanisms
with several forms have a class for each form.
"""

import dataclasses
import math
from collections.abc import Container, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from devfnn.errors import InputError, shown
from devfnn.model.layers import KIND_MODULES, KINDS
from devfnn.model.names import check_room, check_text, label_size, plain_label
from devfnn.parameters import Section, check_names, check_parameters, choice, number

# ---- layers


@dataclasses.dataclass(frozen=True)
class Layer(Section):
    """One layer of the network.

    >>> Layer("line", memory=300.0).name
    'line'
    """

    kind: str = dataclasses.field(default="line")
    """What it is: a kind of layer, as the modules of `model/layers` name them."""
    name: str = dataclasses.field(default="", kw_only=True)
    """What it is called in explanations; its kind if not given."""
    memory: float = number(0.0, 0.0, 1e12, "rows that it rests on; 0: the adaptive memory")
    memory_share: float = number(1.0, 1e-3, 1.0, "of the adaptive memory")
    label_noise: float = number(0.0, 0.0, 0.9, "share of labels that it expects to be wrong")
    inputs: Literal["features", "settled", "all", "vote", "both"] | tuple[int, ...] = choice(
        "features",
        "gaussian: features; also outputs of settled layers before it, of all, or of "
        "these; stacked: outputs of all layers below, their vote, or both",
    )
    single_rule: bool = choice(False, "a gaussian layer that never has a second rule")
    trees: int = number(20, 1, 10**4, "trees that a boosted layer grows in a step")
    max_trees: int = number(400, 1, 10**5, "trees of a boosted layer, of which the oldest go")
    rate: float = number(0.1, 1e-3, 1.0, "share of what is left that a tree takes on")
    tree_memory: float = number(0.95, 0.0, 1.0, "share of a tree kept per step")
    ridge: float = number(5.0, 1e-6, 1e9, "pull of a stacked layer towards its first weights")

    def __post_init__(self) -> None:
        if isinstance(self.inputs, list) and all(isinstance(each, int) for each in self.inputs):
            object.__setattr__(self, "inputs", tuple(self.inputs))
        super().__post_init__()
        if not isinstance(self.name, str):
            raise InputError(f"the name of a layer must be a text, not {shown(self.name)}")
        check_text(self.name, "the name of a layer")
        object.__setattr__(self, "name", self.name or self.kind)
        if self.kind not in KINDS:
            raise InputError(f"a layer is one of {', '.join(KINDS)}, not {shown(self.kind)}")
        own = next(module.TAKES for module in KIND_MODULES if self.kind in module.KINDS)
        has = f"has {', '.join(sorted(own))}" if own else f"is set in the section {self.kind!r}"
        for field in dataclasses.fields(self)[2:]:
            if getattr(self, field.name) != field.default and field.name not in own:
                raise InputError(f"a layer of {self.kind} has no {field.name!r}: it {has}")
        if self.memory and self.memory_share < 1.0:
            raise InputError("memory_share is a share of the adaptive memory; set memory=0")
        if 0.0 < self.memory < 2.0:
            raise InputError(f"memory must be 0 or at least 2 rows, not {self.memory:g}")


SWIFT_LAYERS = (
    Layer("line", name="quick line", memory=300.0),
    Layer("line", name="brisk line", memory_share=0.25, label_noise=0.1),
    Layer("line", name="steady line", label_noise=0.1),
    Layer("curve", name="lively curve", memory=2000.0),
    Layer("curve", name="calm curve", memory=20000.0),
    Layer("boxes"),
    Layer("clouds"),
)
"""The layers of `swift`: from simple to complex, of short and long memory."""

DEFAULT_LAYERS = (
    *SWIFT_LAYERS,
    Layer("line", name="flash line", memory=60.0),
    Layer("line", name="endless line", memory=1e12),
    Layer("prior"),
    Layer("boosted", name="long trees", memory=5000.0, trees=10, max_trees=200, rate=0.2),
    Layer(
        "boosted",
        name="short trees",
        memory=1500.0,
        trees=6,
        max_trees=60,
        rate=0.3,
        tree_memory=0.8,
    ),
    Layer("neighbours"),
    Layer("surface"),
    Layer("stacked", name="calibration", inputs="vote", ridge=20.0),
    Layer("stacked", name="stack", inputs="all", ridge=5.0),
    Layer("stacked", name="correction", inputs="both", ridge=20.0),
)
"""The layers of the default: those of `swift`, some fitted to a window, and a stack on top."""

# ---- mechanisms


@dataclasses.dataclass(frozen=True, kw_only=True)
class Labels(Section):
    """Which rows are learned."""

    idle: ClassVar = {("choice", "all"): "certainty exploration", ("budget", 1): "window"}
    choice: Literal["vote", "layer", "all"] = choice(
        "vote", "the network learns rows it is unsure of; every layer those of its own; or all rows"
    )
    certainty: float = number(0.99, 0.0, 1.0, "certainty below which to learn a row", "k_prune")
    exploration: float = number(0.1, 0.0, 1.0, "share of rows learned whatever the certainty")
    budget: float = number(1.0, 0.0, 1.0, "most labels per row over any window; 1 is off")
    window: int = number(100, 1, 10**7, "rows over which the budget is never exceeded")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget > 0.0 and self.budget * self.window < 1.0 - 1e-9:
            enough = math.ceil(1.0 / self.budget)
            raise InputError(
                f"a budget of {self.budget:g} in a window of {self.window} rows is less than one "
                f"label; a window of {enough} rows has room for one"
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ByAccuracy(Section):
    """Voting weights by how many rows a layer had right of late."""

    form = "accuracy"
    rows: float = number(1000.0, 1.0, 1e9, "rows over which right predictions are counted")
    power: float = number(0.15, 0.0, 100.0, "log odds for every row more that was right")
    rows_per_weight: float = number(10.0, 0.0, 1e6, "independent rows kept per weight of a curve")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Weighted(Section):
    """What voting weights that are state have in common."""

    ballots: Literal["soft", "hard"] = choice("soft", "vote with probabilities, or for a class")
    newborn_weight: float = number(1.0, 1e-6, 1.0, "voting weight of a new layer", "χ")
    reset_winner: bool = choice(False, "give a trained layer its first weight and decay again")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ByLikelihood(Weighted):
    """Voting weights by the fading likelihood of the labels."""

    form = "likelihood"
    memory: float = number(0.9995, 0.0, 1.0, "share of the likelihood kept per row")
    sharpness: float = number(0.03, 0.0, 10.0, "power of the likelihood of one row")
    floor: float = number(1e-6, 1e-300, 0.1, "least voting weight of a live layer")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ByReward(Weighted):
    """Voting weights by reward and punishment (paper: Adaptation of Voting Weight)."""

    form = "reward"
    step: float = number(0.01, 0.0, 1.0, "step of the decay factor", "π")
    decay: float = number(1.0, 0.0, 1.0, "decay factor of a new layer", "ρ")
    floor: float = number(1e-6, 1e-300, 0.1, "least voting weight of a live layer")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Equal(Weighted):
    """Every layer has the same weight."""

    form = "equal"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Drift(Section):
    """The test on the errors of the network (paper: Hidden Layer Growing Mechanism)."""

    test: Literal["stream", "chunk"] = choice("stream", "over the stream, or as printed in a chunk")
    significance: float = number(1e-4, 1e-300, 0.5, "level of a drift, or its cap", "α_D")
    warning: float | None = number(None, 1e-300, 0.5, "cap of the warning level; None: none", "α_W")
    horizon: float | None = number(None, 1e-9, 1e12, "chunks in which levels rise, or None", "T")
    one_sided: bool = choice(True, "only a rising error rate is drift")
    repeats: bool = choice(True, "let rows count less where labels come in runs")
    every: int = number(50, 1, 10**7, "learned rows between two tests in row-wise learning")


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeepLayers(Section):
    """After a drift the best layer is kept for later, and adaptive ones start anew."""

    form = "keep"
    max_kept: int = number(5, 0, 50, "layers kept for concepts that may return")


@dataclasses.dataclass(frozen=True, kw_only=True)
class AddLayers(Section):
    """After a drift a layer is added on top (paper: Hidden Layer Growing Mechanism)."""

    form = "add"
    idle: ClassVar = {("newborn", "scratch"): "newborn_doubt"}
    max_layers: int = number(6, 1, 50, "layers at most, merged ones included")
    inputs: Literal["features", "settled", "all"] = choice(
        "settled", "what a new layer takes in besides features, as of Layer"
    )
    newborn: Literal["winner", "scratch"] = choice("winner", "as a copy of the winner, or anew")
    newborn_doubt: float = number(5.0, 1.0, 1e6, "factor on the gain that a copy inherits")
    buffer_rows: int = number(5000, 0, 10**7, "rows kept in the warning phase")
    train_on_warning: bool = choice(True, "train on chunks of the warning phase too")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ByDisagreement(Section):
    """Kept layers that say the same are merged."""

    form = "disagreement"
    share: float = number(0.01, 0.0, 1.0, "share of rows on which two layers differ, at most")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ByCompression(Section):
    """Layers whose outputs vary together are merged (paper: Hidden Layer Merging Mechanism)."""

    form = "compression"
    threshold: float = number(0.001, 0.0, 1.0, "compression index below which layers merge", "δ2")
    memory: float = number(0.95, 0.0, 1.0, "share of the statistics kept per chunk")


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeatureMask(Section):
    """Features that say nothing are left out (paper: Online Feature Weighting Mechanism)."""

    score: Literal["standardised", "variance"] = choice(
        "standardised", "compression index of unit-variance inputs, or as printed"
    )
    threshold: float = number(0.99, 0.0, 1.0, "score from which a feature is off", "δ1")
    memory: float = number(0.95, 0.0, 1.0, "share of the statistics kept per chunk")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Resting(Section):
    """Dear layers that are not worth their cost rest, and show themselves now and then.

    With stacked layers it is their answers that must be better for it (`worth`); without, it must
    have a `share` of the vote.
    """

    worth: float = number(
        6e-3,
        0.0,
        1e3,
        "log-loss and hits per row that answers gain by a layer that costs ten curves",
    )
    worth_rows: float = number(2000.0, 1.0, 1e9, "rows over which that is measured")
    doubt: float = number(
        2.0, 0.0, 10.0, "standard errors by which a worth must be too small before a layer rests"
    )
    trial_rows: int = number(
        500, 1, 10**9, "independent rows that count in a trial; in the first four times as many"
    )
    share: float = number(1e-3, 0.0, 1.0, "of the vote, below which a layer rests")
    grace_rows: int = number(10000, 0, 10**9, "rows scored after a drift before it may rest")
    steps: int = number(
        4, 1, 10**6, "structural steps that it rests; below a stack doubled each time, from 16 on"
    )
    max_steps: int = number(64, 1, 10**6, "steps that it rests at most")


MOST_LAYERS = 100
"""Layers of a configuration; kept and added ones come on top."""

DEAR_KINDS = ("clouds", "boosted", "neighbours", "surface")
"""Kinds of layers that may rest: those that may cost more than all others together."""

# ---- all of it

LEAST_CLASS_WEIGHT, LARGEST_CLASS_WEIGHT = 1e-6, 1e6
"""Bounds of the weight of a class; rows of a class that is not to be learned can be left out."""

_AUTO: Any = type("_Auto", (), {"__repr__": lambda self: "as the layers need it"})()
"""The section that the layers need, or None."""

_OF_KINDS = {name: about for module in KIND_MODULES for name, about in module.SECTIONS.items()}

SECTIONS: dict[str, tuple[type[Section], ...]] = {
    **{name: (kind,) for name, (kind, _, _) in _OF_KINDS.items()},
    "labels": (Labels,),
    "voting": (ByAccuracy, ByReward, ByLikelihood, Equal),
    "drift": (Drift,),
    "growing": (KeepLayers, AddLayers),
    "merging": (ByDisagreement, ByCompression),
    "resting": (Resting,),
    "feature_mask": (FeatureMask,),
}
"""Sections by name, with the class of every form."""

NEEDED_BY = {name: kinds for name, (_, kinds, _) in _OF_KINDS.items()} | {"resting": DEAR_KINDS}
"""Kinds of layers that a section belongs to."""

_ESSENTIAL = tuple(name for name, (_, _, is_essential) in _OF_KINDS.items() if is_essential)
"""Sections without which their layers cannot be."""

_SectionsOfKinds = dataclasses.make_dataclass(
    "_SectionsOfKinds",
    [(name, Any, dataclasses.field(default=_AUTO)) for name in _OF_KINDS],
    frozen=True,
    kw_only=True,
)
"""A field for every section of a kind of layer, so that a new kind needs no change here."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(_SectionsOfKinds):  # type: ignore[misc, valid-type]
    """All parameters of DEVFNN. The defaults are one configuration for all streams.

    >>> Config().replace(drift__significance=1e-6).drift.significance
    1e-06
    >>> Config().replace(gaussian__vigilance=0.5)
    Traceback (most recent call last):
    ...
    devfnn.errors.InputError: the network has no gaussian; add Layer("gaussian") to layers
    >>> Config(voting=ByReward(step=2.0))
    Traceback (most recent call last):
    ...
    devfnn.errors.InputError: step must be between 0 and 1, not 2.0
    """

    layers: tuple[Layer, ...] = DEFAULT_LAYERS
    training: Literal["leader", "configured", "all"] = choice(
        "configured", "layers that learn: the one that leads; these and the configured; all"
    )
    chunk_rows: int = number(500, 2, 10**7, "rows between structural steps in row-wise learning")
    scaling: Literal["online", "none"] = choice(
        "online", "scale inside the model without look-ahead, or expect inputs in [0, 1]"
    )
    missing: Literal["error", "skip"] = choice("error", "refuse NaN, or leave the feature out")
    lags: int = number(0, 0, 100, "last labels that are inputs too; for labels that persist")
    seed: int = number(0, 0, 2**63 - 1, "seed of the exploration share")
    class_weights: Literal["balanced"] | tuple[tuple[Hashable, float], ...] | None = choice(
        None, "weight of the rows of a class: by label, or so that all classes weigh the same"
    )
    labels: Labels = Labels()
    voting: ByAccuracy | ByReward | ByLikelihood | Equal = ByAccuracy()
    drift: Drift | None = Drift()
    growing: KeepLayers | AddLayers | None = KeepLayers()
    merging: ByDisagreement | ByCompression | None = ByDisagreement()
    feature_mask: FeatureMask | None = None
    resting: Resting | None = _AUTO

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Sections of kinds of layers."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "class_weights", _class_weights(self.class_weights))
        check_parameters(self)
        self._fit_sections()
        _check_together(self)
        _settle_idle(self, SECTIONS)

    def _fit_sections(self) -> None:
        """Make the sections that the layers need; refuse what is no section of theirs."""
        object.__setattr__(self, "layers", tuple(self.layers))
        if not self.layers or not all(isinstance(layer, Layer) for layer in self.layers):
            raise InputError("layers must be one or more of Layer")
        _check_count(self.layers)
        for name, kinds in SECTIONS.items():
            needs = NEEDED_BY.get(name, ())
            is_needed = not needs or self.has(*needs)
            if getattr(self, name) is _AUTO:
                object.__setattr__(self, name, kinds[0]() if is_needed else None)
            section = getattr(self, name)
            may_lack = not is_needed or name not in ("labels", "voting", *_ESSENTIAL)
            if not (isinstance(section, kinds) or (section is None and may_lack)):
                raise InputError(f"{name} must be one of {_names(kinds)}, not {shown(section)}")
            if section is not None and not is_needed:
                raise InputError(
                    f"{name} is set, but the network has no such layer; add {_any_of(needs)} to "
                    f"layers, or leave {name} out"
                )

    # ---- what follows from it

    @property
    def balances(self) -> bool:
        """Whether rows are weighted such that all classes weigh the same."""
        return bool(self.class_weights == "balanced")

    @property
    def weight_of(self) -> dict[Hashable, float]:
        """Weights of classes by label, as far as they are given; none if they are balanced."""
        return dict(self.class_weights) if isinstance(self.class_weights, tuple) else {}

    def has(self, *kinds: str) -> bool:
        """Whether the network has a layer of one of these kinds from the start."""
        return any(layer.kind in kinds for layer in self.layers)

    def n_always(self, n_layers: int) -> int:
        """How many layers, the first ones, learn whether they lead or not."""
        return {"leader": 0, "configured": len(self.layers), "all": n_layers}[self.training]

    @property
    def lasting(self) -> list[int]:
        """Layers of the whole adaptive memory, which are kept after a drift."""
        own = enumerate(self.layers)
        lasts = [not (layer.memory or layer.memory_share < 1.0) for layer in self.layers]
        return [place for place, layer in own if layer.kind in NEEDED_BY["memory"] and lasts[place]]

    @property
    def is_budgeted(self) -> bool:
        """Whether the model may take only a share of the labels."""
        return bool(self.labels.budget < 1.0)

    # ---- other configurations

    def replace(self, **changes: Any) -> "Config":
        """A copy with some parameters changed.

        Parameters
        ----------
        changes
            Parameters, and sections: an object, a dictionary of its parameters, or None to do
            without; None for a kind of layer leaves out its layers. SECTION__PARAMETER changes one
            parameter of a section, layers__PARAMETER that of all layers which have it set.
            Parameters that can no longer act go back to their default.

        Examples
        --------
        >>> Config().replace(labels__budget=0.1, clouds__max_rules=50).labels.budget
        0.1
        >>> len(Config().layers) - len(Config().replace(clouds=None).layers)
        1
        """
        whole = {name: value for name, value in changes.items() if "__" not in name}
        check_names(self, whole)
        gone = [name for name in _ESSENTIAL if name in whole and whole[name] is None]
        whole = {name: _as_section(name, whole[name]) for name in whole if name not in gone}
        if gone or "layers" in whole:
            layers = whole.get("layers", self.layers)
            kinds_gone = {kind for name in gone for kind in NEEDED_BY[name]}
            whole["layers"] = tuple(layer for layer in layers if layer.kind not in kinds_gone)
            kinds = {layer.kind for layer in whole["layers"]}
            come_or_go = (n for n, by in NEEDED_BY.items() if self.has(*by) == kinds.isdisjoint(by))
            whole = dict.fromkeys(come_or_go, _AUTO) | whole
        return _made(self.__dict__ | whole, changes)

    def _changed(self, name: str, values: dict[str, Any]) -> Any:
        """A section with other values; says where a parameter belongs that it does not have."""
        if name == "layers":
            check_names(Layer, values)
            return tuple(_layer_with(layer, values) for layer in self.layers)
        if name not in SECTIONS:
            raise InputError(f"no section is called {name!r}; there are {', '.join(SECTIONS)}")
        section, needs = getattr(self, name), NEEDED_BY.get(name, ())
        if section is None:
            instead = f"set {name}={_names(SECTIONS[name])}"
            if needs and not self.has(*needs):
                instead = f"add {_any_of(needs)} to layers"
            raise InputError(f"the network has no {name}; {instead}")
        for each in values:
            if not any(each == field.name for field in dataclasses.fields(section)):
                raise InputError(_where(name, section, each))
        return dataclasses.replace(section, **values)

    def with_layer(self, name: str, **changes: Any) -> "Config":
        """A copy in which the layer of this name has other parameters.

        >>> Config().with_layer("quick line", memory=50.0).layers[0].memory
        50.0
        """
        names = [layer.name for layer in self.layers]
        if name not in names:
            raise InputError(f"no layer is called {name!r}; there are {', '.join(names)}")
        check_names(Layer, changes)
        layers = [
            dataclasses.replace(layer, **changes) if layer.name == name else layer
            for layer in self.layers
        ]
        return self.replace(layers=tuple(layers))

    # ---- plain data

    def to_dict(self) -> dict[str, Any]:
        """All parameters as plain data; a mechanism of several forms says which one it has.

        Sections of kinds of layers that the network does not have are left out.
        """
        return {
            field.name: plain_value(field, getattr(self, field.name))
            for field in dataclasses.fields(self)
            if field.name not in NEEDED_BY or self.has(*NEEDED_BY[field.name])
        }

    def changes(self, start: "Config | None" = None) -> dict[str, Any]:
        """What `replace` makes this of `start` with, as plain data; the default if not given.

        >>> Config().replace(labels__budget=0.1, memory=None).changes()
        {'memory': None, 'labels__budget': 0.1}
        """
        found: dict[str, Any] = {}
        before = (start or Config()).to_dict()
        for name, value in self.to_dict().items():
            usual = before.get(name)
            if isinstance(value, dict) and usual and value.get("form") == usual.get("form"):
                changed = [key for key in value if value[key] != usual[key]]
                found |= {f"{name}__{key}": value[key] for key in changed}
            elif value != usual:
                found[name] = value
        return found

    @staticmethod
    def from_dict(data: Any) -> "Config":
        """What `to_dict` gave; parameters that cannot act are reset silently. Raises InputError."""
        if not isinstance(data, dict) or not isinstance(data.get("layers"), list):
            raise InputError("a configuration is an object with a list of layers")
        check_names(Config, data)
        _check_count(data["layers"])
        return _made({name: _as_section(name, value) for name, value in data.items()}, {})


def _check_count(layers: Sequence[Any]) -> None:
    """Refuse lists of layers without end."""
    if len(layers) > MOST_LAYERS:
        raise InputError(f"{len(layers):,} layers; a network has at most {MOST_LAYERS}")


def _made(values: dict[str, Any], changes: dict[str, Any]) -> Config:
    """A configuration of these values and changes of parameters."""
    draft = object.__new__(Config)  # checked when all changes are in it
    draft.__dict__.update(values)
    draft._fit_sections()
    inner: dict[str, dict[str, Any]] = {}
    for path, value in changes.items():
        section, is_inner, name = path.partition("__")
        if is_inner:
            inner.setdefault(section, {})[name] = value
    draft.__dict__.update({name: draft._changed(name, own) for name, own in inner.items()})
    _settle_idle(draft, changes)
    return dataclasses.replace(draft)


def _class_weights(given: Any) -> Any:
    """Class weights as pairs of label and weight; raises InputError."""
    if given is None or (isinstance(given, str) and given == "balanced"):
        return given
    pairs = list(given.items()) if isinstance(given, Mapping) else given
    try:
        found = {_plain(label): _plain(weight) for label, weight in pairs}
        is_sound = 0 < len(found) == len(pairs) and not isinstance(given, str)
    except (TypeError, ValueError):
        is_sound = False
    if not is_sound:
        forms = "'balanced', None and '{label: weight}'"
        raise InputError(f"class_weights must be one of {forms}, not {shown(given)}")
    for label, weight in found.items():
        _check_weighted(label)
        is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not is_number or not LEAST_CLASS_WEIGHT <= weight <= LARGEST_CLASS_WEIGHT:
            between = f"{LEAST_CLASS_WEIGHT:g} and {LARGEST_CLASS_WEIGHT:g}"
            raise InputError(
                f"the weight of class {label!r} must be between {between}, not {shown(weight)}"
            )
    pairs = tuple((plain_label(label, 0), float(weight)) for label, weight in found.items())
    check_room(sum(label_size(label) for label, _ in pairs), "labels of class_weights")
    return pairs


def _check_weighted(label: Any) -> None:
    """Refuse labels that JSON does not know, and those that no model has."""
    is_finite = isinstance(label, str | int) or (isinstance(label, float) and math.isfinite(label))
    try:
        is_sound = is_finite and plain_label(label, 0) == label
    except InputError:
        is_sound = False
    if not is_sound:
        raise InputError(f"class_weights are for text or numbers as labels, not {shown(label)}")


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python; other values as they are."""
    return value.item() if hasattr(value, "item") else value


def _names(kinds: tuple[type[Section], ...]) -> str:
    return ", ".join(kind.__name__ for kind in kinds)


def _any_of(kinds: tuple[str, ...]) -> str:
    return " or ".join(f'Layer("{kind}")' for kind in kinds)


def _check_together(config: Config) -> None:
    """Refuse mechanisms that do not go together, and say what to set instead."""
    growing, drift = config.growing, config.drift
    grows, tests, count = growing is not None, drift is not None, len(config.layers)
    adds, keeps = isinstance(growing, AddLayers), isinstance(growing, KeepLayers)
    most, may_keep = getattr(growing, "max_layers", count), bool(config.lasting)
    scores = isinstance(config.voting, ByAccuracy)
    kinds = [layer.kind for layer in config.layers]
    n_ruled = sum(kind in NEEDED_BY["rules"] for kind in kinds)
    n_rules = config.rules.max_rules if config.rules is not None else n_ruled
    stacks, has_others = "gaussian" in kinds, set(kinds) != {"gaussian"}
    is_own, is_alone = (
        config.labels.choice == "layer",
        not has_others and config.labels.choice == "vote",
    )
    plain = ("stream", None, None, True)
    is_plain = not drift or (drift.test, drift.warning, drift.horizon, drift.one_sided) == plain
    is_lost = isinstance(config.merging, ByDisagreement) and not keeps
    is_uneven = isinstance(config.merging, ByCompression) and config.resting is not None
    problems = {
        "without growing nothing follows from a drift; set drift=None too": tests and not grows,
        "growing needs a drift test; set drift=Drift(), or growing=None": grows and not tests,
        "AddLayers adds gaussian layers; have one, or use KeepLayers()": adds and not stacks,
        f"growing.max_layers must be at least {count}, the number of layers": count > most,
        "KeepLayers keeps layers of the adaptive memory, memory=0; there are none; use "
        "AddLayers(), or growing=None": keeps and not may_keep,
        "KeepLayers needs voting=ByAccuracy(), to find layers again": keeps and not scores,
        "KeepLayers tests at one level whether errors rise: "
        'test="stream", warning=None, horizon=None, one_sided=True': keeps and not is_plain,
        "ByDisagreement merges kept layers; use ByCompression(), or merging=None": is_lost,
        f"rules.max_rules must be at least {n_ruled}, one for each layer": n_rules < n_ruled,
        "ByCompression compares layers that never rest; set resting=None": is_uneven,
        'only gaussian layers choose rows; use Labels(choice="vote")': is_own and has_others,
        'gaussian layers choose rows; use Labels(choice="layer"), or "all"': is_alone,
        "stacked layers come last, above others": "stacked" in kinds
        and kinds.index("stacked") not in range(1, count - kinds.count("stacked") + 1),
        "stacked layers need voting=ByAccuracy()": "stacked" in kinds and not scores,
        "stacked layers do not stand on gaussian ones, which stack themselves": stacks
        and "stacked" in kinds,
    }
    for kind in ("boxes", "clouds", "surface", "prior", "neighbours"):
        problems[f"a network has at most one layer of {kind}"] = kinds.count(kind) > 1
    for layer in config.layers:
        above = (
            ("vote", "all", "both") if layer.kind == "stacked" else ("features", "settled", "all")
        )
        message = f"inputs of a layer of {layer.kind} must be one of {', '.join(above)}"
        problems[message] = isinstance(layer.inputs, str) and layer.inputs not in above
    for place, layer in enumerate(config.layers):
        message = f"inputs of layer {place} must be numbers of layers before it"
        known, own = range(place), layer.inputs if isinstance(layer.inputs, tuple) else ()
        is_known = all(each in known and not isinstance(each, bool) for each in own)
        problems[message] = not is_known or len(own) > place
    for message, is_wrong in problems.items():
        if is_wrong:
            raise InputError(message)


def idle_parameters(config: Config) -> dict[str, str]:
    """Parameters that cannot act in this configuration, and what keeps them from it."""
    layers, labels, drift, own = config.layers, config.labels, config.drift, config.gaussian
    adaptive = [each for each in layers if each.kind in NEEDED_BY["memory"] and not each.memory]
    shares = {each.memory_share < 1.0 for each in adaptive if each.kind == "line"}
    has_curve = any(each.kind == "curve" and each.memory for each in layers)
    is_still = own is not None and own.tuning == "off" and not own.growing
    adds = isinstance(config.growing, AddLayers)
    idle = [
        (not adaptive, "list of layers", "memory", "shortest longest lengthening"),
        (len(shares) < 2, "list of layers", "memory", "referee_memory shortening"),
        (not has_curve, "list of layers", "rules", "prior_reach"),
        (not has_curve, "list of layers", "voting", "rows_per_weight"),
        (not any(each.label_noise for each in layers), "list of layers", "rules", "least_trust"),
        (config.memory is None and config.rules is not None, "memory", "clouds", "memory"),
        (isinstance(config.voting, Equal), "voting", "voting", "newborn_weight reset_winner"),
        (adds, "growing", "drift", "every" if config.rules else "repeats every"),
        (getattr(config.growing, "max_kept", 2) < 2, "growing__max_kept", "merging", "share"),
        (drift and not drift.warning, "drift__warning", "growing", "buffer_rows train_on_warning"),
        (drift and not drift.repeats, "drift__repeats", "voting", "rows_per_weight"),
        (labels.choice == "vote" and labels.budget < 1.0, "labels__budget", "labels", "certainty"),
        (is_still, "gaussian__tuning", "gaussian", "coverage"),
        (config.has("stacked"), "list of layers", "resting", "share grace_rows"),
        (
            not config.has("stacked"),
            "list of layers",
            "resting",
            "worth worth_rows doubt trial_rows max_steps",
        ),
    ]
    for name in SECTIONS:
        section = getattr(config, name)
        for (owner, value), names in section.idle.items() if section is not None else ():
            idle.append((getattr(section, owner) == value, f"{name}__{owner}", name, names))
    found = [(s, name, owner) for is_so, owner, s, names in idle if is_so for name in names.split()]
    return {f"{s}__{name}": owner for s, name, owner in found if hasattr(getattr(config, s), name)}


def _settle_idle(config: Config, given: Container[str]) -> None:
    """Give parameters that cannot act their default; refuse other values, of what is given."""
    for path, owner in idle_parameters(config).items():
        section, _, name = path.partition("__")
        own, is_repeats = getattr(config, section), path == "drift__repeats"  # off with AddLayers
        usual = not is_repeats and getattr(type(own), name)
        if getattr(own, name) != usual:
            if path in given or (section in given and not is_repeats):
                raise InputError(f"{path} has no effect with this {owner}; change that too")
            config.__dict__[section] = dataclasses.replace(own, **{name: usual})


def _where(section: str, value: Section, name: str) -> str:
    """Why a section has no such parameter, and which one has."""
    own = ", ".join(field.name for field in dataclasses.fields(value))  # type: ignore[arg-type]
    others = [
        f"{other}={kind.__name__}({name}=...)"
        for other, kinds in SECTIONS.items()
        for kind in kinds
        if any(field.name == name for field in dataclasses.fields(kind))  # type: ignore[arg-type]
    ]
    hint = f"; there is {' and '.join(others)}" if others else ""
    return f"{section}={type(value).__name__} has no parameter {name!r}{hint}; it has {own}"


def plain_value(field: "dataclasses.Field[Any]", value: Any) -> Any:
    """A parameter as JSON holds it: numbers of the type that the field has."""
    if isinstance(value, tuple):
        pairs = [list(each) if isinstance(each, tuple) else each for each in value]
        return [plain_section(each) if isinstance(each, Layer) else each for each in pairs]
    if isinstance(value, Section):
        return plain_section(value)
    plain = _plain(value)
    kinds = get_args(field.type) or (field.type,)
    return float(plain) if float in kinds and plain is not None else plain


def plain_section(section: Section) -> dict[str, Any]:
    """A section as plain data; of a layer what is set."""
    data = {"form": section.form} if section.form else {}
    for field in dataclasses.fields(section):  # type: ignore[arg-type]
        value, usual = getattr(section, field.name), field.default
        if isinstance(section, Layer):
            usual = {"kind": None, "name": section.kind}.get(field.name, usual)
            if value == usual:
                continue
        data[field.name] = plain_value(field, value)
    return data


def _as_section(name: str, value: Any) -> Any:
    """A section from plain data, if it is that; other values as they are."""
    if name == "layers" and isinstance(value, list):
        return tuple(v if isinstance(v, Layer) else _section_from(Layer, v) for v in value)
    if name not in SECTIONS or not isinstance(value, dict):
        return value
    form = value.get("form", SECTIONS[name][0].form)
    for kind in SECTIONS[name]:
        if kind.form == form:
            return _section_from(kind, value)
    forms = ", ".join(kind.form for kind in SECTIONS[name])
    raise InputError(f"{name} has no form {form!r}; there are {forms}")


def _layer_with(layer: Layer, values: dict[str, Any]) -> Layer:
    """A layer with other values, of the parameters that it has set."""
    is_set = {name: getattr(layer, name) != getattr(Layer, name) for name in values}
    return dataclasses.replace(layer, **{name: values[name] for name in values if is_set[name]})


def _section_from(kind: type[Section], data: Any) -> Any:
    """A section from plain data, with every parameter given."""
    if not isinstance(data, dict):
        raise InputError(f"{kind.__name__} must be an object")
    values = {name: value for name, value in data.items() if name != "form"}
    check_names(kind, values)
    return kind(**values)
