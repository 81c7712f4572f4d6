"""A fleet as bytes and in files: the container of a model, its arrays with their leading axis.

All that is known of a model in a file holds: the layouts say which arrays there are and what may be
in them, and what must hold between the arrays of one network is checked of every model.
"""

import copy
import io
import os
from typing import Any, NamedTuple

import numpy as np

from devfnn.kernels.fleets import Counts
from devfnn.kernels.state import STEPS
from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN
from devfnn.model.fleet import Fleet
from devfnn.model.layout import Field
from devfnn.model.names import decode_label, encode_label
from devfnn.model.state import (
    STATE_LAYOUTS,
    first_sizes,
    modules_of,
    state_memory,
    work_memory,
)
from devfnn.storage import write_whole
from devfnn.storage.container import CODES, Array, is_count, require
from devfnn.storage.files import (
    Content,
    Limits,
    load_as,
    model_in,
    read_as,
    signed,
)
from devfnn.storage.header import check_fields, first_fields
from devfnn.storage.layout import (
    SCALER_LAYOUT,
    check_shapes_of,
    check_together,
    check_values,
)

COUNTS_LAYOUT = {name: Field("M", 0) for name in Counts._fields}
"""What is counted of every model."""


class FleetSizes(NamedTuple):
    """What the shapes in a file depend on, together with the configuration."""

    models: int
    features: int
    classes: int
    first_rows: int  # from which the scaling map is still being made


Fields = dict[str, tuple[Field, tuple[int, ...]]]


def fields_of(sizes: FleetSizes, config: Config) -> Fields:
    """Field and shape of every array of a fleet."""
    lengths = first_sizes(sizes.features, sizes.classes, config).lengths(config)
    lengths |= {"M": sizes.models, "first": sizes.first_rows}
    found: Fields = {}
    for part in ("layers", "progress", *(module.NAME for module in modules_of(config))):
        for name, field in STATE_LAYOUTS[part].items():
            found[f"{part}/{name}"] = field, (sizes.models, *field.shape(lengths))
    for part, layout in {"counts": COUNTS_LAYOUT, "scaler": SCALER_LAYOUT}.items():
        for name, field in layout.items():
            found[f"{part}/{name}"] = field, field.shape(lengths)
    return found


def _sizes_of(fleet: Fleet) -> FleetSizes:
    n_first = len(fleet._common.scaler.first_rows)
    return FleetSizes(fleet.n_models, fleet.n_features, len(fleet._labels), n_first)


def _arrays_of(fleet: Fleet) -> dict[str, Array]:
    """All arrays by their names."""
    parts: dict[str, Any] = {name: part for name, part in fleet._states._asdict().items() if part}
    parts = {name: part._asdict() for name, part in parts.items()}
    parts |= {"counts": fleet._counts._asdict(), "scaler": vars(fleet._common.scaler)}
    split = (key.split("/") for key in fields_of(_sizes_of(fleet), fleet.config))
    return {f"{part}/{name}": parts[part][name] for part, name in split}


def dump_fleet(fleet: Fleet) -> bytes:
    """A fleet as bytes; the same state gives the same bytes."""
    require(type(fleet) is Fleet, f"a {type(fleet).__name__} cannot be saved, only Fleet itself")
    arrays = _arrays_of(fleet)
    _check_fleet(fleet, arrays)
    return signed(_header_of(fleet), arrays)


def _header_of(fleet: Fleet) -> dict[str, Any]:
    """All of a fleet but its arrays, as JSON data."""
    return first_fields("Fleet", fleet.config) | {
        "feature_names": fleet._names,
        "classes": [encode_label(label) for label in fleet._labels.classes],
        "shape": _sizes_of(fleet)._asdict(),
        "counters": {"scaler/n_first": fleet._common.scaler.n_first},
    }


def save_fleet(fleet: Fleet, path: str | os.PathLike[str]) -> None:
    """Write a fleet to a file; a file that is already there stays whole if this fails."""
    write_whole(path, dump_fleet(fleet))


def parse_fleet(data: bytes, **limits: int) -> Fleet:
    """The fleet that `dump_fleet` turned into bytes; limits as of `load`."""
    return read_as(fleet_in, io.BytesIO(data), len(data), Limits(**limits))


def load_fleet(path: str | os.PathLike[str], **limits: int) -> Fleet:
    """Read a fleet from a file; limits and errors as of `load`."""
    return load_as(fleet_in, path, Limits(**limits))


def load_either(path: str | os.PathLike[str]) -> DEVFNN | Fleet:
    """Read a model or a fleet, whichever the file holds; errors as of `load`."""
    return load_as(_either_in, path, Limits())


def _either_in(content: Content) -> DEVFNN | Fleet:
    return fleet_in(content) if content.data["class"] == "Fleet" else model_in(content)


def fleet_in(content: Content) -> Fleet:
    """The fleet of a header and tensors."""
    data, tensors, limits = content
    kind = data["class"]
    require(kind == "Fleet", f"the file holds a {kind}, not a Fleet; read it with devfnn.load")
    config, sizes = Config.from_dict(data["config"]), FleetSizes(**data["shape"])
    require(all(map(is_count, sizes)), "the shape in the header is impossible")
    require(min(sizes[:3]) > 0, "the shape has a size of 0")
    n_first = data["counters"]["scaler/n_first"]
    require(is_count(n_first), f"the counter scaler/n_first is impossible: {n_first!r}")
    limits.check_memory(_memory_of(sizes, config))
    found = {name: (CODES[array.dtype], array.shape) for name, array in tensors.items()}
    check_shapes_of(found, fields_of(sizes, config))
    labels = map(decode_label, data["classes"])
    fleet = Fleet(1, sizes.features, labels, config, data["feature_names"])
    require(fleet.config == config, "the configuration is not one of a Fleet")
    require(len(fleet._labels) == sizes.classes, "the number of classes does not fit the shape")
    _fill(fleet, tensors, sizes.models)
    fleet._common.scaler.n_first = n_first
    _check_fleet(fleet, tensors)
    check_fields(_header_of(fleet), data, config)
    return fleet


def _memory_of(sizes: FleetSizes, config: Config) -> int:
    """Bytes of all arrays of a fleet."""
    own = first_sizes(sizes.features, sizes.classes, config)
    return sizes.models * state_memory(own, config) + work_memory(own, config)


def _fill(fleet: Fleet, arrays: dict[str, Array], n_models: int) -> None:
    """Put the arrays of a file into a fleet of one model; parts that nothing uses are made."""
    parts = {}
    for part, values in fleet._states._asdict().items():
        if values is not None:
            known = {
                name: arrays[f"{part}/{name}"]
                if f"{part}/{name}" in arrays
                else np.repeat(array, n_models, axis=0)
                for name, array in values._asdict().items()
            }
            parts[part] = values._replace(**known)
    fleet._states = fleet._states._replace(**parts)
    fleet._counts = Counts(**{name: arrays[f"counts/{name}"] for name in Counts._fields})
    vars(fleet._common.scaler).update({n: arrays[f"scaler/{n}"] for n in SCALER_LAYOUT})


def _check_fleet(fleet: Fleet, arrays: dict[str, Array]) -> None:
    """Refuse a fleet with a model in a state that none can be in."""
    may_lack = fleet.config.missing == "skip"
    for key, (field, _) in fields_of(_sizes_of(fleet), fleet.config).items():
        check_values(key, arrays[key], field, may_lack)
    network, counts = copy.copy(fleet._common), fleet._counts
    for index in range(fleet.n_models):
        network.state = fleet._state_of(index)
        network.n_rows, network.n_labels = int(counts.n_rows[index]), int(counts.n_labels[index])
        network.n_chunks = int(network.state.progress.counts[STEPS])
        check_together(network)
