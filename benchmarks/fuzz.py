"""Mutants of all kinds of files, and hostile calls; run with `make fuzz`, ends with 1 on a finding.

Every mutant and every call follows from the seed and its number, so that `--only mutant:4711` does
one again, with its traceback. Calls go on where those before left a model; every hundredth
begins anew.
"""

import argparse
import collections
import dataclasses
import faulthandler
import multiprocessing
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import fuzz_calls
import fuzz_files
import rich.console
import rich.table
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

FORGED = 0.05
"""Share of mutants that get a right checksum, of files that have one."""

CALLS_TOGETHER = 100
"""Calls from one fresh start to the next."""

LONGEST = 120.0
"""Seconds after which a mutant or call hangs."""

Judge = Callable[[int], tuple[str, str]]
Outcomes = collections.Counter[tuple[str, str]]


@dataclasses.dataclass
class Tally:
    """What came of many mutants or calls: outcomes by target, and findings with the first one."""

    outcomes: Outcomes = dataclasses.field(default_factory=collections.Counter)
    findings: dict[str, list[int]] = dataclasses.field(default_factory=dict)

    def add(self, index: int, target: str, outcome: str, finding: str = "") -> None:
        """Count one."""
        self.outcomes[target, outcome] += 1
        if finding:
            self.findings.setdefault(finding, []).append(index)

    def join(self, other: "Tally") -> None:
        """Count those of another part too."""
        self.outcomes += other.outcomes
        for finding, places in other.findings.items():
            self.findings.setdefault(finding, []).extend(places)


# ---- one of them


def judge_of_mutants(seed: int) -> Judge:
    """What judges a mutant by its number: its file, and what became of it."""
    samples = fuzz_files.samples()
    names = sorted(samples)

    def judge(index: int) -> tuple[str, str]:
        rng = random.Random(f"mutant {seed} {index}")
        name, is_forged = rng.choice(names), rng.random() < FORGED
        return name, fuzz_files.judge(samples[name], rng, is_forged)

    return judge


def judge_of_calls(seed: int) -> Judge:
    """The same of calls; those up to the number since the last fresh start are done first."""
    caller, last = fuzz_calls.Caller(), -1
    names = sorted(caller.targets)

    def judge(index: int) -> tuple[str, str]:
        nonlocal last
        start = index - index % CALLS_TOGETHER
        first = index if index == last + 1 and index != start else start
        last = index
        if first == start:
            caller.restart()
        for each in range(first, index + 1):
            rng = random.Random(f"call {seed} {each}")
            name = rng.choice(names)
            try:
                outcome = caller.judge(name, rng)
            except fuzz_files.Finding:
                if each == index:
                    raise
        return name, outcome

    return judge


JUDGES = {"mutant": judge_of_mutants, "call": judge_of_calls}


def told(error: BaseException) -> str:
    """A finding in a line: what was wrong, and where in the library."""
    cause = error.__cause__ or error
    frames = traceback.extract_tb(cause.__traceback__)
    own = [frame for frame in frames if "devfnn" in frame.filename] or frames
    place = f" at {own[-1].filename.rpartition('/devfnn/')[2]}:{own[-1].lineno}" if own else ""
    return f"{' '.join(str(error).split())[:100]}{place}"


def part(kind: str, seed: int, numbers: range, until: float = float("inf")) -> Iterator[Tally]:
    """The tally of some numbers, in pieces."""
    judge, tally, said = JUDGES[kind](seed), Tally(), time.monotonic()
    for index in numbers:
        try:
            tally.add(index, *judge(index))
        except fuzz_files.Finding as error:
            tally.add(index, "", "finding", told(error))
        if time.monotonic() > said + 0.5:
            yield tally
            tally, said = Tally(), time.monotonic()
            if said > until:
                break
    yield tally


# ---- all of them, in a process that may die


def work(pipe: Any, doing: Any, about: tuple[str, int, range, float]) -> None:
    """Send tallies, and tell what is being done."""
    kind, seed, numbers, until = about
    judge = JUDGES[kind]

    def watched(seed: int) -> Judge:
        each = judge(seed)

        def tell(index: int) -> tuple[str, str]:
            doing.value = index
            faulthandler.dump_traceback_later(LONGEST, exit=True)
            return each(index)

        return tell

    JUDGES[kind] = watched
    for tally in part(kind, seed, numbers, until):
        pipe.send(tally)
    pipe.send(None)


def tallied(kind: str, seed: int, count: int, until: float, show: Callable[[int], Any]) -> Tally:
    """All numbers below a count; a process that dies is a finding, and another goes on."""
    whole, start = Tally(), 0
    context = multiprocessing.get_context("fork")
    while start < count:
        own, theirs = context.Pipe(duplex=False)
        doing = context.Value("q", start)
        about = (kind, seed, range(start, count), until)
        process = context.Process(target=work, args=(theirs, doing, about))
        process.start()
        theirs.close()
        try:
            while (tally := own.recv()) is not None:
                whole.join(tally)
                show(sum(whole.outcomes.values()))
            start = count
        except EOFError:
            process.join()
            start = doing.value + 1
            whole.add(doing.value, "", "finding", f"the process died with {process.exitcode}")
        process.join()
    return whole


def table_of(kind: str, tally: Tally) -> rich.table.Table:
    """Outcomes by target."""
    outcomes = sorted({outcome for _, outcome in tally.outcomes})
    table = rich.table.Table("target", *outcomes, "all", title=f"{kind}s", title_justify="left")
    for target in sorted({target for target, _ in tally.outcomes}):
        counts = [tally.outcomes[target, outcome] for outcome in outcomes]
        table.add_row(target or "-", *(f"{n:,}" for n in counts), f"{sum(counts):,}")
    totals = [sum(n for (_, o), n in tally.outcomes.items() if o == each) for each in outcomes]
    table.add_row("all", *(f"{n:,}" for n in totals), f"{sum(totals):,}", style="bold")
    return table


def again(only: str, seed: int) -> None:
    """One mutant or call, with all that Python says of it."""
    kind, _, number = only.partition(":")
    try:
        print(*JUDGES[kind](seed)(int(number)), sep=": ")
    except fuzz_files.Finding as error:
        traceback.print_exception(error)
        sys.exit(1)


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description="Mutants of files, and hostile calls.")
    parser.add_argument("--mutants", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="at most, for each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="KIND:NUMBER", help="one again: mutant:17, call:4")
    given = parser.parse_args()
    if given.only:
        again(given.only, given.seed)
        return
    console = rich.console.Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    found = {}
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        for kind, count in {"mutant": given.mutants, "call": given.calls}.items():
            task = progress.add_task(f"{kind}s", total=count)
            until = time.monotonic() + 60.0 * given.minutes
            found[kind] = tallied(
                kind,
                given.seed,
                count,
                until,
                lambda done, task=task: progress.update(task, completed=done),
            )
    is_sound = True
    for kind, tally in found.items():
        console.print(table_of(kind, tally))
        for finding, places in sorted(tally.findings.items(), key=lambda item: -len(item[1])):
            is_sound = False
            console.print(f"{len(places):,}: {finding}  (--only {kind}:{places[0]})", markup=False)
    sys.exit(0 if is_sound else 1)


if __name__ == "__main__":
    main()
