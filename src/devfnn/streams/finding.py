"""A stream by what a user calls it: a generator, a data set, a file, or standard input."""

import difflib
import inspect
import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from devfnn.errors import InputError
from devfnn.streams.datasets.catalogue import DATA_SETS
from devfnn.streams.datasets.opening import dataset
from devfnn.streams.files.content import STANDARD_INPUT
from devfnn.streams.files.options import FileOptions
from devfnn.streams.files.reading import read
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.generators.drifting import StreamOptions
from devfnn.streams.stream import Stream

Progress = Callable[[int, int | None], object]


def open_stream(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    options: Mapping[str, Any] | None = None,
) -> Stream:
    """A stream by name.

    Parameters
    ----------
    name
        A generator (`sea`), a data set (`electricity`), a path, or "-" for standard input. Names
        come first: a file called `sea` is `./sea`.
    data_dir
        Where to look for data sets first.
    progress
        Called with the bytes of a download done and in all.
    options
        What the generator, or `read` for data sets and files, takes.
    """
    given = dict(options or {})
    if name in GENERATORS:
        make = GENERATORS[name].make
        _check_options(name, given, generator_options(name))
        return make(given.pop("n_rows", None), **given)
    if name in DATA_SETS:
        _check_options(name, given, (*FileOptions.__annotations__, "target"))
        return dataset(name, data_dir=data_dir, progress=progress, **given)
    if name == STANDARD_INPUT or pathlib.Path(name).exists():
        _check_options("files", given, tuple(FileOptions.__annotations__))
        return read(name, **given)
    close = difflib.get_close_matches(name, [*GENERATORS, *DATA_SETS], n=2)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise InputError(
        f"there is no file and no stream called {name!r}{hint} (`devfnn data list` shows all names)"
    )


def generator_options(name: str) -> tuple[str, ...]:
    """Options that a generator takes."""
    parameters = inspect.signature(GENERATORS[name].make).parameters.values()
    own = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
    return tuple(dict.fromkeys((*own, *StreamOptions.__annotations__)))


def _check_options(name: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for option in given:
        if option not in known:
            close = difflib.get_close_matches(option, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else f": {', '.join(known)}"
            raise InputError(f"{name} has no option {option!r}{hint}")
