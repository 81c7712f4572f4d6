"""A stream by its name: a generator, a data set, a file, or standard input."""

import difflib
import inspect
import os
import typing
from collections.abc import Callable, Mapping
from typing import Any

from devfnn.errors import InputError
from devfnn.streams.datasets import loading
from devfnn.streams.datasets.catalogue import DATA_SETS
from devfnn.streams.datasets.loading import dataset
from devfnn.streams.files.content import STANDARD_INPUT
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.reading import read
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.generators.drifting import StreamOptions
from devfnn.streams.stream import Stream


def open_stream(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int | None], object] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Stream:
    """A stream by name.

    It is that of a generator (`sea`), a data set (`electricity`), a path, or "-" for standard
    input. Names come first: a file called `sea` is `./sea`. Data sets are looked for in `data_dir`
    first; `progress` is called with the bytes of a download done and in all. Options are those of
    the generator, or of `read` for data sets and files.
    """
    given = dict(options or {})
    check_options(name, given)
    if name in GENERATORS:
        return GENERATORS[name].make(given.pop("n_rows", None), **given)
    if name in DATA_SETS:
        return dataset(name, data_dir=data_dir, progress=progress, **given)
    return read(name, **given)


def option_types(name: str) -> dict[str, Any]:
    """Options that a stream takes, with their type hints; InputError if there is no such stream.

    >>> option_types("sea")["noise"]
    <class 'float'>
    """
    if name in GENERATORS:
        make = GENERATORS[name].make
        hints, parameters = typing.get_type_hints(make), inspect.signature(make).parameters
        own = [each.name for each in parameters.values() if each.kind is not each.VAR_KEYWORD]
        return {option: hints[option] for option in own} | typing.get_type_hints(StreamOptions)
    if name in DATA_SETS:
        return typing.get_type_hints(ReadOptions) | {"target": str | None}
    if name == STANDARD_INPUT or os.path.exists(name):
        return typing.get_type_hints(ReadOptions)
    close = difflib.get_close_matches(name, [*GENERATORS, *DATA_SETS], n=2)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise InputError(
        f"there is no file and no stream called {name!r}{hint} (`devfnn data list` shows all names)"
    )


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a stream does not have, without opening it."""
    known = option_types(name)
    owner = name if name in GENERATORS or name in DATA_SETS else "a file"
    for option in options:
        if option not in known:
            close = difflib.get_close_matches(option, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else f": {', '.join(known)}"
            raise InputError(f"{owner} has no option {option!r}{hint}")
    if name in DATA_SETS:
        loading.check_options(DATA_SETS[name], **options)
