"""The state of a model as a flat dictionary, and back; and which arrays a state of given sizes has.

Names are paths of fields, `layers/centers` or `gathered/rows/X`. Nothing is listed by hand: a field
added to `Network` or to one of its parts is stored from then on. The shapes are learned from two
small networks that differ in every size: an axis that is 3 in one and 2 in the other runs over rule
slots, and one that is 2 * 4 in one and 2 * 7 in the other over twice the features.
"""

import copy
import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from devfnn.model.config import Config
from devfnn.model.network import Gathered, Network
from devfnn.model.state import Shape
from devfnn.scaling import OnlineScaler
from devfnn.storage.container import CODES

SCALARS = (bool, int, float)
"""Leaves of the state that go into the header."""


class Sizes(NamedTuple):
    """Everything that the shapes of the arrays depend on."""

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

    def lengths(self) -> dict[str, int]:
        """All sizes by name, with the number of inputs that follows from them."""
        return {**self._asdict(), "inputs": self.shape.inputs}


class Axis(NamedTuple):
    """One axis of an array: `factor` times a size, plus `extra`; a constant has no size."""

    size: str
    factor: int
    extra: int

    def length(self, lengths: Mapping[str, int]) -> int:
        """Its length in a network of these sizes."""
        return self.factor * lengths.get(self.size, 0) + self.extra


class Schema(NamedTuple):
    """What a state consists of."""

    template: Network  # small, with every optional part present
    tensors: dict[str, tuple[str, tuple[Axis, ...]]]  # with their types
    scalars: dict[str, type]

    def expected(self, sizes: Sizes, absent: set[str]) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Type and shape of every tensor of a state of these sizes."""
        lengths = sizes.lengths()
        return {
            name: (code, tuple(axis.length(lengths) for axis in axes))
            for name, (code, axes) in self.tensors.items()
            if not _is_inside(name, absent)
        }

    def expected_scalars(self, absent: set[str]) -> dict[str, type]:
        """Kind of every scalar."""
        return {name: kind for name, kind in self.scalars.items() if not _is_inside(name, absent)}


def _is_inside(name: str, parts: set[str]) -> bool:
    """Whether a leaf belongs to one of the parts."""
    return any(name == part or name.startswith(part + "/") for part in parts)


def leaves(value: Any, name: str = "") -> dict[str, Any]:
    """Arrays, scalars and absent parts (None) of a state by their paths; the shape is left out."""
    if value is None or isinstance(value, np.ndarray | bool | int | float):
        return {name: value}
    if isinstance(value, np.generic):
        return {name: value.item()}
    if isinstance(value, Shape):
        return {}
    flat: dict[str, Any] = {}
    for field, member in _members(value):
        flat |= leaves(member, f"{name}/{field}" if name else field)
    return flat


def rebuilt(template: Any, flat: Mapping[str, Any], shape: Shape, name: str = "") -> Any:
    """A state like the template, with the leaves of `flat`."""
    if name in flat:
        return flat[name]
    if isinstance(template, Shape):
        return shape
    fresh = {
        field: rebuilt(member, flat, shape, f"{name}/{field}" if name else field)
        for field, member in _members(template)
    }
    if isinstance(template, OnlineScaler) and not dataclasses.is_dataclass(template):
        scaler = copy.copy(template)
        vars(scaler).update(fresh)
        return scaler
    return type(template)(**fresh)


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of one part of the state, in order."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from zip(value._fields, value, strict=True)
    elif dataclasses.is_dataclass(value):
        yield from ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
    elif isinstance(value, OnlineScaler):
        yield from vars(value).items()
    else:
        raise TypeError(f"a model's state may not hold a {type(value).__name__}")


def optional_parts() -> set[str]:
    """Parts of the state that may be absent."""
    return {field.name for field in dataclasses.fields(Network) if field.default is None}


def sizes_of(network: Network) -> Sizes:
    """The sizes of a network's arrays."""
    shape, gathered = network.shape, network.gathered
    return Sizes(
        shape.layers,
        shape.slots,
        shape.features,
        shape.classes,
        first_rows=int(network.scaler.first_rows.shape[0]),
        buffer_rows=len(network.buffer),
        gathered_rows=len(gathered.rows) if gathered is not None else 0,
    )


def state_bytes(network: Network | None) -> int:
    """Size of all learned arrays in bytes."""
    arrays = leaves(network).values()
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


SAMPLES = (
    Sizes(2, 3, 4, 5, first_rows=11, buffer_rows=13, gathered_rows=17),
    Sizes(3, 2, 7, 6, first_rows=16, buffer_rows=10, gathered_rows=12),
)
"""Sizes of two networks, such that no two axes have the same pair of lengths."""


@functools.cache
def schema() -> Schema:
    """The schema of this version, from two small networks."""
    template, other = _sample(SAMPLES[0]), leaves(_sample(SAMPLES[1]))
    tensors: dict[str, tuple[str, tuple[Axis, ...]]] = {}
    scalars: dict[str, type] = {}
    for name, leaf in leaves(template).items():
        if isinstance(leaf, np.ndarray):
            pairs = zip(leaf.shape, other[name].shape, strict=True)
            tensors[name] = (CODES[leaf.dtype], tuple(axis_of(name, *pair) for pair in pairs))
        else:
            scalars[name] = type(leaf)
    return Schema(template, tensors, scalars)


def axis_of(name: str, first: int, second: int) -> Axis:
    """What an axis runs over, from its lengths in the two samples."""
    if first == second:
        return Axis("", 0, first)
    lengths = [sizes.lengths() for sizes in SAMPLES]
    for extra, factor, size in itertools.product((0, 1), (1, 2, 3), lengths[0]):
        axis = Axis(size, factor, extra)
        if [axis.length(sample) for sample in lengths] == [first, second]:
            return axis
    raise TypeError(f"{name} has an axis that follows from no known size")


def _sample(sizes: Sizes) -> Network:
    """An empty network of the given sizes, with every optional part present."""
    config = Config()
    network = Network.empty(sizes.features, sizes.classes, config)
    network.resize(sizes.shape, config)
    network.scaler.first_rows = np.zeros((sizes.first_rows, sizes.features))
    network.buffer = Gathered.room(sizes.buffer_rows, sizes.shape).rows
    network.gathered = Gathered.room(sizes.gathered_rows, sizes.shape)
    return network
