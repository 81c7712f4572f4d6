"""A model as it stands, as an ONNX graph: `pip install 'devfnn[onnx]'`.

The graph takes raw rows and gives what `predict_proba` gives; it learns nothing any more.

What is not there is never NaN inside the graph: `present` says which features a row has, and the
others add nothing to a logit, lie in every box, and on the centre of every cloud.
"""

import json
import os
from typing import Any

import numpy as np

from devfnn.adapters.shared import check_is_core, needs
from devfnn.arrays import Floats
from devfnn.errors import InputError
from devfnn.kernels.clouds import OUT_OF_REACH
from devfnn.kernels.state import CLOUDS, LINE, PoolState, State
from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN
from devfnn.model.network import Network
from devfnn.model.scaling import CLIP
from devfnn.model.validation import LARGEST
from devfnn.storage import write_whole

with needs("onnx", "onnx"):
    import onnx
    from onnx import helper, numpy_helper

__all__ = ["as_graph", "export"]

OPSET, IR_VERSION = 17, 8
"""Of 2022: runtimes of today and of some years ago read them."""

EXPORTED = {"line", "curve", "boxes", "clouds"}
"""Kinds of layers for which there is a graph."""

FLOATS = {"float32": onnx.TensorProto.FLOAT, "float64": onnx.TensorProto.DOUBLE}
"""What rows may be."""


def export(model: DEVFNN, path: str | os.PathLike[str], *, dtype: str = "float64") -> None:
    """Write a model as it stands to an ONNX file.

    The graph takes `rows`, (n, features), and gives `label`, the index of a class in
    `model.classes`, and `probabilities`, float64 (n, classes). A graph cannot raise an error: a row
    that the model would refuse, as one with infinity, has the label -1 and probabilities that are
    NaN. The metadata of the file has the names of features and classes, as JSON.

    The model must have learned something, and have lines, curves, boxes and clouds alone, as those
    of `presets.swift()` do; others, and lags, are refused. `dtype` is that of
    `rows`: "float64", or "float32" for callers that have no other. Within the graph all is float64,
    so that the result is that of the model for the rounded rows.
    """
    write_whole(path, as_graph(model, dtype=dtype).SerializeToString())


def as_graph(model: DEVFNN, *, dtype: str = "float64") -> onnx.ModelProto:
    """A model as it stands as an ONNX model; see `export`."""
    import devfnn

    if dtype not in FLOATS:
        raise InputError(f'dtype must be "float32" or "float64", not {dtype!r}')
    network = _exportable(model)
    graph = _Graph()
    _build(graph, network, model.config)
    n, m = network.n_features, network.n_classes
    rows = helper.make_tensor_value_info("rows", FLOATS[dtype], ["n_rows", n])
    label = helper.make_tensor_value_info("label", onnx.TensorProto.INT64, ["n_rows"])
    shares = helper.make_tensor_value_info("probabilities", onnx.TensorProto.DOUBLE, ["n_rows", m])
    made: onnx.ModelProto = helper.make_model(
        helper.make_graph(graph.nodes, "devfnn", [rows], [label, shares], graph.constants),
        producer_name="devfnn",
        producer_version=devfnn.__version__,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    classes, features = json.dumps(model.classes, default=str), json.dumps(model.feature_names)
    facts = {"classes": classes, "features": features, "rows_learned": str(model.n_rows)}
    helper.set_model_props(made, facts)
    onnx.checker.check_model(made)
    return made


def _exportable(model: DEVFNN) -> Network:
    """The network of a model that can be exported; InputError for others."""
    check_is_core(model, "exported")
    if model.config.lags:
        raise InputError(
            "lags need labels, which a frozen model does not get; export one with lags=0"
        )
    network = model._known()
    if others := {layer.kind for layer in model.config.layers} - EXPORTED:
        raise InputError(
            "only networks of lines, curves, boxes and clouds can be exported, as presets.swift(); "
            f"this one also has {', '.join(sorted(others))}"
        )
    return network


class _Graph:
    """Nodes and constants; every call names what it adds."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, values: Any) -> str:
        """Add an array or a number."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(values, order="C"), name))
        return name

    def add(self, operator: str, *inputs: Any, name: str = "", **attributes: Any) -> str:
        """Add a node; inputs that are no names are constants."""
        name = name or f"{operator.lower()}_{len(self.nodes)}"
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(helper.make_node(operator, names, [name], name=name, **attributes))
        return name


def _build(graph: _Graph, network: Network, config: Config) -> None:
    """The whole way from rows to label and probabilities."""
    state = network.state
    rows = graph.add("Cast", "rows", to=onnx.TensorProto.DOUBLE)
    present, scaled = _scaled_rows(graph, rows, network, config)
    expanded = _expanded_rows(graph, present, scaled)
    shares, kinds = network.shares, state.layers.kinds
    has_say = shares > 0.0
    has_say[network.params.first_leader] = True  # always there, so that at least one layer is
    pool = state.pool
    assert pool is not None
    is_single = has_say & (kinds != CLOUDS) & (pool.n_members == 1)
    single = np.flatnonzero(is_single)
    weights = pool.weights[pool.members[single, 0]].copy()
    weights[kinds[single] == LINE, :, 1 + pool.lows.shape[1] :] = 0.0  # without curves
    said = graph.add("Softmax", _logits(graph, weights, expanded), axis=2)
    weighted = graph.add("Mul", said, shares[single][:, None])
    votes = [graph.add("ReduceSum", weighted, np.array([1]), keepdims=0)]
    for layer in np.flatnonzero(has_say & ~is_single).tolist():
        if kinds[layer] == CLOUDS:
            said = _said_by_clouds(graph, state, present, scaled, config.clouds.doubt)
        else:
            said = _said_by_boxes(graph, pool, layer, (present, scaled, expanded))
        votes.append(graph.add("Mul", said, float(shares[layer])))
    said = graph.add("Sum", *votes)
    is_sound = _soundness(graph, rows, config)
    graph.add("Where", is_sound, said, np.nan, name="probabilities")
    best = graph.add("ArgMax", said, axis=1, keepdims=1)
    label = graph.add("Where", is_sound, best, -1)
    graph.add("Squeeze", label, np.array([1]), name="label")


def _soundness(graph: _Graph, rows: str, config: Config) -> str:
    """Which rows the model would not refuse, (n_rows, 1)."""
    is_good = graph.add("LessOrEqual", graph.add("Abs", rows), LARGEST)
    if config.missing == "skip":
        is_good = graph.add("Or", is_good, graph.add("IsNaN", rows))
    flags = graph.add("Cast", is_good, to=onnx.TensorProto.INT32)
    lowest = graph.add("ReduceMin", flags, axes=[1], keepdims=1)
    return graph.add("Cast", lowest, to=onnx.TensorProto.BOOL)


def _scaled_rows(graph: _Graph, rows: str, network: Network, config: Config) -> tuple[str, str]:
    """Which features a row has (n_rows, n), and their scaled values; 0.5 for the others."""
    used = network.used_features
    low, width = np.zeros(used.size), np.ones(used.size)
    if config.scaling == "online":
        low[used], width[used] = network.scaler.low[used], network.scaler.width[used]
    is_there = graph.add("Not", graph.add("IsNaN", rows))
    present = graph.add("And", is_there, used)
    units = graph.add("Div", graph.add("Sub", rows, low), width)
    clipped = graph.add("Clip", graph.add("Where", present, units, 0.5), -CLIP, 1.0 + CLIP)
    return present, clipped


def _expanded_rows(graph: _Graph, present: str, scaled: str) -> str:
    """T1 and T2 of all features, (n_rows, 2n); 0 for what is absent."""
    line = graph.add("Sub", graph.add("Mul", scaled, 2.0), 1.0)
    curve = graph.add("Sub", graph.add("Mul", graph.add("Mul", line, line), 2.0), 1.0)
    parts = [graph.add("Where", present, part, 0.0) for part in (line, curve)]
    return graph.add("Concat", *parts, axis=1)


def _logits(graph: _Graph, weights: Floats, expanded: str) -> str:
    """Logits of rules, (n_rows, r, m). weights: (r, m, p)"""
    n_rules, n_classes, size = weights.shape
    flat = weights.reshape(n_rules * n_classes, size)
    logits = graph.add("Add", graph.add("MatMul", expanded, flat[:, 1:].T), flat[:, 0])
    return graph.add("Reshape", logits, np.array([-1, n_rules, n_classes]))


def _said_by_boxes(graph: _Graph, pool: PoolState, layer: int, row: tuple[str, str, str]) -> str:
    """What a layer of several boxes says, (n_rows, m): the first that holds, or the first."""
    present, scaled, expanded = row
    members = pool.members[layer, : pool.n_members[layer]]
    of_all = [graph.add("Unsqueeze", each, np.array([1])) for each in (present, scaled)]
    below = graph.add("LessOrEqual", of_all[1], pool.lows[members])
    above = graph.add("Greater", of_all[1], pool.highs[members])
    is_out = graph.add("And", graph.add("Or", below, above), of_all[0])
    numbers = graph.add("Cast", is_out, to=onnx.TensorProto.INT32)
    any_out = graph.add("ReduceMax", numbers, axes=[2], keepdims=0)
    holding = graph.add("ArgMin", any_out, axis=1, keepdims=1)
    logits = _logits(graph, pool.weights[members], expanded)
    own = graph.add("GatherND", logits, holding, batch_dims=1)
    return graph.add("Softmax", own, axis=1)


def _said_by_clouds(graph: _Graph, state: State, present: str, scaled: str, doubt: float) -> str:
    """What the clouds say, (n_rows, m), or (1, m) where there are none."""
    clouds, n_classes = state.clouds, state.progress.label_shares.size
    assert clouds is not None
    count = int(clouds.count[0])
    if not count:
        return graph.constant(np.full((1, n_classes), 1.0 / n_classes))
    centers = clouds.centers[:, :count]
    own = graph.add("Where", present, scaled, 0.0)
    squares = graph.add("ReduceSum", graph.add("Mul", own, own), np.array([1]), keepdims=1)
    flags = graph.add("Cast", present, to=onnx.TensorProto.DOUBLE)
    across = graph.add("MatMul", own, -2.0 * centers)
    distances = graph.add("Sum", squares, across, graph.add("MatMul", flags, centers * centers))
    falls = graph.add("Mul", distances, -0.5 / clouds.spreads[:count])
    heights = graph.add("Add", falls, clouds.heights[:count])
    top = graph.add("ReduceMax", heights, axes=[1], keepdims=1)
    above = graph.add("Sub", heights, top)
    in_reach = graph.add("Greater", above, -OUT_OF_REACH)
    densities = graph.add("Where", in_reach, graph.add("Exp", above), 0.0)
    by_class = graph.add("MatMul", densities, np.eye(n_classes)[clouds.labels[:count]])
    total = graph.add("ReduceSum", densities, np.array([1]), keepdims=1)
    sure = graph.add("Mul", graph.add("Div", by_class, total), 1.0 - doubt)
    return graph.add("Add", sure, doubt / n_classes)
