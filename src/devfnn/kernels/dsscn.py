"""DSSCN: recursive least squares of many nodes, each row weighted by the node's share in it."""

from devfnn.kernels._jit import kernel, part

SMALLEST_SHARE = 1e-6
"""A node with less of a row does not learn it: with the default `covariance` (1000) it would move a
thousandth of the way at most, and most nodes cost nothing on most rows."""


@part()
def shrink_covariance(covariance, terms, share, pull):
    """Take a row into the covariance of a node; `pull` becomes the gain of the row."""
    size = terms.shape[0]
    spread = 0.0
    for i in range(size):
        total = 0.0
        for j in range(size):
            total += covariance[i, j] * terms[j]
        pull[i] = total
        spread += total * terms[i]
    factor = share / (1.0 + share * spread)
    for i in range(size):
        for j in range(size):
            covariance[i, j] -= factor * pull[i] * pull[j]
    for i in range(size):
        pull[i] *= factor


@part()
def move_weights(values, covariance, terms, gain, target, decay):
    """Move the weights of one output of a node towards the target, and let them fade."""
    size = terms.shape[0]
    miss = target
    for j in range(size):
        miss -= terms[j] * values[j]
    if decay > 0.0:
        faded = gain.copy()
        for i in range(size):
            total = 0.0
            for j in range(size):
                total += covariance[i, j] * values[j]
            faded[i] = decay * total
        for i in range(size):
            values[i] -= faded[i]
    for i in range(size):
        values[i] += gain[i] * miss


@kernel()
def learn_nodes(values, covariances, terms, shares, targets, decay, gain):
    """Learn rows in order, in place.

    values: (n_nodes, n_outputs, n_terms); covariances: (n_nodes, n_terms, n_terms);
    terms: (n_rows, n_terms); shares: (n_rows, n_nodes); targets: (n_rows, n_outputs);
    gain: (n_terms,), to work with.
    """
    for row in range(terms.shape[0]):
        for node in range(values.shape[0]):
            share = shares[row, node]
            if share < SMALLEST_SHARE:
                continue
            covariance, own = covariances[node], terms[row]
            shrink_covariance(covariance, own, share, gain)
            for output in range(values.shape[1]):
                target = targets[row, output]
                move_weights(values[node, output], covariance, own, gain, target, decay)
