"""Results and comparisons in JSON files: read back as they were written, or not at all."""

import contextlib
import hashlib
import json
import math
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from devfnn.errors import DataError, InputError
from devfnn.experiments.settings import RunSettings, difference, versions
from devfnn.files import write_whole
from devfnn.storage.container import unique_keys

FORMAT = 2
"""Of results and comparisons; raised when their keys change."""

UNSEALED_FORMAT = 1
"""The format before, without a checksum; it is still read."""

CHECKSUM = "sha256"
"""The key of the checksum, which is over all others."""

Path = str | os.PathLike[str]
Result = dict[str, Any]


def kind_of(data: Mapping[str, Any]) -> Literal["run", "comparison"]:
    """Whether data that `read_either` gave are the result of a run or a comparison of runs."""
    return "comparison" if "cells" in data else "run"


def sealed(result: Mapping[str, Any]) -> Result:
    """The result with a checksum, as files have it."""
    plain = json.loads(json.dumps(dict(result)), parse_constant=_nothing)
    plain.pop(CHECKSUM, None)
    return {**result, CHECKSUM: _checksum(plain)}


def write_result(result: Mapping[str, Any], path: Path) -> None:
    """Write a result for `devfnn report`, `plot` and `table`; DataError if that is not possible.

    >>> import pathlib, tempfile
    >>> from devfnn import DEVFNN
    >>> from devfnn.experiments import evaluate
    >>> from devfnn.streams import sea
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "run.json")
    ...     write_result(evaluate(DEVFNN(), sea(1000), name="sea"), file)
    ...     read_result(file)["rows"]
    1000
    """
    try:
        write_whole(path, f"{json.dumps(sealed(result))}\n".encode())
    except OSError as error:
        raise DataError(f"cannot write {os.fspath(path)}: {error.strerror or error}") from None


def read_either(path: Path) -> Result:
    """A result or a comparison, whichever the file holds; `kind_of` tells which.

    DataError if the file cannot be read, is no JSON, is cut short, was changed, or holds something
    else.
    """
    name = os.fspath(path)
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):  # without end
        raise DataError(f"{name}: not a regular file")
    with refusing_malformed(name, passes=()):
        text = pathlib.Path(path).read_text(encoding="utf-8-sig")
        hooks: dict[str, Any] = {"parse_constant": _nothing, "parse_float": _finite}
        data: Any = json.loads(text, object_pairs_hook=unique_keys, **hooks)
        if not isinstance(data, dict) or not {"cells", "per_chunk"} & data.keys():
            raise ValueError("neither a result of devfnn run nor one of devfnn compare")
    found = data.get("format")
    if type(found) is not int or found not in (UNSEALED_FORMAT, FORMAT):
        raise DataError(
            f"{name}: the file has format {found}, this version reads {UNSEALED_FORMAT} and "
            f"{FORMAT}; run it again with this version"
        )
    _check(name, data, data.pop(CHECKSUM, None))
    return dict(data)


def _check(name: str, data: Result, checksum: Any) -> None:
    """Refuse a file that is not as it was written."""
    if data["format"] == UNSEALED_FORMAT:
        if checksum is not None:
            raise DataError(f"{name}: a checksum, in a file of format {UNSEALED_FORMAT}")
    elif checksum is None:
        raise DataError(f"{name}: no checksum; devfnn.experiments.write_result writes it")
    elif checksum != _checksum(data):
        raise DataError(
            f"{name}: changed after it was written, its content does not match its checksum; run "
            "it again, or get the file as it was"
        )


def _checksum(plain: Result) -> str:
    """SHA-256 over JSON data in one canonical form."""
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _nothing(_: str) -> None:
    """What NaN and infinity stand for: not measured."""


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text:.20} is too large")
    return number


def read_result(path: Path) -> Result:
    """The result of a run, as `devfnn run --json` writes it; errors as in `read_either`."""
    data = read_either(path)
    if kind_of(data) != "run":
        raise DataError(f"{os.fspath(path)}: a comparison; give the result of a single run")
    return data


def read_results(paths: Iterable[Path]) -> list[Result]:
    """The results of several runs; a folder stands for the results in it and below it.

    Files of a folder come in the order of their names. Comparisons in a folder are passed over.
    """
    results = []
    for path in paths:
        if not os.path.isdir(path):
            results.append(read_result(path))
            continue
        inside = [read_either(file) for file in sorted(pathlib.Path(path).rglob("*.json"))]
        runs = [data for data in inside if kind_of(data) == "run"]
        if not runs:
            raise DataError(f"{os.fspath(path)}: no results in this folder")
        results += runs
    return results


NOT_OF_CONTENT = (InputError, DataError, ImportError, OSError)
"""Errors that are passed on unchanged."""


@contextlib.contextmanager
def refusing_malformed(
    what: object, passes: tuple[type[Exception], ...] = NOT_OF_CONTENT
) -> Iterator[None]:
    """Turn errors caused by the content of files into a DataError.

    what: the files, as the message names them; passes: errors that stay as they are
    """
    try:
        yield
    except passes:
        raise
    except OSError as error:
        raise DataError(f"cannot read {what}: {error.strerror or error}") from None
    except Exception as error:  # content from anywhere fails in many ways
        shown = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise DataError(
            f"{what}: damaged, cut short, or not as devfnn writes it ({shown})"
        ) from error


def cached_result(path: pathlib.Path, settings: RunSettings) -> Result | None:
    """The result of an earlier call; None if there is none, or it is of a run that was stopped.

    DataError if it is the result of other settings, of another version, or of other defaults.
    """
    if not path.exists():
        return None
    result = read_result(path)
    if result.get("is_complete") is False:
        return None
    config = settings.final_config()
    parameters = {} if config is None else json.loads(json.dumps(config.to_dict()))
    mine = (settings.to_dict(), {"version": versions()["devfnn"]}, parameters)
    with refusing_malformed(path):
        version = {"version": (result.get("versions") or {}).get("devfnn")}
        theirs = (result.get("settings") or {}, version, result.get("config") or {})
        other = next(filter(None, map(difference, mine, theirs)), None)
    if other is not None:
        name, here, there = other
        raise DataError(
            f"{path} is the result of other settings, {name} = {there!r} instead of {here!r}; "
            "choose another folder, or remove it"
        )
    return result
