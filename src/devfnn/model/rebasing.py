"""Carrying rules over to a new scaling map.

With old = a * new + b per feature, the Chebyshev features of old and new values are related by a
matrix: expanded(old) = expanded(new) @ basis. So weights, gains, centres and boxes can be rewritten
such that every output stays what it was.

The prior of the weights (the cap of their variances) is rewritten too, or it would take what was
learned of a small range for impossible in a large one. It may grow `WIDEST_PRIOR`-fold, which a
fourfold range takes. Beyond that the outputs do not stay exactly what they were: what was known
only of a corner of the new range would say wild things about the rest, so it fades into the prior.
After a jump of more than a hundred widths at once, an input starts anew.
"""

import numpy as np

from devfnn.arrays import Flags, Floats, Ints
from devfnn.model.scaling import Change

WIDEST_PRIOR = 1e4


def chebyshev_basis(change: Change, used: Flags, lines: Ints, curves: Ints) -> Floats:
    """The matrix (p, p) with expanded(old) = expanded(new) @ basis, in [-1, 1] units.

    used: (n,) an input that is left out counts as 0 under both maps, so its weights must not flow
    into the bias · lines, curves: (n,) where T1 and T2 of each input stand
    """
    basis = np.eye(1 + lines.size + curves.size)
    for feature, a, b in zip(change.features, change.factors, change.shifts, strict=True):
        shift = a + 2.0 * b - 1.0  # of 2u - 1
        line, curve = lines[feature], curves[feature]
        basis[line, line] = a
        basis[line, curve] = 4.0 * a * shift
        basis[curve, curve] = a * a
        if used[feature]:
            basis[0, line] = shift
            basis[0, curve] = a * a + 2.0 * shift * shift - 1.0
    return basis
