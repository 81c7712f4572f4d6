"""The concept network over rows: outputs of its layers, their vote, and learning."""

import numpy as np

from devfnn.kernels._jit import borrowed, kernel, part
from devfnn.kernels.boxes import gather_evidence, holding_rule, note_row, split_rule
from devfnn.kernels.caps import widen_caps
from devfnn.kernels.clouds import REFRESH_ROWS, cloud_shares, fade_clouds, learn_clouds
from devfnn.kernels.concept_labels import is_chosen
from devfnn.kernels.concept_state import (
    BOX_LAYER,
    BOXES,
    BRISK_LINE,
    CALM_CURVE,
    CLOUD_LAYER,
    CLOUDS,
    FIRST_KEPT,
    LINE,
    LIVELY_CURVE,
    MEMORY,
    NO_LAYER,
    QUICK_LINE,
    RECALLED_LINE,
    REFEREE,
    ROWS,
    SCORED,
    STEADY_LINE,
    STEPS,
)
from devfnn.kernels.concept_votes import best_layer, combine, is_idle, score_layers, share_votes
from devfnn.kernels.diary import note
from devfnn.kernels.drifts import find_drift, note_error, respond
from devfnn.kernels.logistic import class_shares, expand_row, learn_logistic, repair_gains
from devfnn.kernels.repeats import watch_label, weigh_evidence
from devfnn.kernels.state import OFFERED
from devfnn.kernels.votes import best_class

CHECK_EVERY = 4096
"""Updates of a rule between two checks that its gains are positive definite."""

DRIFT_EVERY = 50
"""Rows between two tests for drift when learning row by row."""

NO_SAY = 1e-3
"""Share of the vote below which the clouds rest."""

REST_STEPS = 4

GRACE = 10000
"""Rows scored after a drift before which the clouds never rest: they may need some time. Where rows
repeat each other an alarm counts for less, and part of the rows before it is counted too."""

REFEREE_MEMORY, SHORTENING, LENGTHENING = 0.75, 0.8, 0.5
"""How the memory moves at a structural step: what is kept of the comparison between the two lines,
the factor when the brisk one was better, and the rows per row learned when it was not."""

BRISKNESS = 0.25
"""Memory of the brisk line, as a share of that of the steady one."""

LEAST_TRUST = 1e-6


@part()
def size_of(state, layer, row):
    """Expanded features that a layer uses: lines do without the curves."""
    n = row.shape[0]
    return 1 + 2 * n if state.kinds[layer] == BOXES else 1 + n


@part()
def say(state, layer, row, work):
    """Class probabilities of one layer, into `work.outputs`; `work.expanded` is the row's."""
    output = work.outputs[layer]
    if state.kinds[layer] == CLOUDS:
        cloud_shares(state, row, work, output)
    else:
        rule = holding_rule(state, layer, row)
        size = size_of(state, layer, row)
        class_shares(state.weights[rule], work.expanded, size, output)


@part()
def say_all(state, row, work):
    """Outputs of all layers that do not rest; the others leave zeros."""
    expand_row(row, work.expanded)
    for layer in range(state.kinds.shape[0]):
        if is_idle(state, layer):
            work.outputs[layer, :] = 0.0
        else:
            say(state, layer, row, work)


@part()
def memory_of(state, layer, habits):
    """Share of the past that a layer keeps per row."""
    if not habits.forgetting:
        return 1.0
    rows = state.course[MEMORY]
    if layer == QUICK_LINE:
        rows = habits.quick_rows
    elif layer == BRISK_LINE:
        rows *= BRISKNESS
    elif layer == LIVELY_CURVE:
        rows = habits.shortest_rows
    elif layer == CALM_CURVE:
        rows = habits.longest_rows
    return 1.0 - 1.0 / rows


@part()
def trust(said, label, noise):
    """Probability that a label is right, if a share of them is drawn at random."""
    own = (1.0 - noise) * said[label]
    return own / max(own + noise / said.shape[0], 1e-300)


@part()
def train_layer(state, layer, index, lesson, habits, work, diary):
    """One layer on one row. lesson: row, label, weight; `work.outputs` is what the layer said."""
    row, label, weight = lesson
    said = work.outputs[layer]
    if state.kinds[layer] == CLOUDS:
        learn_clouds(state, row, said, (label, weight), habits, work)
        return
    rule = holding_rule(state, layer, row)
    size = size_of(state, layer, row)
    is_wary = state.kinds[layer] == LINE and layer != QUICK_LINE
    if is_wary:
        weight *= max(trust(said, label, habits.label_noise), LEAST_TRUST)
    taught = (label, weight, memory_of(state, layer, habits))
    weights, gains = state.weights[rule], state.gains[rule]
    learn_logistic(weights, gains, size, said, taught, state.caps, work)
    note_row(state, rule, row, label, weight)
    if state.ages[rule] % CHECK_EVERY == 0:
        repair_gains(gains, size, state.caps)
    if layer == BOX_LAYER and habits.rule_growing:
        gather_evidence(state, rule, row, label, said)
        has_room = state.n_members[layer] < state.members.shape[1]
        if state.ages[rule] % habits.split_every == 0 and has_room:
            split_rule(state, layer, rule, index, habits, diary)


@part()
def is_learning(state, layer, best):
    """Layers that learn: those that are always there, and a kept one while it is the best."""
    return not is_idle(state, layer) and (layer < FIRST_KEPT or layer == best)


@part()
def say_before_learning(state, row, work):
    """Outputs of the layers that are about to learn the row."""
    best = best_layer(state)
    expand_row(row, work.expanded)
    for layer in range(state.kinds.shape[0]):
        if is_learning(state, layer, best):
            say(state, layer, row, work)


@part()
def train_all(state, index, lesson, habits, work, diary):
    """Everything that learns a row; `work.outputs` is what the layers say of it."""
    best = best_layer(state)
    for layer in range(state.kinds.shape[0]):
        if is_learning(state, layer, best):
            train_layer(state, layer, index, lesson, habits, work, diary)
    state.clock[ROWS] += 1
    if state.clock[ROWS] % REFRESH_ROWS == 0 and state.kinds[CLOUD_LAYER] == CLOUDS:
        fade_clouds(state, habits.cloud_memory)


@part()
def compare_lines(outputs, label):
    """1 if the brisk line is right and the steady one wrong, -1 the other way round, else 0."""
    brisk = 1.0 if best_class(outputs[BRISK_LINE]) == label else 0.0
    steady = 1.0 if best_class(outputs[STEADY_LINE]) == label else 0.0
    return brisk - steady


@part()
def adapt_memory(state, lead, n_rows, habits):
    """Shorten the memory while the short one does better, else lengthen it."""
    if n_rows > 0:
        referee = REFEREE_MEMORY * state.course[REFEREE] + lead / n_rows
        state.course[REFEREE] = referee
        rows = state.course[MEMORY]
        rows = rows * SHORTENING if referee > 0.0 else rows + LENGTHENING * n_rows
        state.course[MEMORY] = min(max(rows, habits.shortest_rows), habits.longest_rows)
    state.clock[STEPS] += 1


@part()
def rest_clouds(state, habits, shares):
    """Clouds without a say sit out a few steps, then show again what they can do."""
    if state.kinds[CLOUD_LAYER] == NO_LAYER:
        return
    if state.rests[CLOUD_LAYER] > 0:
        state.rests[CLOUD_LAYER] -= 1
    else:
        share_votes(state, habits, shares)
        if shares[CLOUD_LAYER] < NO_SAY and state.clock[SCORED] >= GRACE:
            state.rests[CLOUD_LAYER] = REST_STEPS


@kernel()
def close_step(state, index, lead, n_rows, habits, work, diary):
    """End of a structural step: memory, priors, rest, and which layer was the best."""
    adapt_memory(state, lead, n_rows, habits)
    widen_caps(state, habits)
    weigh_evidence(state)
    rest_clouds(state, habits, work.shares)
    best = best_layer(state)
    steps = state.clock[STEPS]
    if best >= FIRST_KEPT and state.last_wins[best] < steps - 1:
        facts = (state.scores[best], state.scores[STEADY_LINE], state.scores[BOX_LAYER], 0.0)
        note(diary, index, RECALLED_LINE, best, 0, 0, facts)
    state.last_wins[best] = steps


@kernel()
def forward(state, rows, outputs, work):
    """Outputs of all layers for rows. rows: (k, n) · outputs: (k, L, m)"""
    state, work = borrowed(state), borrowed(work)
    rows, outputs = borrowed((rows, outputs))
    for index in range(rows.shape[0]):
        say_all(state, rows[index], work)
        outputs[index] = work.outputs


@kernel()
def vote(state, outputs, habits, probabilities):
    """The network's probabilities. outputs: (k, L, m) · probabilities: (k, m)"""
    state = borrowed(state)
    own = np.zeros(state.kinds.shape[0])
    share_votes(state, habits, own)
    outputs, probabilities, shares = borrowed((outputs, probabilities, own))
    for index in range(outputs.shape[0]):
        combine(outputs[index], shares, probabilities[index])
    own[0] = 0.0  # keeps it alive


@kernel()
def voting_shares(state, habits, shares):
    """Voting weights of all layers; 0 for those that rest."""
    share_votes(state, habits, shares)


@part()
def train_rows(state, lessons, start, stop, habits, work, diary):
    """Train on the rows of a part that were chosen."""
    for index in range(start, stop):
        if diary.taken[index]:
            lesson = (lessons.rows[index], lessons.labels[index], lessons.weights[index])
            say_before_learning(state, lessons.rows[index], work)
            train_all(state, index, lesson, habits, work, diary)


@part()
def say_again(state, rows, start, work, outputs):
    """What the layers that are always there say of rows from `start` on, as they are by now."""
    for index in range(start, rows.shape[0]):
        expand_row(rows[index], work.expanded)
        for layer in range(FIRST_KEPT):
            if not is_idle(state, layer):
                say(state, layer, rows[index], work)
                outputs[index, layer] = work.outputs[layer]


@kernel()
def learn_chunk(state, lessons, outputs, habits, diary, work):
    """Learn a chunk; `outputs` (k, L, m) is what the layers said of it before.

    Labels are chosen and errors counted first; then drift is answered; then the layers learn, and
    the votes move by what was said before. After a drift, layers that have started anew are asked
    again when they have learned half of the chunk, and only the other half counts.
    """
    state, lessons, diary = borrowed(state), borrowed(lessons), borrowed(diary)
    work, (outputs,) = borrowed(work), borrowed((outputs,))
    share_votes(state, habits, work.shares)
    n_taken, lead = 0, 0.0
    for index in range(lessons.rows.shape[0]):
        combine(outputs[index], work.shares, work.probabilities)
        draw, labelled = lessons.draws[index], lessons.labelled[index]
        if is_chosen(state, labelled, work.probabilities, draw, habits):
            label = lessons.labels[index]
            diary.taken[index] = 1
            diary.errors[index] = 1 if best_class(work.probabilities) != label else 0
            n_taken += 1
            note_error(state.track, diary.errors[index], habits)
            watch_label(state, label)
            lead += compare_lines(outputs[index], label)
    n_rows, tested = lessons.rows.shape[0], 0
    is_drift = find_drift(state, 0, habits, diary)
    if is_drift:
        kept, source = respond(state, 0, habits, diary)
        outputs[:, kept] = outputs[:, source]
        tested = n_rows // 2
    for start, stop in ((0, tested), (tested, n_rows)):
        if is_drift and stop == n_rows:
            say_again(state, lessons.rows, start, work, outputs)
        train_rows(state, lessons, start, stop, habits, work, diary)
    for index in range(tested, n_rows):
        if diary.taken[index]:
            score_layers(state, outputs[index], lessons.labels[index], habits)
    close_step(state, n_rows, lead, n_taken, habits, work, diary)


@kernel()
def learn_rows(state, lessons, habits, diary, lead, work):
    """Row by row: outputs, vote, then learn at once, up to the end of a structural step.

    Such a step has `chunk_rows` labels. Returns the first row that was not looked at.
    lead: (1,) of the brisk line since the last step, kept between calls
    """
    state, lessons, diary = borrowed(state), borrowed(lessons), borrowed(diary)
    work = borrowed(work)
    for index in range(lessons.rows.shape[0]):
        row, label = lessons.rows[index], lessons.labels[index]
        say_all(state, row, work)
        share_votes(state, habits, work.shares)
        combine(work.outputs, work.shares, work.probabilities)
        draw, labelled = lessons.draws[index], lessons.labelled[index]
        if not is_chosen(state, labelled, work.probabilities, draw, habits):
            continue
        diary.taken[index] = 1
        diary.errors[index] = 1 if best_class(work.probabilities) != label else 0
        note_error(state.track, diary.errors[index], habits)
        watch_label(state, label)
        lead[0] += compare_lines(work.outputs, label)
        score_layers(state, work.outputs, label, habits)
        is_drift = state.clock[ROWS] % DRIFT_EVERY == 0 and find_drift(state, index, habits, diary)
        if is_drift:
            respond(state, index, habits, diary)
            say_before_learning(state, row, work)
        lesson = (row, label, lessons.weights[index])
        train_all(state, index, lesson, habits, work, diary)
        if state.clock[ROWS] % habits.chunk_rows == 0:
            close_step(state, index, lead[0], habits.chunk_rows, habits, work, diary)
            lead[0] = 0.0
            return index + 1
    return lessons.rows.shape[0]


@kernel()
def choose(state, probabilities, draws, habits, wanted):
    """Which rows the network asks for as it stands; course and purse go on row by row."""
    for index in range(draws.shape[0]):
        draw = draws[index]
        wanted[index] = is_chosen(state, OFFERED, probabilities[index], draw, habits)
