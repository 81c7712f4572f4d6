"""Which arrays a state of given sizes has: names, types and shapes, known before one is made.

The shapes are learned from two small networks that differ in every size: an axis that is 3 in one
and 2 in the other runs over rule slots, and one that is 2 * 4 in one and 2 * 7 in the other over
twice the features. Only the layers of a concept network have a table of axes instead
(`model/concepts/state.py`), since some of theirs follow from the configuration.
"""

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from devfnn.model.concepts.engine import ConceptEngine
from devfnn.model.concepts.network import ConceptNetwork
from devfnn.model.concepts.state import LAYOUT, axis_lengths, type_of
from devfnn.model.config import Config
from devfnn.model.label_budget import purse_size
from devfnn.model.network import Gathered, Network, Rows
from devfnn.model.stacked import StackedEngine
from devfnn.model.state import Shape
from devfnn.storage.container import CODES
from devfnn.storage.tree import leaves, rebuilt


class StackedSizes(NamedTuple):
    """What the shapes of a stacked network depend on, together with its configuration."""

    layers: int
    slots: int
    features: int
    classes: int
    first_rows: int
    buffer_rows: int
    gathered_rows: int  # 0 when no rows are being gathered

    @property
    def shape(self) -> Shape:
        """The part that a network keeps as its shape."""
        return Shape(self.layers, self.slots, self.features, self.classes)

    def lengths(self, config: Config) -> dict[str, int]:
        """All that an axis can be as long as, by name."""
        return {
            **self._asdict(),
            "inputs": self.shape.inputs,
            "lags": config.lags,
            "purse": purse_size(config),
        }


class ConceptSizes(NamedTuple):
    """What the shapes of a concept network depend on, together with its configuration."""

    rules: int  # slots of the pool
    features: int
    classes: int
    first_rows: int
    gathered_rows: int

    def lengths(self, config: Config) -> dict[str, int]:
        """All that an axis can be as long as, by name; one letter for axes of the layers."""
        letters = axis_lengths(self.rules, self.features, self.classes, config)
        return {**self._asdict(), "lags": config.lags, **letters}


Sizes = StackedSizes | ConceptSizes


class Axis(NamedTuple):
    """One axis of an array: `factor` times a size, plus `extra`; a constant has no size."""

    size: str
    factor: int
    extra: int

    def length(self, lengths: Mapping[str, int]) -> int:
        """Its length in a network of these sizes."""
        return self.factor * lengths.get(self.size, 0) + self.extra


class Schema(NamedTuple):
    """What the state of one kind of network consists of."""

    template: Any  # small, with every optional part present
    sizes: type[Sizes]
    tensors: dict[str, tuple[str, tuple[Axis, ...]]]  # with their types
    scalars: dict[str, type]

    def expected(
        self, sizes: Sizes, config: Config, absent: set[str]
    ) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Type and shape of every tensor of a state of these sizes."""
        lengths = sizes.lengths(config)
        return {
            name: (code, tuple(axis.length(lengths) for axis in axes))
            for name, (code, axes) in self.tensors.items()
            if not _is_inside(name, absent)
        }

    def expected_scalars(self, absent: set[str]) -> dict[str, type]:
        """Kind of every scalar."""
        return {name: kind for name, kind in self.scalars.items() if not _is_inside(name, absent)}

    def optional_parts(self) -> set[str]:
        """Parts of the state that may be absent."""
        return {field.name for field in dataclasses.fields(self.template) if field.default is None}

    def network(self, flat: Mapping[str, Any], sizes: Sizes) -> Any:
        """A network of these leaves."""
        shape = {"shape": sizes.shape} if isinstance(sizes, StackedSizes) else {}
        return rebuilt(self.template, {**flat, **shape})


def _is_inside(name: str, parts: set[str]) -> bool:
    """Whether a leaf belongs to one of the parts."""
    return any(name == part or name.startswith(part + "/") for part in parts)


def sizes_of(network: Any) -> Sizes:
    """The sizes of a network's arrays."""
    if isinstance(network, ConceptNetwork):
        return ConceptSizes(
            network.state.owners.size,
            network.n_features,
            network.n_classes,
            first_rows=int(network.scaler.first_rows.shape[0]),
            gathered_rows=len(network.gathered),
        )
    shape, gathered = network.shape, network.gathered
    return StackedSizes(
        shape.layers,
        shape.slots,
        shape.features,
        shape.classes,
        first_rows=int(network.scaler.first_rows.shape[0]),
        buffer_rows=len(network.buffer),
        gathered_rows=len(gathered.rows) if gathered is not None else 0,
    )


def kind_of(network: Any) -> str:
    """The kind of network that this is, as `Config.network` calls it."""
    return "stacked" if isinstance(network, Network) else "concepts"


# ---- learning the shapes from samples

SAMPLES: dict[str, tuple[tuple[Sizes, Config], tuple[Sizes, Config]]] = {
    "stacked": (
        (StackedSizes(2, 3, 4, 5, 11, 13, 17), Config(lags=19, label_budget=0.25)),
        (StackedSizes(3, 2, 7, 6, 16, 10, 12), Config(lags=25, label_budget=0.35)),
    ),
    "concepts": (
        (ConceptSizes(8, 4, 5, 11, 17), Config(lags=19, max_pool=8)),
        (ConceptSizes(9, 7, 6, 16, 12), Config(lags=25, max_pool=9)),
    ),
}
"""Sizes of two networks of each kind, such that no two axes have the same pair of lengths."""


@functools.cache
def schema(kind: str) -> Schema:
    """The schema of a kind of network in this version."""
    first, second = SAMPLES[kind]
    template, other = sample(*first), leaves(sample(*second))
    tensors: dict[str, tuple[str, tuple[Axis, ...]]] = {}
    scalars: dict[str, type] = {}
    for name, leaf in leaves(template).items():
        if not isinstance(leaf, np.ndarray):
            scalars[name] = type(leaf)
        elif name.startswith("state/"):
            tensors[name] = _in_table(name.removeprefix("state/"))
        else:
            pairs = zip(leaf.shape, other[name].shape, strict=True)
            axes = tuple(axis_of(kind, name, *pair) for pair in pairs)
            tensors[name] = (CODES[leaf.dtype], axes)
    return Schema(template, type(first[0]), tensors, scalars)


def _in_table(name: str) -> tuple[str, tuple[Axis, ...]]:
    """Type and axes of an array that has an entry in the table of a concept network."""
    axes, _ = LAYOUT[name]
    code = CODES[type_of(name)]
    return code, tuple(Axis("", 0, a) if isinstance(a, int) else Axis(a, 1, 0) for a in axes)


def axis_of(kind: str, name: str, first: int, second: int) -> Axis:
    """What an axis runs over, from its lengths in the two samples."""
    if first == second:
        return Axis("", 0, first)
    lengths = [sizes.lengths(config) for sizes, config in SAMPLES[kind]]
    for extra, factor, size in itertools.product((0, 1), (1, 2, 3), lengths[0]):
        axis = Axis(size, factor, extra)
        if [axis.length(sample) for sample in lengths] == [first, second]:
            return axis
    raise TypeError(f"{name} has an axis that follows from no known size")


def sample(sizes: Sizes, config: Config) -> StackedEngine | ConceptEngine:
    """An empty network of the given sizes, with every optional part present."""
    first_rows = np.zeros((sizes.first_rows, sizes.features))
    if isinstance(sizes, ConceptSizes):
        network = ConceptEngine.empty(sizes.features, sizes.classes, config)
        network.gathered = _rows(sizes.gathered_rows, sizes.features)
        network.scaler.first_rows = first_rows
        return network
    stacked = StackedEngine.empty(sizes.features, sizes.classes, config)
    stacked.resize(sizes.shape, config)
    stacked.scaler.first_rows = first_rows
    stacked.buffer = _rows(sizes.buffer_rows, sizes.features)
    stacked.gathered = Gathered.room(sizes.gathered_rows, sizes.shape)
    return stacked


def _rows(n_rows: int, n_features: int) -> Rows:
    """So many rows of zeros."""
    X = np.zeros((n_rows, n_features))
    return Rows(X, np.zeros(n_rows, np.int64), np.zeros(n_rows))
