"""Models of all kinds compute what they did when their results were recorded."""

import numba
import pytest

from golden import results
from golden.cases import CASES, EVERY_KIND, FILES, PLAIN

IS_COMPILED = not numba.config.DISABLE_JIT

RECORDED = results.read()
NAMES = results.NAMES if IS_COMPILED else PLAIN


@pytest.mark.parametrize("name", NAMES)
def test_results_are_as_recorded(name):
    found = results.recorded(results.results_of(name))
    different = results.differences(RECORDED[name], found)
    assert not different, "\n".join([f"{name}:", *different])


@pytest.mark.parametrize("name", [name for name in CASES if name in NAMES])
def test_a_saved_model_goes_on_as_if_it_had_not_been_saved(name):
    assert results.halves_differ(name) == []


def test_every_mechanism_is_at_work():
    told = [case["events"]["counts"] for case in RECORDED.values() if "events" in case]
    assert [kind for kind in EVERY_KIND if not any(kind in counts for counts in told)] == []


def test_files_are_small():
    sizes = {name: results.file_of(name).stat().st_size for name in FILES}
    assert {name: size for name, size in sizes.items() if size >= 44_000} == {}
    assert results.RECORD.stat().st_size < 300_000
