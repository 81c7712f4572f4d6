"""The decorators: what a kernel writes into borrowed arrays arrives at the caller."""

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from devfnn.arrays import Floats, Ints
from devfnn.kernels import _jit
from devfnn.kernels._jit import borrowed, held, kernel, step, view


@pytest.fixture(scope="module", autouse=True)
def _tuples_of_tests_are_not_in_the_cache() -> Iterator[None]:
    """Processes that read the cache of kernels need not find the classes of this file."""
    with pytest.MonkeyPatch.context() as patch:
        if not numba.config.DISABLE_JIT:
            uncached = kernel(cache=False)(_jit._store_fields.py_func)
            patch.setattr(_jit, "_store_fields", uncached)
        yield


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
    arrays.table[:, 0] = values[0]
    arrays.flags[:] = 7


def test_what_is_written_into_borrowed_arrays_is_kept(rng: np.random.Generator) -> None:
    values = rng.random(50)
    arrays = Arrays(np.zeros(50, np.int64), np.zeros((50, 2)), np.zeros(1, np.int64))
    write_each(arrays, values)
    assert arrays.count[0] == 50
    np.testing.assert_array_equal(arrays.flags, values > 0.5)
    np.testing.assert_array_equal(arrays.table[:, 1], values)
    write_slices(arrays, values)
    assert (arrays.table[:, 0] == values[0]).all()
    assert (arrays.flags == 7).all()


class Parts(NamedTuple):
    """Named tuples inside a named tuple, as the parts of a state; one of them is absent."""

    first: Arrays
    absent: None
    second: Arrays


@numba.njit
def write_into(parts: Any, value: Any) -> None:
    """Store into a part that was handed on by reference, if there is one."""
    if parts is not None:
        for row in range(parts.table.shape[0]):
            parts.table[row, 0] += value
        parts.count[0] += 1


@numba.njit
def write_entries(many: Any, values: Any) -> None:
    """Take one entry of all arrays after the other, and write into its parts."""
    many = borrowed(many)
    for index in range(values.shape[0]):
        one = view(many, index)
        write_into(one.first, values[index])
        write_into(one.second, 2.0 * values[index])
        write_into(one.absent, values[index])


def test_what_is_written_into_one_entry_of_nested_arrays_is_kept(rng: np.random.Generator) -> None:
    def zeros() -> Arrays:
        return Arrays(np.zeros((3, 4), np.int64), np.zeros((3, 4, 2)), np.zeros((3, 1), np.int64))

    many, values = Parts(zeros(), None, zeros()), rng.random(2)
    write_entries(many, values)
    for part, factor in ((many.first, 1.0), (many.second, 2.0)):
        expected = np.repeat([*(factor * values), 0.0], 4).reshape(3, 4)
        np.testing.assert_array_equal(part.table[..., 0], expected)
        assert not part.table[..., 1].any() and not part.flags.any()
        assert part.count.tolist() == [[1], [1], [0]]
    one = view(many, 1)
    assert one.absent is None and one.second.table is not many.second.table
    assert np.shares_memory(one.second.table, many.second.table)


@numba.njit
def write_into_both(parts: Any, value: Any) -> None:
    """Write into all parts of a tuple that may be held."""
    parts = borrowed(parts)
    write_into(parts.first, value)
    write_into(parts.absent, value)
    write_into(parts.second, 2.0 * value)


def zero_parts() -> Parts:
    """Nothing written yet."""
    zeros = (np.zeros(3, np.int64), np.zeros((3, 2)), np.zeros(1, np.int64))
    return Parts(Arrays(*zeros), None, Arrays(*(each.copy() for each in zeros)))


def test_what_is_written_into_held_arrays_is_kept_call_after_call() -> None:
    parts = zero_parts()
    known = held(parts)
    write_into_both(parts, 0.5)
    for _ in range(3):
        write_into_both(known, 0.5)
    assert parts.first.count[0] == parts.second.count[0] == 4
    assert (parts.first.table[:, 0] == 2.0).all() and (parts.second.table[:, 0] == 4.0).all()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda known: pickle.loads(pickle.dumps(known))])
def test_a_copy_holds_copies(copied: Callable[[Any], Any]) -> None:
    parts = zero_parts()
    other = copied(held(parts))
    write_into_both(other, 1.0)
    assert not parts.first.count.any() and not parts.first.table.any()
    assert getattr(other, "arrays", other).first.count[0] == 1


def test_arrays_of_another_layout_are_held_as_what_they_are() -> None:
    parts = zero_parts()
    wide = np.zeros((3, 4))
    other = parts._replace(second=parts.second._replace(table=wide[:, ::2]))
    write_into_both(held(parts), 1.0)
    write_into_both(held(other), 1.0)
    np.testing.assert_array_equal(wide[:, 0], 2.0)
    assert not wide[:, 1:].any()


@step()
def doubled(value):  # type: ignore[no-untyped-def]
    return value + value


@kernel(cache=False)
def doubled_twice(value):  # type: ignore[no-untyped-def]
    return doubled(doubled(value))


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_no_machine_code_is_made_of_a_function_that_only_kernels_call() -> None:
    assert doubled_twice(3.0) == 12.0
    for function, is_made in ((doubled, False), (doubled_twice, True)):
        (code,) = (each.library for each in function.overloads.values())
        assert (
            code._codegen._engine.is_symbol_defined(
                next(each.name for each in code.get_defined_functions() if "doubled" in each.name)
            )
            is is_made
        )


def test_a_function_that_only_kernels_call_can_be_tried_from_python() -> None:
    assert doubled_twice(1.0) == 4.0  # compiled for kernels before Python calls it
    assert doubled(1.0) == 2.0
    assert doubled(3) == 6
