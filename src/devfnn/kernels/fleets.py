"""Many networks at once: the state has a leading axis of models, rows come in groups.

A group is rows of one model, in their order. Models know nothing of each other, so groups can be
worked through one after the other, and a model stays in the cache for all its rows.
"""

from typing import NamedTuple

from devfnn.arrays import Ints
from devfnn.kernels._jit import borrowed, kernel, part, view
from devfnn.kernels.network import learn_rows, refit, say_all
from devfnn.kernels.state import DRIFT_EVENT, REPORTED_CLOUDS, STEPS, Batch, EventBuffer
from devfnn.kernels.votes import answer, share_votes


class Groups(NamedTuple):
    """Rows of many models, put together by model."""

    models: Ints  # (g,) model of a group; every model once
    bounds: Ints  # (g + 1,) group k is places bounds[k] up to bounds[k + 1]
    order: Ints  # (k,) row at a place: by model, then as they came


class Counts(NamedTuple):
    """What is kept of every model outside its network."""

    n_rows: Ints  # (M,)
    n_labels: Ints  # (M,)
    n_drifts: Ints  # (M,)


@kernel(nogil=True)
def predict_groups(fleet, groups, rows, params, probabilities, work):
    """Class probabilities of rows, each by its model. rows: (k, n) · probabilities: (k, m)"""
    fleet, groups, work = borrowed(fleet), borrowed(groups), borrowed(work)
    params, (rows, probabilities) = borrowed(params), borrowed((rows, probabilities))
    for group in range(groups.models.shape[0]):
        state = view(fleet, groups.models[group])
        total = share_votes(state, params, work.shares)
        for place in range(groups.bounds[group], groups.bounds[group + 1]):
            index = groups.order[place]
            say_all(state, rows[index], params, work, work.outputs)
            shares, said = work.shares, probabilities[index]
            answer(state, work.outputs, shares, total, params.soft_votes, said)


@part()
def rows_between(batch, start, stop):
    """Some of the rows to learn, as views."""
    return Batch(
        batch.rows[start:stop],
        batch.labels[start:stop],
        batch.weights[start:stop],
        batch.draws[start:stop],
        batch.labelled[start:stop],
    )


@part()
def events_between(events, start, stop):
    """The event buffer of these rows; its lines are those of the last part alone."""
    events.count[0] = 0
    taken, errors = events.taken[start:stop], events.errors[start:stop]
    return EventBuffer(taken, errors, events.lines, events.numbers, events.count)


@part()
def count_up(counts, model, events, n_rows):
    """Take in what the learning of rows reported."""
    counts.n_rows[model] += n_rows
    for index in range(n_rows):
        counts.n_labels[model] += events.taken[index]
    for line in range(events.count[0]):
        if events.lines[line, 1] == DRIFT_EVENT:
            counts.n_drifts[model] += 1


@part()
def note_reported(clouds, counts):
    """Keep the number of clouds that was last reported."""
    if clouds is None:
        return
    counts[REPORTED_CLOUDS] = clouds.count[0]


@kernel(nogil=True)
def learn_groups(fleet, groups, batch, params, events, counts, outputs, work):
    """Let every model learn its rows, one by one; batch and events are in the groups' order.

    outputs: (0, L, m)
    """
    fleet, groups, batch = borrowed(fleet), borrowed(groups), borrowed(batch)
    events, counts, work = borrowed(events), borrowed(counts), borrowed(work)
    params, (outputs,) = borrowed(params), borrowed((outputs,))
    for group in range(groups.models.shape[0]):
        model, stop = groups.models[group], groups.bounds[group + 1]
        state = view(fleet, model)
        place = groups.bounds[group]
        while place < stop:
            steps = state.progress.counts[STEPS]
            own = borrowed(rows_between(batch, place, stop))
            reported = borrowed(events_between(events, place, stop))
            done = learn_rows(state, params, work, own, reported, outputs, 0)
            if state.progress.counts[STEPS] > steps:
                note_reported(state.clouds, state.progress.counts)
                refit(state, params, work, params.chunk_rows)
            count_up(counts, model, reported, done)
            place += done
