"""The stacked network over rows: forward through all layers, and learning row by row."""

import numpy as np

from devfnn.kernels._jit import borrowed, kernel, part
from devfnn.kernels.layers import has_room, infer, learn_row, view
from devfnn.kernels.state import UNLABELLED
from devfnn.kernels.votes import (
    best_class,
    clip_unit,
    combine_votes,
    move_votes,
    winning_layer,
)


@part()
def forward_row(layers, settings, row, outputs, scratch):
    """Outputs of every live layer for one row; `scratch.inputs` ends as the stacked inputs.

    row: (n_features,) · outputs: (L, m). Merged layers give NaN, which later layers leave out.
    """
    n_layers, m = outputs.shape
    for j in range(row.shape[0]):
        scratch.inputs[j] = row[j]
    for index in range(n_layers):
        start = row.shape[0] + index * m
        if layers.is_merged[index]:
            outputs[index, :] = np.nan
        else:
            infer(view(layers, index), scratch.inputs, settings, False, scratch)
            outputs[index, :] = scratch.output
        for k in range(m):
            merged = layers.is_merged[index]
            scratch.inputs[start + k] = np.nan if merged else clip_unit(outputs[index, k])


@kernel()
def forward(layers, settings, rows, outputs, stacked, scratch):
    """Outputs of all layers for many rows, and the stacked inputs of the deepest layer.

    rows: (k, n_features) · outputs: (k, L, m) · stacked: (k, n)
    """
    layers, settings, scratch = borrowed(layers), borrowed(settings), borrowed(scratch)
    for row in range(rows.shape[0]):
        forward_row(layers, settings, rows[row], outputs[row], scratch)
        for j in range(stacked.shape[1]):
            stacked[row, j] = scratch.inputs[j]


@part()
def is_trained(index, winner, is_merged, settings):
    """Whether a layer learns the row."""
    if is_merged[index]:
        return False
    if settings.training == 1 and index < settings.initial_layers:
        return True
    return index == winner or settings.training == 2


@kernel()
def learn_rows(layers, settings, batch, journal, scratch, start):
    """Row by row: outputs, votes, then train the winner (or all) at once.

    Returns the first row for which a layer had no room.
    """
    layers, batch, journal = borrowed(layers), borrowed(batch), borrowed(journal)
    settings, scratch = borrowed(settings), borrowed(scratch)
    inputs = scratch.stacked
    n_layers = layers.voting_weights.shape[0]
    for row in range(start, batch.rows.shape[0]):
        if settings.grow_rules:
            for index in range(n_layers):
                if not has_room(layers, index, settings):
                    return row
        outputs = journal.outputs[row]
        label = batch.labels[row]
        forward_row(layers, settings, batch.rows[row], outputs, scratch)
        inputs[:] = scratch.inputs
        combine_votes(
            outputs,
            layers.voting_weights,
            layers.is_merged,
            settings.soft_vote,
            scratch.probabilities,
        )
        if batch.labelled[row] != UNLABELLED:
            journal.errors[row] = 1 if best_class(scratch.probabilities) != label else 0
            move_votes(layers, outputs, label, settings)
        winner = winning_layer(layers.voting_weights, layers.is_merged)
        for index in range(n_layers):
            if is_trained(index, winner, layers.is_merged, settings):
                layer = view(layers, index)
                learn_row(layer, index, row, batch, settings, scratch, journal, inputs)
    return batch.rows.shape[0]
