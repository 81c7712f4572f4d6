"""Evidence of two features at once: residuals that turn where both cross their means.

A rule whose classes lie like the fields of a chessboard is as often too high as too low on both
sides of every single cut. Counted as positive where two features lie on the same side of their
means, and as negative where they do not, the same residuals pile up.
"""

import numpy as np

from devfnn.kernels._jit import part


@part()
def gather_crossings(crossings, row, means, residual):
    """Add a residual to all pairs of features. crossings: (d,) · row, means: (n,)

    The pairs of a feature with those before it follow each other. There is no room for them when
    rules are not to split this way.
    """
    if crossings.shape[0] == 0:
        return
    pair = 0
    for j in range(row.shape[0]):
        if row[j] == row[j]:
            turned = residual if row[j] > means[j] else -residual
            for k in range(j):
                if row[k] == row[k]:
                    crossings[pair + k] += turned if row[k] > means[k] else -turned
        pair += j


@part()
def best_crossing(crossings, evidence):
    """The pair whose residuals turn most, and the evidence, less what the best of many has by luck.

    What all residuals have in common is no turn: where two features say the same, they are always
    on the same side, and it would pile up. crossings: (d, Q) · evidence: (n, B, Q, 2)
    """
    first, second, most, pair = -1, -1, 0.0, 0
    if crossings.shape[0] == 0:
        return first, second, most
    luck = 2.0 * np.log(crossings.shape[0])
    for j in range(evidence.shape[0]):
        for k in range(j):
            gained = -luck
            for index in range(crossings.shape[1]):
                turned = 0.0 + crossings[pair, index]  # no longer single
                common, own, other = 0.0, 1.0, 1.0
                for b in range(evidence.shape[1]):
                    common += evidence[j, b, index, 0]
                    own += evidence[j, b, index, 1]
                    other += evidence[k, b, index, 1]
                gained += (turned * turned - common * common) / max(own, other)
            if gained > most:
                first, second, most = j, k, gained
            pair += 1
    return first, second, most
