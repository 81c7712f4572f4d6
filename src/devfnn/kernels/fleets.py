"""Many concept networks at once: the state has a leading axis of models, rows come in groups.

A group is rows of one model, in their order. Models know nothing of each other, so groups can be
worked through one after the other, and a model stays in the cache for all its rows.
"""

from typing import NamedTuple

from devfnn.kernels._jit import borrowed, kernel, part
from devfnn.kernels.concept_state import DRIFT_LINE, STEPS, TOLD, Concepts, Diary, Lessons
from devfnn.kernels.concept_votes import combine, share_votes
from devfnn.kernels.concepts import learn_rows, say_all
from devfnn.kernels.state import Floats, Ints


class Groups(NamedTuple):
    """Rows of many models, put together by model."""

    models: Ints  # (g,) model of a group; every model once
    bounds: Ints  # (g + 1,) group k is places bounds[k] up to bounds[k + 1]
    order: Ints  # (k,) row at a place: by model, then as they came


class Counts(NamedTuple):
    """What is kept of every model outside its network."""

    leads: Floats  # (M, 1) of the brisk line since the last structural step
    n_rows: Ints  # (M,)
    n_labels: Ints  # (M,)
    n_drifts: Ints  # (M,)


@part()
def view(fleet, model):
    """One network of a fleet, as views."""
    return Concepts(
        fleet.owners[model],
        fleet.lows[model],
        fleet.highs[model],
        fleet.weights[model],
        fleet.gains[model],
        fleet.caps[model],
        fleet.evidence[model],
        fleet.crossings[model],
        fleet.ages[model],
        fleet.means[model],
        fleet.variances[model],
        fleet.class_counts[model],
        fleet.kinds[model],
        fleet.members[model],
        fleet.n_members[model],
        fleet.scores[model],
        fleet.rests[model],
        fleet.last_wins[model],
        fleet.disagreements[model],
        fleet.compared[model],
        fleet.cloud_centers[model],
        fleet.cloud_labels[model],
        fleet.cloud_spreads[model],
        fleet.cloud_masses[model],
        fleet.cloud_heights[model],
        fleet.n_clouds[model],
        fleet.track[model],
        fleet.course[model],
        fleet.label_shares[model],
        fleet.clock[model],
        fleet.purse[model],
    )


@kernel()
def predict_groups(fleet, groups, rows, habits, probabilities, work):
    """Class probabilities of rows, each by its model. rows: (k, n) · probabilities: (k, m)"""
    fleet, groups, work = borrowed(fleet), borrowed(groups), borrowed(work)
    rows, probabilities = borrowed((rows, probabilities))
    for group in range(groups.models.shape[0]):
        state = view(fleet, groups.models[group])
        share_votes(state, habits, work.shares)
        for place in range(groups.bounds[group], groups.bounds[group + 1]):
            index = groups.order[place]
            say_all(state, rows[index], work)
            combine(work.outputs, work.shares, probabilities[index])


@part()
def rows_between(lessons, start, stop):
    """Some of the rows to learn, as views."""
    return Lessons(
        lessons.rows[start:stop],
        lessons.labels[start:stop],
        lessons.weights[start:stop],
        lessons.draws[start:stop],
        lessons.labelled[start:stop],
    )


@part()
def pages_between(diary, start, stop):
    """The diary of these rows; its lines are those of the last part alone."""
    diary.n_lines[0] = 0
    taken, errors = diary.taken[start:stop], diary.errors[start:stop]
    return Diary(taken, errors, diary.lines, diary.numbers, diary.n_lines)


@part()
def count_up(counts, model, diary, n_rows):
    """Take in what the learning of rows reported."""
    counts.n_rows[model] += n_rows
    for index in range(n_rows):
        counts.n_labels[model] += diary.taken[index]
    for line in range(diary.n_lines[0]):
        if diary.lines[line, 1] == DRIFT_LINE:
            counts.n_drifts[model] += 1


@kernel()
def learn_groups(fleet, groups, lessons, habits, diary, counts, work):
    """Let every model learn its rows, one by one; lessons and diary are in the groups' order."""
    fleet, groups, lessons = borrowed(fleet), borrowed(groups), borrowed(lessons)
    diary, counts, work = borrowed(diary), borrowed(counts), borrowed(work)
    for group in range(groups.models.shape[0]):
        model, stop = groups.models[group], groups.bounds[group + 1]
        state, lead = view(fleet, model), counts.leads[model]
        place = groups.bounds[group]
        while place < stop:
            steps = state.clock[STEPS]
            lesson, pages = rows_between(lessons, place, stop), pages_between(diary, place, stop)
            done = learn_rows(state, lesson, habits, pages, lead, work)
            if state.clock[STEPS] > steps:
                state.clock[TOLD] = state.n_clouds[0]
            count_up(counts, model, pages, done)
            place += done
