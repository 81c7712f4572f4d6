"""The walk of a chunk: files and functions that `DEVFNN.learn` goes through, from call to return.

A reader who follows one chunk through the default model has to open these files. What is traced is
the sixth chunk of SEA, of 500 rows: the model is in a steady state, without warm-up or drift.
Kernels run as plain Python (NUMBA_DISABLE_JIT=1), so that they are seen too. Counted are

- files: modules of the package in which a function was called;
- functions: different functions with a name, not comprehensions and lambdas;
- changes of folder: of all calls, in the order in which they are made, those of a function in
  another folder of the package than the function called just before. A folder inside a folder is
  another one. A return counts only if the next call is made to a function there: where calls and
  returns are both counted as moves, there are about a sixth more.

`tests/test_walk.py` holds it to 15 files and 10 changes of folder.

Usage: python benchmarks/walk.py [--json]
"""

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

import devfnn
from devfnn.streams import sea

CHUNKS_BEFORE, CHUNK_ROWS = 5, 500


@dataclasses.dataclass(frozen=True)
class Walk:
    """What a call went through."""

    files: list[str]
    """In the order of their first calls, relative to the package."""
    functions: list[str]
    """Likewise, as file:name."""
    changes: list[str]
    """Each change of folder, as from -> to: file:name of the function that was called."""


def walk_of_a_chunk() -> Walk:
    """The walk of a chunk, traced in a process of its own: kernels may be compiled in this one."""
    command = [sys.executable, __file__, "--json"]
    source = str(pathlib.Path(devfnn.__file__).parents[1])
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": source}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return Walk(**json.loads(done.stdout))


def calls_in(function: Callable[[], Any], package: pathlib.Path) -> list[tuple[str, str]]:
    """Module and name of every function of a package that is called, in order."""
    calls: list[tuple[str, str]] = []
    inside = f"{package}{os.sep}"

    def note(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        is_named = not code.co_name.startswith("<")
        if event == "call" and is_named and code.co_filename.startswith(inside):
            module = pathlib.Path(code.co_filename).relative_to(package).as_posix()
            calls.append((module, code.co_qualname))

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def walk_of(calls: Iterable[tuple[str, str]]) -> Walk:
    """What is counted of calls.

    >>> walk = walk_of([("a/x.py", "f"), ("b/y.py", "g"), ("b/y.py", "g"), ("a/x.py", "h")])
    >>> walk.files, walk.changes
    (['a/x.py', 'b/y.py'], ['a -> b: b/y.py:g', 'b -> a: a/x.py:h'])
    """
    files: dict[str, None] = {}
    functions: dict[str, None] = {}
    changes: list[str] = []
    before = None
    for module, name in calls:
        files[module] = functions[f"{module}:{name}"] = None
        folder = module.rpartition("/")[0] or "."
        if before not in (None, folder):
            changes.append(f"{before} -> {folder}: {module}:{name}")
        before = folder
    return Walk(list(files), list(functions), changes)


def traced() -> Walk:
    """The walk of a chunk, traced in this process, in which kernels must not be compiled."""
    model = devfnn.DEVFNN(devfnn.presets.swift())
    *first, last = sea((CHUNKS_BEFORE + 1) * CHUNK_ROWS).chunks(rows=CHUNK_ROWS)
    for chunk in first:
        model.learn(chunk.X, chunk.y)
    package = pathlib.Path(devfnn.__file__).parent
    return walk_of(calls_in(lambda: model.learn(last.X, last.y), package))


def main() -> None:
    """Print the walk."""
    parser = argparse.ArgumentParser(description="The walk of a chunk through the package.")
    parser.add_argument("--json", action="store_true", help="as plain data, with all functions")
    is_json = parser.parse_args().json
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        walk = traced()
    else:
        walk = walk_of_a_chunk()
    if is_json:
        print(json.dumps(dataclasses.asdict(walk)))
        return
    counts = (len(walk.files), len(walk.functions), len(walk.changes))
    print("{} files, {} functions, {} changes of folder".format(*counts))
    for title, lines in (("Files", walk.files), ("Changes of folder", walk.changes)):
        print(f"\n{title}, in order:", *lines, sep="\n  ")


if __name__ == "__main__":
    main()
