"""Boosted trees: small trees, each fitted to what the trees before it leave of a window of rows.

A tree has one structure for all classes, found on a random projection of them, and a vector of log
odds in every leaf. The scores of the rows of the window are kept, so that a tree costs what its
rows cost, not what all trees do.

Nodes of a tree are numbered as in a heap: below node k are 2k + 1 and 2k + 2; the last ones are
leaves. A node that does not split has an infinite threshold: all rows go to the left.
"""

import numpy as np

from devfnn.kernels._jit import part, step
from devfnn.kernels.recursive import softmax
from devfnn.kernels.state import N_EDGES
from devfnn.kernels.window import first_column, n_remembered, next_column

MULTIPLIER, MODULUS = 48271, 2**31 - 1
"""Lehmer's generator of random numbers with the constants of Park and Miller: products stay within
64 bits, so plain Python gives the same."""

BYTE = 256
"""Shares of rows are drawn in steps of 1 / 256."""

SEED_STEP, LAYER_STEP = 1000003, 7919
"""Primes that keep the seeds of trees and layers apart."""

NORMAL_TERMS = 12
"""Uniform numbers whose sum, less its mean, is as good as normal: its variance is 1."""

QUANTILE_ROWS = 256
"""Rows of the window on which the bins are estimated: with 32 bins, eight in each."""

STRETCH = 512
"""Rows that go through a tree together: 2 kB of each feature."""

LEAST_PROBABILITY = 1e-12
"""Keeps the logarithm of a probability finite."""


@part()
def next_random(seed):
    """The next random number, from 1 to 2^31 - 2."""
    return seed * MULTIPLIER % MODULUS


@part()
def first_random(seed, layer, number):
    """Where the random numbers of a tree begin."""
    start = (seed % MODULUS + layer * LAYER_STEP + (number + 1) * SEED_STEP) % (MODULUS - 1) + 1
    return next_random(next_random(start))


# ---- what trees say


@part()
def leaf_of(boosted, tree, row, has_gap, depth):
    """The leaf of a tree that a row falls into. row: (n,) single

    Without branches, which nobody could foresee; only rows with gaps have them.
    """
    features, thresholds = boosted.features[tree], boosted.thresholds[tree]
    node = 0
    for _ in range(depth):
        value = row[features[node]]
        below = 2 * node + 2 - int(value <= thresholds[node])
        if has_gap and value != value and boosted.lefts[tree, node]:
            below -= 1
        node = below
    return node - features.shape[0]


@step()
def say_boosted(boosted, layer, row, params, work, output):
    """Class probabilities by the trees of a layer. output: (m,)"""
    if boosted is None:
        return
    single, has_gap = work.row, False
    for j in range(single.shape[0]):
        single[j] = np.float32(row[j])
        has_gap = has_gap or row[j] != row[j]
    place = 0
    while params.layers[place] != layer:
        place += 1
    for k in range(output.shape[0]):
        output[k] = boosted.bases[place, k]
    start, room, depth = params.starts[place], params.rooms[place], params.depth
    scales, leaves = boosted.scales, boosted.leaves
    for tree in range(start, start + min(room, boosted.grown[place])):
        leaf = leaf_of(boosted, tree, single, has_gap, depth)
        for k in range(output.shape[0]):
            output[k] += scales[tree] * leaves[tree, leaf, k]
    softmax(output, output)


# ---- the window


@part()
def leave_node(values, node, threshold, absent_left, nodes):
    """Move the rows at a node to the nodes below it. values: (k,) single · nodes: (k,)

    Without branches, so that several rows are moved at once. absent_left: 1 or 0
    """
    for place in range(values.shape[0]):
        value, own = values[place], nodes[place]
        goes_left = int(value <= threshold) | (absent_left & int(value != value))
        nodes[place] = np.int32(2 * node + 2 - goes_left) if own == node else own


@step()
def add_tree_to(window, boosted, place, tree, start, stop, scale, nodes):
    """Add what a tree says of neighbouring rows of the window to their scores. nodes: (k,)"""
    n_inner, n_classes = boosted.features.shape[1], boosted.leaves.shape[2]
    scores, leaves, own = boosted.scores[place], boosted.leaves[tree], nodes[: stop - start]
    for number in range(own.shape[0]):
        own[number] = np.int32(0)
    for node in range(n_inner):  # those below a node come after it
        values = window.rows[boosted.features[tree, node], start:stop]
        absent_left = int(boosted.lefts[tree, node])
        leave_node(values, np.int32(node), boosted.thresholds[tree, node], absent_left, own)
    for number in range(own.shape[0]):
        for k in range(n_classes):
            said = scale * leaves[own[number] - n_inner, k]
            scores[start + number, k] += np.float32(said)


@part()
def add_tree(window, boosted, place, tree, n_rows, scale, nodes):
    """Add what a tree says of the newest rows to their scores, `scale` times. nodes: (V,)

    Some rows at a time, so that they stay near at hand.
    """
    room, first = window.labels.shape[0], first_column(window, n_rows)
    last = first + n_rows
    for start in range(first, last, STRETCH):
        stop = min(start + STRETCH, last)
        if stop <= room:
            add_tree_to(window, boosted, place, tree, start, stop, scale, nodes)
        elif start >= room:
            add_tree_to(window, boosted, place, tree, start - room, stop - room, scale, nodes)
        else:  # across the end of the ring
            add_tree_to(window, boosted, place, tree, start, room, scale, nodes)
            add_tree_to(window, boosted, place, tree, 0, stop - room, scale, nodes)


@part()
def remember_scores(window, boosted, outputs, params):
    """Keep what boosted layers said of the row that was remembered last. outputs: (L, m)"""
    if boosted is None:
        return
    for place in range(params.layers.shape[0]):
        layer, column = params.layers[place], first_column(window, 1)
        if outputs[layer, 0] != outputs[layer, 0]:  # it rested
            boosted.is_stale[place] = True
        elif not boosted.is_stale[place]:
            for k in range(outputs.shape[1]):
                share = max(outputs[layer, k], LEAST_PROBABILITY)
                boosted.scores[place, column, k] = np.float32(np.log(share))


@step()
def score_window(window, boosted, place, n_rows, params, work):
    """Scores of the newest rows from all trees: for a layer that has rested, or a new class."""
    column, room = first_column(window, n_rows), window.labels.shape[0]
    for _ in range(n_rows):
        for k in range(boosted.bases.shape[1]):
            boosted.scores[place, column, k] = np.float32(boosted.bases[place, k])
        column = next_column(column, room)
    start = params.starts[place]
    for tree in range(start, start + min(params.rooms[place], boosted.grown[place])):
        add_tree(window, boosted, place, tree, n_rows, boosted.scales[tree], work.columns)


@part()
def forget_trees(boosted, layer, params):
    """Let a layer begin anew on the window, if it is one of trees."""
    if boosted is None:
        return
    for place in range(params.layers.shape[0]):
        if params.layers[place] == layer:
            boosted.grown[place] = 0
            boosted.is_stale[place] = True


@step()
def find_edges(window, boosted, feature, values):
    """Quantiles of a feature as edges of its bins; NaN where there are fewer bins."""
    n_rows, count = n_remembered(window, window.labels.shape[0]), 0
    n_looked = min(n_rows, QUANTILE_ROWS)
    for number in range(n_looked):
        value = window.rows[feature, number * n_rows // n_looked]
        if value == value:  # sorted as they come
            place = count
            while place > 0 and values[place - 1] > value:
                values[place] = values[place - 1]
                place -= 1
            values[place] = value
            count += 1
    edges, n_edges = boosted.edges[feature], 0
    for k in range(edges.shape[0]):
        place = k * count // (edges.shape[0] + 1)
        above = place
        while above < count and values[above] == values[place]:
            above += 1
        if above < count:  # halfway to the next larger value
            middle = np.float32(0.5) * (values[place] + values[above])
            if n_edges == 0 or middle > edges[n_edges - 1]:
                edges[n_edges] = middle
                n_edges += 1
    for k in range(n_edges, edges.shape[0]):
        edges[k] = np.float32(np.nan)


@part()
def bin_of(edges, value):
    """The bin of a value: how many edges lie below it; the last one for an absent value."""
    if value != value:
        return N_EDGES + 1
    low, high = 0, N_EDGES
    while low < high:  # beyond the last edge stands NaN, which no value is above
        middle = (low + high) // 2
        if value > edges[middle]:
            low = middle + 1
        else:
            high = middle
    return low


@step()
def code_window(window, boosted, n_rows):
    """Bins of the newest rows."""
    for feature in range(window.rows.shape[0]):
        edges, codes, values = boosted.edges[feature], boosted.codes[feature], window.rows[feature]
        column = first_column(window, n_rows)
        for _ in range(n_rows):
            codes[column] = bin_of(edges, values[column])
            column = next_column(column, values.shape[0])


# ---- growing a tree


@part()
def draw_rows(window, n_rows, seed, params, work):
    """Some of the newest rows, at random; returns how many, and the random numbers after."""
    count, column, room = 0, first_column(window, n_rows), window.labels.shape[0]
    limit, bits = int(params.row_share * BYTE), 0
    for _ in range(n_rows):
        if bits < BYTE:  # a random number has bits for three rows
            seed = next_random(seed)
            bits = seed + MODULUS + 1
        work.columns[count] = column  # without branches; the next overwrites one that is not drawn
        work.nodes[count] = 0
        count += int(bits % BYTE < limit)
        bits //= BYTE
        column = next_column(column, room)
    return count, seed


@part()
def draw_features(seed, params, work):
    """Some of the features, at random: the first in `work.features`; how many, random numbers."""
    n = work.features.shape[0]
    count = min(int(np.ceil(params.feature_share * n)), params.max_features)
    for j in range(count):
        seed = next_random(seed)
        other = j + seed % (n - j)
        work.features[j], work.features[other] = work.features[other], work.features[j]
    return count, seed


@part()
def draw_contrast(seed, contrast):
    """One number for each class, by which they are told apart; random numbers after."""
    if contrast.shape[0] == 2:
        contrast[0], contrast[1] = -1.0, 1.0
        return seed
    for k in range(contrast.shape[0]):
        total = -0.5 * NORMAL_TERMS
        for _ in range(NORMAL_TERMS):
            seed = next_random(seed)
            total += seed / MODULUS
        contrast[k] = total
    return seed


@step()
def find_slopes(window, scores, count, work):
    """Gradient and curvature of the loss of rows, along the contrast of the tree."""
    contrast, n_classes = work.contrast, work.contrast.shape[0]
    for number in range(count):
        column, said = work.columns[number], work.said[number]
        label, weight = window.labels[column], window.weights[column]
        if n_classes == 2:
            share = 1.0 / (1.0 + np.exp(scores[column, 0] - scores[column, 1]))
            said[0], said[1] = 1.0 - share, share
        else:
            top, total = scores[column, 0], np.float32(0.0)
            for k in range(1, n_classes):
                top = max(top, scores[column, k])
            for k in range(n_classes):
                said[k] = np.exp(scores[column, k] - top)
                total += said[k]
            for k in range(n_classes):
                said[k] /= total
        mean, squares = 0.0, 0.0
        for k in range(n_classes):
            mean += said[k] * contrast[k]
            squares += said[k] * contrast[k] * contrast[k]
        work.slopes[number, 0] = weight * (contrast[label] - mean)
        work.slopes[number, 1] = weight * (squares - mean * mean)


@part()
def fill_bins(codes, count, n_nodes, work):
    """Sums of gradient and curvature of a feature, by node and bin."""
    bins, columns, nodes, slopes = work.bins, work.columns, work.nodes, work.slopes
    for node in range(n_nodes):
        for k in range(bins.shape[1]):
            bins[node, k, 0] = np.float32(0.0)
            bins[node, k, 1] = np.float32(0.0)
    for number in range(count):
        node, code = nodes[number], codes[columns[number]]
        bins[node, code, 0] += slopes[number, 0]
        bins[node, code, 1] += slopes[number, 1]


@part()
def find_split(bins, feature, node, params, best):
    """Whether a feature splits a node better than what is known. best: (nodes, 4)

    best: gain, feature, bin, whether rows without the feature go left
    """
    slope, curvature = 0.0, 0.0
    for k in range(N_EDGES + 2):
        slope += bins[k, 0]
        curvature += bins[k, 1]
    lost = bins[N_EDGES + 1, 0], bins[N_EDGES + 1, 1]
    whole = slope * slope / (curvature + params.ridge)
    left_slope, left_curvature = 0.0, 0.0
    for k in range(N_EDGES):
        left_slope += bins[k, 0]
        left_curvature += bins[k, 1]
        for side in range(2 if lost[1] > 0.0 else 1):
            first, second = left_slope + side * lost[0], left_curvature + side * lost[1]
            third, fourth = slope - first, curvature - second
            if second < params.least_curvature or fourth < params.least_curvature:
                continue
            gain = first * first / (second + params.ridge) - whole
            gain += third * third / (fourth + params.ridge)
            if gain > best[node, 0]:
                best[node, 0] = gain
                best[node, 1] = feature
                best[node, 2] = k
                best[node, 3] = side


@part()
def place_split(boosted, tree, node, best, cut):
    """Let a node of a tree split as was found best. cut: feature, bin, side of absent values"""
    feature = int(best[1])
    boosted.features[tree, node] = max(feature, 0)
    boosted.thresholds[tree, node] = np.float32(np.inf)
    boosted.lefts[tree, node] = best[3] > 0.0
    cut[0], cut[1], cut[2] = max(feature, 0), N_EDGES + 1, 0
    if feature >= 0:
        boosted.thresholds[tree, node] = boosted.edges[feature, int(best[2])]
        cut[1], cut[2] = int(best[2]), 0 if best[3] > 0.0 else 1


@step()
def grow_structure(boosted, tree, count, n_features, params, work):
    """Split nodes level by level; `work.nodes` ends as the leaves of the rows."""
    best, n_nodes, first = work.best, 1, 0
    while first < boosted.features.shape[1]:
        for node in range(n_nodes):
            best[node, 0], best[node, 1] = params.least_gain, -1.0
            best[node, 2], best[node, 3] = 0.0, 1.0
        for number in range(n_features):
            feature = work.features[number]
            if boosted.edges[feature, 0] == boosted.edges[feature, 0]:  # it has bins
                fill_bins(boosted.codes[feature], count, n_nodes, work)
                for node in range(n_nodes):
                    find_split(work.bins[node], feature, node, params, best)
        for node in range(n_nodes):
            place_split(boosted, tree, first + node, best[node], work.cuts[node])
        for number in range(count):
            node = work.nodes[number]
            code = boosted.codes[work.cuts[node, 0], work.columns[number]]
            side = 1 - int(code <= work.cuts[node, 1])
            if code == N_EDGES + 1:
                side = work.cuts[node, 2]
            work.nodes[number] = 2 * node + side
        first, n_nodes = 2 * first + 1, 2 * n_nodes


@step()
def fill_leaves(window, boosted, tree, count, rate, params, work):
    """The log odds of all leaves of a tree: a damped Newton step for every class."""
    leaves, covers, sums = boosted.leaves[tree], boosted.covers[tree], work.sums
    n_classes = leaves.shape[1]
    for leaf in range(leaves.shape[0]):
        covers[leaf] = np.float32(0.0)
        for k in range(n_classes):
            sums[leaf, k, 0] = 0.0
            sums[leaf, k, 1] = 0.0
    for number in range(count):
        column, own = work.columns[number], sums[work.nodes[number]]
        weight, said = window.weights[column], work.said[number]
        for k in range(n_classes):
            own[k, 0] -= weight * said[k]
            own[k, 1] += weight * said[k] * (1.0 - said[k])
        own[window.labels[column], 0] += weight
        covers[work.nodes[number]] += np.float32(weight)
    double = 2.0 if n_classes == 2 else 1.0  # two classes move each other
    for leaf in range(leaves.shape[0]):
        for k in range(n_classes):
            step_size = sums[leaf, k, 0] / (double * sums[leaf, k, 1] + params.ridge)
            leaves[leaf, k] = rate * step_size


@step()
def grow_tree(window, boosted, place, n_rows, params, work):
    """One more tree, in place of the oldest of its layer."""
    number, start, room = boosted.grown[place], params.starts[place], params.rooms[place]
    tree = start + number % room
    if number >= room:
        add_tree(window, boosted, place, tree, n_rows, -boosted.scales[tree], work.columns)
    seed = first_random(params.seed, place, number)
    count, seed = draw_rows(window, n_rows, seed, params, work)
    n_features, seed = draw_features(seed, params, work)
    draw_contrast(seed, work.contrast)
    find_slopes(window, boosted.scores[place], count, work)
    grow_structure(boosted, tree, count, n_features, params, work)
    fill_leaves(window, boosted, tree, count, params.rates[place], params, work)
    boosted.scales[tree] = 1.0
    add_tree(window, boosted, place, tree, n_rows, 1.0, work.columns)
    boosted.grown[place] += 1


@step()
def refit_bins(window, boosted, params, values):
    """Bins of the rows that came since the last time; now and then with edges made anew."""
    n_rows, past = n_remembered(window, window.labels.shape[0]), boosted.refits[0]
    is_due = past < params.first_refits or past % params.bins_every == 0
    if is_due:
        for feature in range(window.rows.shape[0]):
            find_edges(window, boosted, feature, values)
    fresh = window.count[0] - boosted.coded[0]
    code_window(window, boosted, n_rows if is_due else min(fresh, n_rows))
    boosted.coded[0] = window.count[0]
    boosted.refits[0] += 1


@step()
def refit_boosted(window, boosted, layers, n_new, params, work):
    """Let all trees fade, and grow new ones, as many as the rows since the last time ask for."""
    if boosted is None:
        return
    if params.layers.shape[0] == 0:
        return
    refit_bins(window, boosted, params, work.values)
    for j in range(work.features.shape[0]):
        work.features[j] = j
    share = n_new / params.step_rows
    for place in range(params.layers.shape[0]):
        if layers.rests[params.layers[place]] > 0:
            continue
        n_rows = n_remembered(window, params.windows[place])
        kept = params.memories[place] ** share
        start, room = params.starts[place], params.rooms[place]
        for tree in range(start, start + min(room, boosted.grown[place])):
            boosted.scales[tree] *= kept
        for k in range(boosted.bases.shape[1]):
            boosted.bases[place, k] *= kept
        scores = boosted.scores[place]
        for column in range(scores.shape[0]):
            for k in range(scores.shape[1]):
                scores[column, k] *= np.float32(kept)
        if boosted.is_stale[place]:
            score_window(window, boosted, place, n_rows, params, work)
            boosted.is_stale[place] = False
        is_first = boosted.grown[place] < params.first_trees[place]
        wanted = params.trees[place] * share * (params.first_factor if is_first else 1.0)
        for _ in range(min(max(int(wanted + 0.5), 1), room)):
            grow_tree(window, boosted, place, n_rows, params, work)
