"""Runs the Python of pages, top to bottom, and compares or writes down what it prints.

    python docs/pages.py            which pages print something else than they say
    python docs/pages.py --write    write down what they print now

A block of code is followed by a block of text if it prints anything; that text is exactly what it
prints. Each page runs in a process and a folder of its own, and warnings are errors.
"""

import argparse
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

FOLDER = pathlib.Path(__file__).resolve().parent

SOURCE = str(FOLDER.parent / "src")
"""Where the package is that the pages are about, whatever else is installed."""

PAGES = (
    "start.md",
    "tutorials/drift.md",
    "tutorials/electricity.md",
    "tutorials/rules.md",
    "tutorials/libraries.md",
    "explaining.md",
    "labels.md",
    "production.md",
    "libraries.md",
)
"""Pages whose code runs."""

WARNINGS = ("-W", "error", "-W", "ignore::UserWarning:mlflow.types.type_hints")
"""All are errors, but for one that MLflow gives of itself when it is imported."""

BLOCK = re.compile(
    r"^```python\n(.*?)^```\n(?:\n*^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)

FIGURE = re.compile(r"!\[[^\]]*\]\((?:\.\./)?figures/([^)#]+)")

MARK = "-- what block {} prints --"

SHARED = """
import contextlib, json, os, sys, tempfile, traceback, types
import matplotlib.pyplot
from devfnn import DEVFNN
from devfnn.evaluation import Procedure
from devfnn.experiments import evaluate
from devfnn.streams import sea
import devfnn.figures
with contextlib.suppress(ImportError):
    import river.evaluate
    import sklearn.model_selection, sklearn.pipeline
for rows in (Procedure(), Procedure(by_row=True)):
    evaluate(DEVFNN(), sea(600), rows)  # reads the compiled kernels

def run(code, folder, out, err):
    os.chdir(folder)
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    sys.modules["__main__"] = page = types.ModuleType("__main__")
    status = 0
    try:
        exec(compile(code, "page", "exec"), page.__dict__)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)

for line in sys.stdin:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if not (process := os.fork()):
            run(*json.loads(line), out, err)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        said = [stream.seek(0) or stream.read().decode() for stream in (out, err)]
    print(json.dumps([status, *said]), flush=True)
"""
"""What a process does that runs pages in copies of itself."""


class Block(NamedTuple):
    """Code of a page, and what the page says that it prints."""

    code: str
    output: str


class Done(NamedTuple):
    """What came of running code."""

    returncode: int
    stdout: str
    stderr: str


Runs = Callable[[str, pathlib.Path], Done]
"""Runs code in a folder."""


def blocks_of(page: str) -> list[Block]:
    """The Python of a page."""
    text = (FOLDER / page).read_text(encoding="utf-8")
    return [Block(*match.groups(default="")) for match in BLOCK.finditer(text)]


def figures_of(page: str) -> list[str]:
    """Names of the figures that a page shows."""
    return FIGURE.findall((FOLDER / page).read_text(encoding="utf-8"))


def needs_electricity(page: str) -> bool:
    """Whether the code of a page reads the data set."""
    return any('dataset("electricity")' in block.code for block in blocks_of(page))


def run_alone(code: str, folder: pathlib.Path) -> Done:
    """Run code in a process of its own."""
    done = subprocess.run(
        [sys.executable, *WARNINGS, "-c", code],
        cwd=folder,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


class Copies:
    """Runs code in copies of a process that has imported before what most pages need."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *WARNINGS, "-c", SHARED],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
            encoding="utf-8",
        )

    def __enter__(self) -> "Copies":
        return self

    def __exit__(self, *_: Any) -> None:
        self._process.communicate()  # at the end of its input it ends

    def run(self, code: str, folder: pathlib.Path) -> Done:
        """Run code in a copy, which nothing that another page did has reached."""
        given, told = self._process.stdin, self._process.stdout
        assert given is not None and told is not None
        given.write(json.dumps([code, str(folder)]) + "\n")
        given.flush()
        if not (answer := told.readline()):
            raise RuntimeError("the process that runs pages in copies of itself has ended")
        return Done(*json.loads(answer))


def outputs_of(page: str, folder: pathlib.Path, run: Runs = run_alone) -> list[str]:
    """What the blocks of a page print, run one after the other in a folder."""
    blocks = blocks_of(page)
    marked = (f'print("{MARK.format(i)}")\n{block.code}' for i, block in enumerate(blocks))
    done = run("\n".join(marked), folder)
    if done.returncode:
        raise RuntimeError(f"the code of {page} fails:\n{done.stderr}")
    outputs, rest = [], done.stdout
    for number in range(len(blocks)):
        rest = rest.partition(MARK.format(number) + "\n")[2]
        outputs.append(rest.partition(MARK.format(number + 1) + "\n")[0])
    return outputs


def environment() -> dict[str, str]:
    """Where code of pages runs: compiled, whatever the tests do, and without a screen."""
    own = {"PYTHONPATH": SOURCE, "PYTHONIOENCODING": "utf-8", "MPLBACKEND": "agg"}
    return {k: v for k, v in os.environ.items() if k != "NUMBA_DISABLE_JIT"} | own


def written(page: str, outputs: list[str]) -> str:
    """The text of a page with other outputs."""
    new = iter(outputs)

    def block(match: re.Match[str]) -> str:
        output = next(new)
        said = f"\n```text\n{output}```\n" if output else ""
        return f"```python\n{match.group(1)}```\n{said}"

    return BLOCK.sub(block, (FOLDER / page).read_text(encoding="utf-8"))


def main() -> int:
    """Run pages; say which differ, or write down what they print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write down what the pages print")
    parser.add_argument("pages", nargs="*", default=PAGES, help="pages, by default all")
    arguments = parser.parse_args()
    differ = 0
    for page in arguments.pages:
        start = time.perf_counter()
        try:
            with tempfile.TemporaryDirectory() as folder:
                outputs = outputs_of(page, pathlib.Path(folder))
        except RuntimeError as error:
            if "DataError" not in str(error):
                raise
            print(f"{page}: left as it is, since its data set is not here")
            continue
        said = [block.output for block in blocks_of(page)]
        pairs = itertools.zip_longest(said, outputs)
        changed = [i for i, (old, new) in enumerate(pairs, 1) if old != new]
        if changed and arguments.write:
            (FOLDER / page).write_text(written(page, outputs), encoding="utf-8")
        differ += bool(changed)
        verdict = f"blocks {changed} differ" if changed else "as it says"
        print(f"{page}: {verdict} ({time.perf_counter() - start:.1f} s)")
    return int(differ > 0 and not arguments.write)


if __name__ == "__main__":
    sys.exit(main())
