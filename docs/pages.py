"""Runs the Python of pages, top to bottom, and compares or writes down what it prints.

    python docs/pages.py            which pages print something else than they say
    python docs/pages.py --write    write down what they print now

A block of code is followed by a block of text if it prints anything; that text is exactly what it
prints. Each page runs in a process and a folder of its own, and warnings are errors.
"""

import argparse
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

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


class Block(NamedTuple):
    """Code of a page, and what the page says that it prints."""

    code: str
    output: str


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


def outputs_of(page: str, folder: pathlib.Path) -> list[str]:
    """What the blocks of a page print, run one after the other in a folder."""
    blocks = blocks_of(page)
    marked = (f'print("{MARK.format(i)}")\n{block.code}' for i, block in enumerate(blocks))
    done = subprocess.run(
        [sys.executable, *WARNINGS, "-c", "\n".join(marked)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
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
