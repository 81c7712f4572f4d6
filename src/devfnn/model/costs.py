"""What layers cost: an estimate of the time that a row takes, from the sizes of a layer alone.

So a model says the same on every machine. `cost_of` of every kind adds up its loops, with the
times of what they do below.

Against a stopwatch (10,000 rows, all labels learned, each layer beside a prior and without it) on
electricity, 8 features and 2 classes, and letter, 16 and 26: the whole takes 24.5 and 77
microseconds a row, estimated are 28 and 83; each layer is within 0.7 and 1.25 times what was
measured, stacked ones, which are cheap, within 1.3 and 2.5 times. What no layer takes by itself is
left out: scaling, choosing labels, the drift test; and carrying lines, curves and boxes over to a
new map, which takes a third of the time where there are 100 features and the map often changes.
"""

from typing import NamedTuple

PRODUCT = 0.25
"""Nanoseconds of a number times another, added up, in a loop over neighbouring numbers. This and
what follows was measured on the machine of docs/performance.md: only shares mean something."""

EXPONENTIAL = 9.0
"""Of an exponential or logarithm with what surrounds it: softmax, entropy, a round of Newton's."""

BRANCH = 1.2
"""Of a number that is looked up and compared, and decides where to go: in trees and bins."""

CALL = 150.0
"""Of a layer that is gone to: its parameters, memory and rule are looked up, its row is counted."""


class Cost(NamedTuple):
    """Nanoseconds that a layer takes, about."""

    row: float
    """For every row: to predict it, and its part in what is fitted at structural steps."""
    label: float
    """More for a row that is learned."""
