"""The decorators: what a kernel writes into borrowed arrays arrives at the caller."""

from typing import Any, NamedTuple

import numba
import numpy as np

from devfnn.kernels._jit import borrowed
from devfnn.arrays import Floats, Ints


class Arrays(NamedTuple):
    """Arrays of several kinds, as in the state of the kernels."""

    flags: Ints  # (k,)
    table: Floats  # (k, 2)
    count: Ints  # (1,)


@numba.njit
def write_each(arrays: Any, values: Any) -> None:
    """Store into fields of a borrowed tuple, without ever reading them."""
    arrays = borrowed(arrays)
    for row in range(values.shape[0]):
        arrays.flags[row] = 1 if values[row] > 0.5 else 0
        arrays.table[row, 1] = values[row]
        arrays.count[0] += 1


@numba.njit
def write_slices(arrays: Any, values: Any) -> None:
    """The same by whole slices."""
    arrays = borrowed(arrays)
    arrays.table[:, 0] = values
    arrays.flags[:] = 7


def test_what_is_written_into_borrowed_arrays_is_kept(rng: np.random.Generator) -> None:
    values = rng.random(50)
    arrays = Arrays(np.zeros(50, np.int64), np.zeros((50, 2)), np.zeros(1, np.int64))
    write_each(arrays, values)
    assert arrays.count[0] == 50
    np.testing.assert_array_equal(arrays.flags, values > 0.5)
    np.testing.assert_array_equal(arrays.table[:, 1], values)
    write_slices(arrays, values)
    np.testing.assert_array_equal(arrays.table[:, 0], values)
    assert (arrays.flags == 7).all()
