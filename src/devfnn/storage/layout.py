"""What a file of a network holds: names, types and shapes of all arrays, known before one is made.

Everything follows from the layouts of the model, its configuration and a few sizes. The same tables
say which values an array may have; what arrays say about each other is checked on top. Compiled
code trusts the state: indices are not checked again there, so nothing that serves as an index, a
count or a weight may come from a file unseen.
"""

import collections
import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from devfnn.arrays import Ints
from devfnn.errors import StorageError
from devfnn.kernels import state as kernel
from devfnn.kernels.scaling import SAMPLE_ROWS
from devfnn.model.class_weights import MOST_COUNTED
from devfnn.model.config import DEAR_KINDS, AddLayers, ByCompression, Config, KeepLayers
from devfnn.model.devfnn import DEVFNN
from devfnn.model.layers import KINDS
from devfnn.model.layout import LARGEST_COUNT, LARGEST_NUMBER, Field
from devfnn.model.mechanisms import feature_mask, merging
from devfnn.model.network import Network
from devfnn.model.rows import Gathered, Rows
from devfnn.model.scaling import OnlineScaler
from devfnn.model.state import (
    STATE_LAYOUTS,
    Sizes,
    empty_state,
    first_sizes,
    modules_of,
    state_memory,
    work_memory,
)
from devfnn.model.validation import LARGEST
from devfnn.storage.container import CODES, Array, is_count, require

NETWORK_LAYOUT = {"feature_mask": Field("n", True), "recent": Field("lags", -1, -1)}

COUNTED_LAYOUT = {"label_counts": Field("m", 0)}
"""What balanced class weights rest on."""

SCALER_LAYOUT = {
    "low": Field("n", 0.0),
    "width": Field("n", 0.0, 0.0),
    "outside_share": Field("2 n", 0.0, 0.0, 1.0),
    "outside_level": Field("2 n", 0.0),
    "escapes": Field("2 n", 0),
    "is_clock": Field("n", False),
    "waking": Field("n", 0),
    "far_share": Field("n", 0.0, 0.0, 1.0),
    "far_run": Field("n", 0),
    "code": Field("n", 0.0),
    "repeats": Field("n", 0),
    "told": Field("n", np.nan, gaps="any"),
    "sample": Field(f"{SAMPLE_ROWS} n", np.nan, gaps="any"),
    "n_watched": Field("1", 0),
    "changed_at": Field("n", 0),
    "small": Field("2 n", 0.0),
    "small_for": Field("n", 0),
    "filled_for": Field("n", 0),
    "first_rows": Field("first n", 0.0, gaps="missing"),
}

BUFFER_LAYOUT = {
    "X": Field("buffer n", 0.0, gaps="missing"),
    "labels": Field("buffer", 0),
    "weights": Field("buffer", 0.0, 0.0),
}

GATHERED_LAYOUT = {
    name: field._replace(axes=field.axes.replace("buffer", "gathered"))
    for name, field in BUFFER_LAYOUT.items()
}

SAID_LAYOUT = {
    "outputs": Field("gathered L m", 0.0, unbounded=True),
    "errors": Field("gathered", 0, 0, 1),
}
"""What gaussian layers said of the gathered rows."""

COUNTERS = ("n_rows", "n_chunks", "n_labels")
"""Numbers of a network that are no arrays."""

ROUNDED = 1e-6
"""By how much shares may sum to more than 1."""


class StoredSizes(NamedTuple):
    """What the shapes in a file depend on, together with the configuration."""

    layers: int
    slots: int
    features: int
    classes: int
    first_rows: int  # from which the scaling map is still being made
    buffer_rows: int
    gathered_rows: int
    gathered_outputs: int

    @property
    def sizes(self) -> Sizes:
        """Sizes of the network."""
        return Sizes(*self[:4])


def sizes_of(network: Network) -> StoredSizes:
    """The sizes of a network's arrays."""
    gathered = network.gathered
    rows = [len(network.scaler.first_rows), len(network.buffer)]
    rows += [len(gathered.rows), len(gathered.outputs)]
    return StoredSizes._make([*dataclasses.astuple(network.sizes), *rows])


def check_sizes(sizes: StoredSizes, model: DEVFNN) -> None:
    """Refuse sizes that no network of this model has, before an array is made."""
    config, late, lags = model.config, model._late, model.config.lags
    require(all(map(is_count, (*sizes, *late))), "the shape in the header is impossible")
    require(min(sizes.layers, sizes.features, sizes.classes) > 0, "the shape has a size of 0")
    fits = len(set(model.classes)) == len(model.classes) == sizes.classes
    require(fits, "the number of classes does not fit the shape, or one occurs twice")
    n_features = sizes.features - lags * sizes.classes
    n_first = n_features - len(late)  # columns: these, lags of the first classes, what came later
    require(n_first > 0, "the shape in the header has no room for a feature")
    fits = model._names is None or len(model._names) == n_features
    require(fits, "the number of feature names does not fit the shape")
    bounds = (n_first + lags - 1, *late, sizes.features)
    fits = not late or (lags > 0 and all(a < b for a, b in itertools.pairwise(bounds)))
    require(fits, "the late features in the header are no columns of the shape")
    first, growing = first_sizes(sizes.features, sizes.classes, config), config.growing
    most = growing.max_layers if isinstance(growing, AddLayers) else first.layers
    fits = first.layers <= sizes.layers <= most
    require(fits, "the number of layers does not fit the configuration")
    fits = (sizes.slots > 0) == (first.slots > 0)
    require(fits, "the number of slots does not fit the configuration")
    fits = sizes.gathered_rows < config.chunk_rows
    require(fits, "the number of gathered rows does not fit chunk_rows")
    fits = sizes.gathered_outputs == (sizes.gathered_rows if config.has("gaussian") else 0)
    require(fits, "the number of gathered outputs does not fit the gathered rows")


@functools.lru_cache(maxsize=64)
def unused_fields(config: Config) -> frozenset[str]:
    """Arrays that nothing reads in this configuration; they are not stored."""
    unused = {"progress/n_open"}  # follows from the rest
    if config.voting.form == "accuracy":
        unused |= {"layers/voting_weights", "layers/decays"}
    else:
        names = ("scores", "last_wins", "disagreements", "compared")
        unused |= {f"layers/{name}" for name in names}
    if config.merging is None or config.merging.form != "compression":
        unused.add("layers/is_merged")
    of_rest = ["rests"] * (config.resting is None)
    of_rest += ["naps", "worths", "squares", "watched"] * (
        not config.has("stacked") or bool(of_rest)
    )
    unused |= {f"layers/{name}" for name in of_rest}
    lasting = [config.layers[place].kind for place in config.lasting]
    if len(set(lasting)) == len(lasting) or config.growing is None:
        unused.add("layers/origins")  # a kept layer can be a copy of one only
    if config.drift is None or config.drift.test == "chunk":
        unused.add("progress/errors")
    if not config.has("line", "curve", "boxes"):
        unused |= {"layers/origins", "progress/lead", "progress/label_shares"}
        unused |= _unmoved_fields(config)
    return frozenset(unused)


def _unmoved_fields(config: Config) -> set[str]:
    """Arrays that follow from others, or never change, in a network without lines and boxes."""
    choice = config.labels.choice
    if choice == "vote" or (choice == "all" and config.is_budgeted):
        return set()
    if config.has("clouds") or config.voting.form == "accuracy":
        return {"progress/signals"}
    return {"progress/signals", "progress/counts", "layers/kinds"}


def expected_fields(sizes: StoredSizes, config: Config) -> dict[str, tuple[Field, tuple[int, ...]]]:
    """Field and shape of every array of a network of these sizes; parts without rows are absent."""
    lengths = sizes.sizes.lengths(config)
    lengths |= {"2n": 2 * sizes.features, "first": sizes.first_rows, "lags": config.lags}
    lengths |= {"buffer": sizes.buffer_rows, "gathered": sizes.gathered_rows}
    kept = ("layers", "progress", *(module.NAME for module in modules_of(config)))
    parts: dict[str, Mapping[str, Field]] = {name: STATE_LAYOUTS[name] for name in kept}
    own = NETWORK_LAYOUT | (COUNTED_LAYOUT if config.balances else {})
    parts |= {"": own, "scaler": SCALER_LAYOUT}
    if config.feature_mask is not None:
        parts["feature_stats"] = feature_mask.LAYOUT
    if isinstance(config.merging, ByCompression):
        parts["output_stats"] = merging.LAYOUT
    if sizes.buffer_rows:
        parts["buffer"] = BUFFER_LAYOUT
    if sizes.gathered_rows:
        parts["gathered"] = GATHERED_LAYOUT | (SAID_LAYOUT if sizes.gathered_outputs else {})
    unused = unused_fields(config)
    return {
        key: (field, field.shape(lengths))
        for part, layout in parts.items()
        for name, field in layout.items()
        if (key := f"{part}/{name}".removeprefix("/")) not in unused
    }


def arrays_of(network: Network) -> dict[str, Array]:
    """All arrays of a network by their names."""
    gathered, state = network.gathered, network.state
    parts: dict[str, Any] = {name: part._asdict() for name, part in state._asdict().items() if part}
    for name in ("feature_stats", "output_stats"):
        if (stats := getattr(network, name)) is not None:
            parts[name] = stats._asdict()
    parts |= {"": vars(network), "scaler": vars(network.scaler), "buffer": vars(network.buffer)}
    parts["gathered"] = vars(gathered) | vars(gathered.rows)
    split = ((key, *key.rpartition("/")) for key in _fields_of(network))
    return {key: parts[part][name] for key, part, _, name in split}


def network_of(
    arrays: Mapping[str, Array], counters: Mapping[str, int], sizes: StoredSizes, config: Config
) -> Network:
    """A network of these arrays."""
    parts = collections.defaultdict[str, dict[str, Any]](dict)
    for key, array in arrays.items():
        part, _, name = key.rpartition("/")
        parts[part][name] = array
    state = empty_state(sizes.sizes, config)
    known = {
        name: part._replace(**parts[name])
        for name, part in state._asdict().items()
        if part is not None
    }
    scaler = OnlineScaler(sizes.features)
    vars(scaler).update(parts["scaler"], n_first=counters["scaler/n_first"])
    nothing = Gathered.none(sizes.features, sizes.layers, sizes.classes)
    own, plain = parts["gathered"], parts[""] | {name: counters[name] for name in COUNTERS}
    plain.setdefault("label_counts", None)
    said = {name: own.pop(name, getattr(nothing, name)) for name in SAID_LAYOUT}
    stats, outputs = parts["feature_stats"], parts["output_stats"]
    network = Network(
        config=config,
        sizes=sizes.sizes,
        state=state._replace(**known),
        scaler=scaler,
        feature_stats=feature_mask.FeatureStats(**stats) if stats else None,
        output_stats=merging.OutputStats(**outputs) if outputs else None,
        buffer=Rows(**parts["buffer"]) if sizes.buffer_rows else Rows.none(sizes.features),
        gathered=Gathered(Rows(**own) if own else nothing.rows, **said),
        **plain,
    )
    if "layers/origins" not in arrays:
        _find_origins(network)
    if "layers/kinds" not in arrays:  # those of the configuration, then added ones
        network.state.layers.kinds[len(config.layers) :] = kernel.GAUSSIAN
    progress = network.state.progress
    progress.n_open[0] = progress.counts[kernel.ROWS] % config.chunk_rows
    if network.structure_first:
        progress.n_open[0] = sizes.gathered_rows
    return network


def _find_origins(network: Network) -> None:
    """Kept layers are copies of the configured layer of their kind that lasts."""
    layers, config = network.state.layers, network.config
    for place in range(len(config.layers), network.sizes.layers):
        for index in config.lasting:
            if layers.kinds[place] == layers.kinds[index]:
                layers.origins[place] = index


def counters_of(network: Network) -> dict[str, int]:
    """Numbers that are no arrays."""
    own = {name: getattr(network, name) for name in COUNTERS}
    return own | {"scaler/n_first": network.scaler.n_first}


def state_bytes(network: Network | None) -> int:
    """Size of all learned arrays of a network in bytes; 0 for None."""
    return sum(array.nbytes for array in arrays_of(network).values()) if network else 0


def memory_of(model: DEVFNN, sizes: StoredSizes | None) -> int:
    """Bytes of all arrays that a model needs, working memory too, before one of them is made.

    What has learned nothing is measured by the features and classes that it knows.
    """
    n_features, n_classes = len(model._names or "x"), max(len(model._labels), 1)
    columns = n_features + model.config.lags * n_classes
    known = sizes.sizes if sizes else first_sizes(columns, n_classes, model.config)
    return state_memory(known, model.config) + work_memory(known, model.config)


# ---- whether numbers can be those of a model; used before saving and after loading


def _fields_of(network: Network) -> dict[str, tuple[Field, tuple[int, ...]]]:
    return expected_fields(sizes_of(network), network.config)


def check_shapes(
    found: Mapping[str, tuple[str, tuple[int, ...]]], sizes: StoredSizes | None, config: Config
) -> None:
    """The tensors of a file must be exactly those that a network of these sizes has."""
    check_shapes_of(found, expected_fields(sizes, config) if sizes is not None else {})


def check_shapes_of(
    found: Mapping[str, tuple[str, tuple[int, ...]]],
    fields: Mapping[str, tuple[Field, tuple[int, ...]]],
) -> None:
    """The tensors of a file must be exactly these."""
    for name in sorted(fields.keys() - found.keys()):
        raise StorageError(f"tensor {name!r} is missing")
    for name in sorted(found.keys() - fields.keys()):
        raise StorageError(f"tensor {name!r} does not belong to a model")
    for name, (field, wanted) in fields.items():
        (code, shape), wanted_code = found[name], CODES[field.dtype]
        require(
            (code, shape) == (wanted_code, wanted),
            f"tensor {name!r} is {code} {list(shape)}, not {wanted_code} {list(wanted)}",
        )


def check_network(network: Network) -> None:
    """Refuse a state that no model can be in."""
    arrays = arrays_of(network)
    found = {name: (CODES[array.dtype], array.shape) for name, array in arrays.items()}
    check_shapes(found, sizes_of(network), network.config)
    for name, (field, _) in _fields_of(network).items():
        check_values(name, arrays[name], field, network.config.missing == "skip")
    check_together(network)


def check_together(network: Network) -> None:
    """Refuse arrays that contradict each other."""
    for holds, message in _problems(network):
        require(bool(holds), message)
    check_budget(network.budget)


def check_values(name: str, array: Array, field: Field, may_lack: bool) -> None:
    """The values of one array, each on its own."""
    if array.dtype.kind == "b":
        is_flag = array.size == 0 or int(array.reshape(-1).view(np.uint8).max()) <= 1
        require(is_flag, f"{name} holds flags that are neither true nor false")
        return
    if array.dtype.kind == "f" and not field.unbounded:
        legal = np.isfinite(array)
        if field.gaps:
            legal = np.abs(array) <= LARGEST
            legal |= np.isnan(array) if may_lack or field.gaps == "any" else False
        require(bool(legal.all()), f"{name} holds NaN or infinity")
    whole = array.dtype.kind in "iu"
    is_any = field.unbounded or array.dtype.itemsize == 4  # single numbers are never that large
    most = LARGEST_COUNT if whole else np.inf if is_any else LARGEST_NUMBER
    low = field.low if field.low is not None else (0 if whole else -most)
    high = field.high if field.high is not None else most
    outside = (array < low) | (array > high)  # NaN, where it is legal, is in no range
    if outside.any():
        raise StorageError(f"{name} holds {array[outside][0]}, which cannot be")


def _problems(network: Network) -> Iterator[tuple[Any, str]]:
    """What must hold, and what is wrong otherwise."""
    config, state, m = network.config, network.state, network.n_classes
    yield from _problems_of_layers(network)
    for module in modules_of(config):
        yield from module.problems_of(state, config)
    yield from _problems_of_progress(network)
    for name, rows in (("buffer", network.buffer), ("gathered", network.gathered.rows)):
        yield (rows.labels < m).all(), f"{name} holds rows of a class that is not there"
    outputs, may_pause = network.gathered.outputs, state.layers.kinds != kernel.GAUSSIAN
    is_silent = np.isnan(outputs) & (may_pause | state.layers.is_merged)[:, None]
    yield (np.isfinite(outputs) | is_silent).all(), "gathered/outputs holds NaN or infinity"
    yield (network.recent < m).all(), "recent holds a class that is not there"
    if network.label_counts is not None:
        n_counted = network.label_counts.sum()
        is_sound = n_counted <= network.n_rows and n_counted < MOST_COUNTED
        yield is_sound, "label_counts holds more labels than are counted"
    fits = len(network.scaler.first_rows) <= network.scaler.n_first
    yield fits, "the scaler keeps more rows than it has seen"


def _problems_of_layers(network: Network) -> Iterator[tuple[Any, str]]:
    """Which layers there are: those of the configuration, then kept or added ones."""
    config, layers = network.config, network.state.layers
    wanted = np.array([KINDS[layer.kind] for layer in config.layers])
    n = wanted.size
    yield (layers.kinds[:n] == wanted).all(), "layers/kinds lacks a configured layer"
    may_follow = [kernel.GAUSSIAN]
    if isinstance(config.growing, KeepLayers):
        may_follow = [kernel.NO_LAYER, *wanted[config.lasting]]
    is_sound = np.isin(layers.kinds[n:], may_follow).all()
    yield is_sound, "layers/kinds has a layer of a kind that is never kept or added"
    is_copy = np.isin(layers.kinds, wanted[config.lasting])
    is_copy[:n] = False
    yield (layers.origins[is_copy] < n).all(), "layers/origins has a kept layer of no origin"
    is_sound = (layers.kinds[layers.origins[is_copy]] == layers.kinds[is_copy]).all()
    yield is_sound, "layers/origins has a kept layer of another kind than its origin"
    is_own = (layers.origins[:n] == np.arange(n)).all()
    yield is_own, "layers/origins does not fit the configured layers"
    yield not layers.is_merged.all(), "every layer is merged; one must be left"
    if config.voting.form != "accuracy":
        yield (layers.voting_weights > 0.0).all(), "layers/voting_weights holds 0"
    may_rest = np.isin(layers.kinds, [KINDS[kind] for kind in DEAR_KINDS])
    yield not layers.rests[~may_rest].any(), "layers/rests lets a layer rest that never does"


def _problems_of_progress(network: Network) -> Iterator[tuple[Any, str]]:
    """Memory, rates, shares and counters, which the next rows start from."""
    progress, params = network.state.progress, network.params
    signals, counts = progress.signals, progress.counts
    if params.pool is not None:
        fits = params.pool.shortest_memory <= signals[kernel.MEMORY] <= params.pool.longest_memory
        yield fits, "the memory in progress/signals does not fit the configuration"
    places = [kernel.UNCERTAINTY, kernel.LABEL_RATE, kernel.INDEPENDENCE, kernel.NEAR_CHANGES]
    shares = signals[places]
    yield ((shares >= 0.0) & (shares <= 1.0)).all(), "progress/signals holds a share that is none"
    is_worth = signals[kernel.INDEPENDENCE] >= kernel.LEAST_ROW_WEIGHT
    yield is_worth, "by progress/signals, rows are worth next to nothing"
    watched = signals[kernel.WATCHED]
    is_count = watched >= 0.0 and watched == np.floor(watched)
    yield is_count, "progress/signals counts labels in fractions"
    is_label = np.isin(signals[kernel.LAST_LABEL], np.arange(network.n_classes))
    yield is_label, "progress/signals holds a label that is none"
    yield progress.label_shares.sum() <= 1.0 + ROUNDED, "progress/label_shares sum to more than 1"
    places = [kernel.TRACK_ROWS, kernel.TRACK_ERRORS, kernel.CUT_ROWS, kernel.CUT_ERRORS]
    rows, errors, cut_rows, cut_errors = progress.errors[places].tolist()
    is_sound = errors <= rows and cut_rows <= rows and cut_errors <= min(errors, cut_rows)
    is_sound = is_sound and errors - cut_errors <= rows - cut_rows
    yield is_sound, "the counters of progress/errors contradict each other"
    is_sound = rows <= network.n_rows and network.n_labels <= network.n_rows
    if not network.structure_first:
        is_sound = is_sound and max(counts[kernel.ROWS], rows) <= network.n_labels
    is_sound = is_sound and counts[kernel.STEPS] <= network.n_chunks
    is_sound = is_sound and counts[kernel.SCORED] <= counts[kernel.ROWS]
    is_sound = is_sound and (network.state.layers.last_wins <= counts[kernel.STEPS]).all()
    yield is_sound, "the counters of the network contradict each other"
    fits = len(network.gathered.rows) <= progress.n_open[0] < network.config.chunk_rows
    yield fits, "progress/counts does not fit the gathered rows"


def check_budget(budget: Ints) -> None:
    """Refuse a label budget that no model can have: what was bought, and when."""
    is_sound = budget[kernel.OWED] <= budget[kernel.BOUGHT] <= budget[kernel.SEEN_ROWS]
    is_sound = is_sound and (budget[kernel.FIRST_PLACE :] <= budget[kernel.SEEN_ROWS]).all()
    require(bool(is_sound), "the counters of the label budget contradict each other")
