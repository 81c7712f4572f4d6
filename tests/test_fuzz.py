"""A small part of `make fuzz`: mutants of files of all kinds, and hostile calls."""

import os
import pathlib
import sys

import pytest

from build import count
from devfnn import DEVFNN, InputError

pytest.importorskip("river", minversion="0.26")

# Not for longer than it takes: benchmarks/streams.py would hide the folder tests/streams.
sys.path.append(str(pathlib.Path(__file__).parents[1] / "benchmarks"))

import fuzz
import fuzz_calls
import fuzz_files

sys.path.pop()


def whole(kind: str, count: int) -> fuzz.Tally:
    """What came of so many mutants or calls."""
    tally = fuzz.Tally()
    for part in fuzz.part(kind, 1, range(count)):
        tally.join(part)
    return tally


def test_no_mutant_of_a_file_does_harm() -> None:
    tally = whole("mutant", count(3000, 300))
    assert tally.findings == {}
    outcomes = {outcome for _, outcome in tally.outcomes}
    assert outcomes == {"refused", "the same", "another"}


def test_no_hostile_call_changes_a_model_that_refuses_it() -> None:
    tally = whole("call", count(1500, 100))
    assert tally.findings == {}
    assert {outcome for _, outcome in tally.outcomes} == {"refused", "accepted"}


class Anything(str):
    """A checksum that is equal to all others."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True


def test_a_difference_that_nobody_notices_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    fuzz_files.samples()  # files with a checksum
    monkeypatch.setattr("devfnn.storage.files.checksum_of", lambda data, tensors: Anything())
    assert any("unnoticed difference" in finding for finding in whole("mutant", 300).findings)


def test_a_call_that_changes_what_it_refuses_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(self: DEVFNN, X: object) -> None:
        self._known().n_rows += 1
        raise InputError("too late")

    monkeypatch.setattr(DEVFNN, "predict", careless)
    assert any("refused, but changed" in finding for finding in whole("call", 300).findings)


def test_a_process_that_dies_is_a_finding_and_another_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def judge_of(seed: int) -> fuzz.Judge:
        def judge(number: int) -> tuple[str, str]:
            if number == 3:
                os._exit(9)
            return "a", "refused"

        return judge

    monkeypatch.setitem(fuzz.JUDGES, "mutant", judge_of)
    tally = fuzz.tallied("mutant", 0, 6, float("inf"), lambda done: None)
    assert tally.findings == {"the process died with 9": [3]}
    assert tally.outcomes["", "finding"] == 1


def test_a_mutant_and_a_call_come_again_by_their_number() -> None:
    samples = fuzz_files.samples()
    once, twice = fuzz.judge_of_mutants(2), fuzz.judge_of_mutants(2)
    assert [once(number) for number in (7, 8, 300)] == [twice(number) for number in (7, 8, 300)]
    calls, later = fuzz.judge_of_calls(2), fuzz.judge_of_calls(2)
    assert [calls(number) for number in range(30)][29] == later(29)
    assert set(samples) >= {"checkpoint", "result", "fleet swift", "model default"}
    assert set(fuzz_calls.targets()) >= {"fleet", "river", "model gclass"}
