"""The network over rows: what its layers say, their vote, and learning by chunks or row by row."""

import numpy as np

from devfnn.kernels._jit import borrowed, kernel, part, step
from devfnn.kernels.boosted import refit_boosted, remember_scores, say_boosted
from devfnn.kernels.boxes import copy_values, learn_rules, say_rules, widen_caps
from devfnn.kernels.clouds import fade_clouds, learn_clouds, say_clouds
from devfnn.kernels.drift import find_drift, note_error, respond_to_drift, watch_label, weigh_rows
from devfnn.kernels.events import report
from devfnn.kernels.gaussian import lacks_room, learn_gaussian, say_gaussian
from devfnn.kernels.labels import choose_label, importance
from devfnn.kernels.neighbours import refit_neighbours, say_neighbours
from devfnn.kernels.prior import learn_prior, say_prior
from devfnn.kernels.recursive import expand_blocks
from devfnn.kernels.stacked import (
    hear_layers,
    note_heard,
    note_unforeseen,
    say_stacked,
    step_stacked,
    weigh_worth,
)
from devfnn.kernels.state import (
    ALWAYS,
    BOOSTED,
    BY_LAYER,
    CLOUDS,
    DRIFT_IN_STREAM,
    GAUSSIAN,
    INDEPENDENCE,
    MEMORY,
    NEIGHBOURS,
    NEVER,
    PRIOR,
    RECALLED_EVENT,
    REFEREE,
    ROWS,
    STACKED,
    STEPS,
    SURFACE,
    UNLABELLED,
    WHILE_LEADING,
)
from devfnn.kernels.surface import learn_surface, say_surface
from devfnn.kernels.votes import (
    answer,
    best_class,
    combine_votes,
    is_idle,
    judge,
    leading_layer,
    move_votes,
    rest_layers,
    share_votes,
)
from devfnn.kernels.window import remember_row

FEWEST_ROWS = 100
"""Rows after which layers are fitted to the window anew: to do so costs as much for one row."""


# ---- what the layers say


@part()
def clip_unit(value):
    """An output as input of the next layers: inside [0, 1]."""
    return min(max(value, 0.0), 1.0) if not np.isnan(value) else 0.0


@part()
def expand_for_rules(pool, row, work):
    """The row as lines, curves and boxes see it."""
    if pool is None:
        return
    expand_blocks(row, work.expanded)


@part()
def say(state, layer, row, inputs, params, work, output):
    """What one layer says; `work.expanded` is the row's. output: (m,)

    row: (n,) features · inputs: the same, then what other layers say, if some take that in
    """
    kind = state.layers.kinds[layer]
    if kind == GAUSSIAN:
        say_gaussian(state.gaussians, layer, inputs, params.gaussian, work.gaussian, output)
    elif kind == CLOUDS:
        say_clouds(state.clouds, row, params.clouds, work, output)
    elif kind == SURFACE:
        say_surface(state.surface, row, work, output)
    elif kind == BOOSTED:
        say_boosted(state.boosted, layer, row, params.boosted, work.boosted, output)
    elif kind == NEIGHBOURS:
        own, room = params.neighbours, work.neighbours
        say_neighbours(state.window, state.neighbours, row, own, room, output)
    elif kind == PRIOR:
        say_prior(state.prior, params.prior, output)
    else:
        say_rules(state.layers, state.pool, layer, row, work, output)


@part()
def say_stack(state, stacked, params, work, outputs):
    """What stacked layers make of what the layers below say, and of their vote."""
    if stacked is None:
        return
    n_stacked, own = stacked.weights.shape[0], work.stacked
    if n_stacked == 0:
        return
    kinds, soft = state.layers.kinds, params.soft_votes
    combine_votes(kinds, outputs, work.shares, 1.0, soft, own.vote)
    hear_layers(state, outputs, own.vote, params, own.heard)
    for place in range(n_stacked):
        say_stacked(stacked, place, own.heard, outputs[params.stacked.first + place])


@part()
def say_all(state, row, params, work, outputs):
    """Outputs of all layers; NaN for idle ones. `work.shares` are the votes of now.

    `work.inputs` ends as the inputs of all layers.
    """
    expand_for_rules(state.pool, row, work)
    inputs, stacks = row, params.stacks
    n_layers, n_classes = outputs.shape
    if stacks:
        inputs = work.inputs
        for j in range(row.shape[0]):
            inputs[j] = row[j]
    for layer in range(n_layers):
        is_silent = is_idle(state.layers, layer)
        if is_silent:
            for k in range(n_classes):
                outputs[layer, k] = np.nan
        elif state.layers.kinds[layer] != STACKED:
            say(state, layer, row, inputs, params, work, outputs[layer])
        if stacks:
            start = row.shape[0] + layer * n_classes
            for k in range(n_classes):
                said = outputs[layer, k]
                inputs[start + k] = said if is_silent else clip_unit(said)
    say_stack(state, state.stacked, params, work, outputs)


@kernel(nogil=True)
def forward(state, params, work, rows, outputs, stacked):
    """Outputs of all layers for rows, and the inputs of the deepest layer if layers are stacked.

    rows: (k, n) · outputs: (k, L, m) · stacked: (k, i)
    """
    state, params, work = borrowed(state), borrowed(params), borrowed(work)
    rows, outputs, stacked = borrowed((rows, outputs, stacked))
    share_votes(state, params, work.shares)
    for index in range(rows.shape[0]):
        say_all(state, rows[index], params, work, outputs[index])
        if params.stacks:
            for j in range(stacked.shape[1]):
                stacked[index, j] = work.inputs[j]


@kernel()
def predict_row(state, params, work, batch, probabilities):
    """Class probabilities of a row: `forward` and `vote` in one call. probabilities: (1, m)"""
    state, params, work, batch = borrowed(state), borrowed(params), borrowed(work), borrowed(batch)
    (probabilities,) = borrowed((probabilities,))
    total = share_votes(state, params, work.shares)
    say_all(state, batch.rows[0], params, work, work.outputs)
    answer(state, work.outputs, work.shares, total, params.soft_votes, probabilities[0])


# ---- which layers learn a row, and how


@part()
def learning_code(layer, params):
    """Whether a layer learns in row-wise learning: always, or while it leads."""
    if params.training == 2 or (params.training == 1 and layer < params.n_configured):
        return ALWAYS
    return WHILE_LEADING


@part()
def is_learning(layers, layer, leader, code):
    """Whether a layer learns a row."""
    if code == NEVER or is_idle(layers, layer):
        return False
    return code == ALWAYS or layer == leader


@part()
def say_before_learning(state, row, codes, params, work):
    """What layers that learn by their error say of a row that they are about to learn."""
    leader = leading_layer(state.layers, params)
    expand_for_rules(state.pool, row, work)
    for layer in range(codes.shape[0]):
        if state.layers.kinds[layer] < GAUSSIAN:
            if is_learning(state.layers, layer, leader, codes[layer]):
                say(state, layer, row, row, params, work, work.outputs[layer])


@part()
def train_layer(state, layer, index, batch, inputs, params, work, events):
    """One layer on one row; `work.outputs` is what it said."""
    kind = state.layers.kinds[layer]
    if kind == GAUSSIAN:
        own = params.gaussian
        learn_gaussian(state.gaussians, layer, index, batch, inputs, own, work, events)
    elif kind == CLOUDS:
        sample = (batch.labels[index], batch.weights[index])
        learn_clouds(
            state.clouds, batch.rows[index], work.outputs[layer], sample, params.clouds, work
        )
    elif kind == SURFACE:
        learn_surface(state.surface, index, batch, work.outputs[layer], params.surface, work)
    elif kind == PRIOR:
        learn_prior(state.prior, batch.labels[index], batch.weights[index], params.prior)
    elif kind < GAUSSIAN:  # the others are fitted at structural steps
        learn_rules(state, state.pool, layer, index, batch, params, work, events)


@part()
def train_all(state, codes, index, batch, inputs, params, work, events):
    """Every layer that learns a row; `work.outputs` is what the layers say of it."""
    leader = leading_layer(state.layers, params)
    for layer in range(codes.shape[0]):
        if is_learning(state.layers, layer, leader, codes[layer]):
            train_layer(state, layer, index, batch, inputs, params, work, events)
    if batch.labelled[index] != UNLABELLED:
        state.progress.counts[ROWS] += 1
        fade_clouds(state.clouds, state.progress.counts[ROWS], params.clouds)


@part()
def remember(window, boosted, index, batch, outputs, params):
    """Let the window take in a row that was learned. outputs: (L, m) what was said of it before"""
    if window is None:
        return
    if window.labels.shape[0] > 0 and batch.labelled[index] != UNLABELLED:
        sample = (batch.labels[index], batch.weights[index])
        remember_row(window, batch.rows[index], sample)
        remember_scores(window, boosted, outputs, params.boosted)


@part()
def note_stacked(state, stacked, index, batch, outputs, params, work):
    """Let stacked layers know the label of the row that they heard of."""
    if stacked is None:
        return
    if stacked.weights.shape[0] == 0:
        return
    label, own = batch.labels[index], work.stacked
    answer(state, outputs, work.shares, 1.0, True, own.answer)
    judge(state, outputs, work.shares, params, own.answer, own.judged)
    n_rows = importance(batch.labelled[index], own.judged, params)
    weight = batch.weights[index] * n_rows
    for place in range(stacked.weights.shape[0]):
        said = outputs[params.stacked.first + place]
        note_heard(stacked, place, own.heard, said, (label, weight), params.stacked)
    weigh_worth(state, outputs, (label, n_rows), params, work.shares, own)
    n_rows *= state.progress.signals[INDEPENDENCE]
    note_unforeseen(stacked, own.answer[label], own.answer.shape[0], n_rows, params.stacked)


@step()
def keep_outputs(layers, codes, params, said, kept):
    """What the layers that learned a row said of it. said, kept: (L, m)"""
    leader = leading_layer(layers, params)
    for layer in range(codes.shape[0]):
        if is_learning(layers, layer, leader, codes[layer]):
            copy_values(said[layer], kept[layer])


@part()
def has_room(state, gaussians, codes, params):
    """Whether all layers that may learn a row have room for a rule."""
    if gaussians is None:
        return True
    for layer in range(codes.shape[0]):
        if codes[layer] != NEVER and not state.layers.is_merged[layer]:
            if lacks_room(gaussians, layer, params.gaussian):
                return False
    return True


@part()
def is_visited(batch, index, params, events):
    """Whether layers see a row of a chunk: all rows where each layer chooses for itself."""
    return params.label_choice == BY_LAYER or events.taken[index] == 1


# ---- the end of a structural step


@part()
def compare_lines(outputs, label, params):
    """1 if the line of short memory alone is right, -1 if that of long memory alone is, else 0."""
    if params is None:
        return 0.0
    if params.short_line < 0:
        return 0.0
    short = 1.0 if best_class(outputs[params.short_line]) == label else 0.0
    long = 1.0 if best_class(outputs[params.long_line]) == label else 0.0
    return short - long


@part()
def adapt_memory(signals, lead, n_rows, params):
    """Shorten the adaptive memory while the short one does better, else lengthen it."""
    if params is None:
        return
    if n_rows > 0:
        referee = params.referee_memory * signals[REFEREE] + lead / n_rows
        signals[REFEREE] = referee
        rows = signals[MEMORY]
        rows = rows * params.shortening if referee > 0.0 else rows + params.lengthening * n_rows
        signals[MEMORY] = min(max(rows, params.shortest_memory), params.longest_memory)


@part()
def score_of_splitting(scores, params):
    """The score of the layer whose rules split; 0 if there is none."""
    split = 0.0
    if params is None:
        return split
    for layer in range(params.splits.shape[0]):
        if params.splits[layer]:
            split = scores[layer]
    return split


@part()
def step_all_stacked(stacked, n_rows, params, work):
    """Move the weights of all stacked layers."""
    if stacked is None:
        return
    for place in range(stacked.weights.shape[0]):
        step_stacked(stacked, place, n_rows, params, work)


@step()
def close_step(state, step, params, work, events):
    """End of a structural step: memory, priors, rest, and which layer was the best.

    step: row at which it ends, lead of the short memory, labels taken
    """
    row, lead, n_rows = step
    layers, counts = state.layers, state.progress.counts
    adapt_memory(state.progress.signals, lead, n_rows, params.pool)
    counts[STEPS] += 1
    widen_caps(state.pool, params.pool)
    if params.weighs_repeats:
        weigh_rows(state.progress)
    independent = n_rows * state.progress.signals[INDEPENDENCE]
    step_all_stacked(state.stacked, independent, params.stacked, work.stacked)
    rest_layers(state, row, params, work.shares, events)
    best, steps = leading_layer(layers, params), counts[STEPS]
    if params.keeps_layers and best >= params.n_configured and layers.last_wins[best] < steps - 1:
        split = score_of_splitting(layers.scores, params.pool)
        facts = (layers.scores[best], layers.scores[params.first_leader], split, 0.0)
        report(events, row, RECALLED_EVENT, best, 0, 0, facts)
    layers.last_wins[best] = steps


@kernel(nogil=True)
def refit(state, params, work, n_new):
    """Fit the layers that rest on the window to it anew, if enough rows have come.

    n_new: rows since the last call
    """
    state, params, work = borrowed(state), borrowed(params), borrowed(work)
    window, layers = state.window, state.layers
    if window.labels.shape[0] == 0:
        return
    window.waiting[0] += n_new
    if window.waiting[0] < FEWEST_ROWS or window.count[0] == 0:
        return
    n_new = window.waiting[0]
    window.waiting[0] = 0
    refit_neighbours(window, state.neighbours, params.neighbours, work.neighbours)
    refit_boosted(window, state.boosted, layers, n_new, params.boosted, work.boosted)


# ---- chunks


@part()
def judged_by(state, stacked, outputs, params, work, said):
    """What the label of a row is chosen by. said: the answer"""
    if stacked is None:
        return said
    if stacked.weights.shape[0] == 0:
        return said
    judge(state, outputs, work.shares, params, said, work.stacked.judged)
    return work.stacked.judged


@kernel(nogil=True)
def assess_chunk(state, params, work, batch, events, outputs):
    """Begin a chunk: choose labels, count errors, test for drift and respond to it.

    outputs: (k, L, m) what the layers said before. Returns whether there is a drift, how many
    labels were taken, and the lead of the short memory.
    """
    state, batch, events = borrowed(state), borrowed(batch), borrowed(events)
    params, work, (outputs,) = borrowed(params), borrowed(work), borrowed((outputs,))
    progress = state.progress
    total = share_votes(state, params, work.shares)
    n_taken, lead = 0, 0.0
    for index in range(batch.rows.shape[0]):
        said = work.probabilities
        answer(state, outputs[index], work.shares, total, params.soft_votes, said)
        labelled, draw = batch.labelled[index], batch.draws[index]
        judged = judged_by(state, state.stacked, outputs[index], params, work, said)
        if choose_label(progress, labelled, judged, draw, params):
            n_taken += 1
            lead += note_label(
                state, index, outputs[index], batch.labels[index], params, events, said
            )
    is_drift = find_drift(progress, 0, params, events)
    if is_drift:
        kept, source = respond_to_drift(state, state.pool, 0, params, events)
        for index in range(outputs.shape[0]):
            copy_values(outputs[index, source], outputs[index, kept])
    return is_drift, n_taken, lead


@part()
def note_label(state, index, outputs, label, params, events, said):
    """Take in a label that was chosen; returns the lead of the short memory on this row."""
    if params.label_choice != BY_LAYER:
        events.taken[index] = 1
    events.errors[index] = 1 if best_class(said) != label else 0
    if params.drift_test == DRIFT_IN_STREAM:
        note_error(state.progress.errors, events.errors[index], params.drift_significance)
    if params.weighs_repeats:
        watch_label(state.progress, label)
    return compare_lines(outputs, label, params.pool)


@kernel(nogil=True)
def learn_chunk(state, params, work, batch, events, outputs, codes, step):
    """Train on rows of a chunk; at its end, let it move the votes and close the structural step.

    step: first and last row, features, the row from which votes count (-1: not yet), whether
    `outputs` become what layers say just before they learn each row, labels taken, lead of the
    short memory. Returns the first row for which a layer had no room, or the last.
    """
    state, batch, events = borrowed(state), borrowed(batch), borrowed(events)
    params, work = borrowed(params), borrowed(work)
    outputs, codes = borrowed((outputs, codes))
    start, stop, n_features, counted, as_learned, n_taken, lead = step
    for index in range(start, stop):
        if not is_visited(batch, index, params, events):
            continue
        if not has_room(state, state.gaussians, codes, params):
            return index
        inputs = batch.rows[index]
        say_before_learning(state, inputs[:n_features], codes, params, work)
        train_all(state, codes, index, batch, inputs, params, work, events)
        remember(state.window, state.boosted, index, batch, outputs[index], params)
        if as_learned:
            keep_outputs(state.layers, codes, params, work.outputs, outputs[index])
    if counted < 0:
        return stop
    by_layer = params.label_choice == BY_LAYER
    share_votes(state, params, work.shares)
    for index in range(counted, stop):
        if batch.labelled[index] != UNLABELLED if by_layer else events.taken[index] == 1:
            hear_again(state, state.stacked, outputs[index], params, work)
            note_stacked(state, state.stacked, index, batch, outputs[index], params, work)
            move_votes(state, outputs[index], batch.labels[index], params)
    n_open = state.progress.n_open
    n_open[0] = (n_open[0] + n_taken) % params.chunk_rows
    close_step(state, (stop, lead, n_taken), params, work, events)
    return stop


@part()
def hear_again(state, stacked, outputs, params, work):
    """What stacked layers heard when a row of the chunk was predicted."""
    if stacked is None:
        return
    if stacked.weights.shape[0] > 0:
        kinds, soft, own = state.layers.kinds, params.soft_votes, work.stacked
        combine_votes(kinds, outputs, work.shares, 1.0, soft, own.vote)
        hear_layers(state, outputs, own.vote, params, own.heard)


# ---- row by row


@kernel(nogil=True)
def learn_rows(state, params, work, batch, events, outputs, start):
    """Row by row: outputs, vote, then learn at once, up to the end of a structural step.

    Such a step has `chunk_rows` labels. Returns the first row that was not looked at, also where a
    layer has no room for a rule. outputs: (k, L, m) to keep what layers said, or without rows
    """
    state, params, work = borrowed(state), borrowed(params), borrowed(work)
    batch, events, (outputs,) = borrowed(batch), borrowed(events), borrowed((outputs,))
    progress, counts, codes = state.progress, state.progress.counts, work.codes
    for layer in range(codes.shape[0]):
        codes[layer] = learning_code(layer, params)
    for index in range(start, batch.rows.shape[0]):
        if not has_room(state, state.gaussians, codes, params):
            return index
        row, label, said = batch.rows[index], batch.labels[index], work.probabilities
        total = share_votes(state, params, work.shares)
        say_all(state, row, params, work, work.outputs)
        answer(state, work.outputs, work.shares, total, params.soft_votes, said)
        labelled, draw = batch.labelled[index], batch.draws[index]
        judged = judged_by(state, state.stacked, work.outputs, params, work, said)
        is_chosen = choose_label(progress, labelled, judged, draw, params)
        if is_chosen:
            lead = note_label(state, index, work.outputs, label, params, events, said)
            progress.lead[0] += lead
            note_stacked(state, state.stacked, index, batch, work.outputs, params, work)
            move_votes(state, work.outputs, label, params)
            is_due = counts[ROWS] % params.drift_every == 0
            if is_due and find_drift(progress, index, params, events):
                respond_to_drift(state, state.pool, index, params, events)
                say_before_learning(state, row, codes, params, work)
        elif params.label_choice != BY_LAYER:
            continue
        inputs = work.inputs if params.stacks else row
        train_all(state, codes, index, batch, inputs, params, work, events)
        remember(state.window, state.boosted, index, batch, work.outputs, params)
        if outputs.shape[0] > 0:
            copy_values(work.outputs, outputs[index])
        if is_chosen:
            progress.n_open[0] += 1
            if progress.n_open[0] == params.chunk_rows:
                progress.n_open[0] = 0
                step = (index, progress.lead[0], params.chunk_rows)
                close_step(state, step, params, work, events)
                progress.lead[0] = 0.0
                return index + 1
    return batch.rows.shape[0]
