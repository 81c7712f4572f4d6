"""Results and comparisons read back from JSON files: whole ones of this format, or none."""

import contextlib
import json
import math
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from devfnn.errors import DataError, InputError
from devfnn.experiments.settings import RunSettings, difference, versions
from devfnn.formatting import flat_names

FORMAT = 1
"""Of results and comparisons; raised when their keys change."""

MOST_BYTES = 2**30
"""The largest file that is read."""

Path = str | os.PathLike[str]
Result = dict[str, Any]


def kind_of(data: object) -> Literal["run", "comparison"]:
    """Whether data are the result of a run or a comparison of runs.

    >>> kind_of({"cells": []})
    'comparison'
    """
    if isinstance(data, Mapping) and "cells" in data:
        return "comparison"
    if isinstance(data, Mapping) and "per_chunk" in data:
        return "run"
    raise DataError("neither a result of devfnn run nor one of devfnn compare")


def read_either(path: Path) -> Result:
    """A result or a comparison, whichever the file holds; `kind_of` tells which.

    Raises
    ------
    DataError
        If the file cannot be read, is no JSON, is cut short, or holds something else.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {name}: {getattr(error, 'strerror', error)}") from None
    if len(content) > MOST_BYTES:
        raise DataError(f"{name}: larger than {MOST_BYTES:,} bytes, which no result is")
    try:
        text = content.decode("utf-8-sig")
        # Numbers that are not finite count as not measured.
        data: Any = json.loads(text, parse_constant=lambda _: None, parse_float=_finite)
    except RecursionError:
        raise DataError(f"{name}: nested too deeply for a result") from None
    except ValueError as error:
        raise DataError(f"{name}: not JSON, or cut short ({error})") from None
    try:
        kind_of(data)
        _check_format(data.get("format"))
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    result: Result = data
    return result


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _check_format(found: object) -> None:
    if isinstance(found, bool) or not isinstance(found, int):
        raise DataError("there is no format number; was it written by devfnn run or compare?")
    if found != FORMAT:
        later = "upgrade devfnn" if found > FORMAT else "run it again with this version"
        raise DataError(f"the file has format {found}, this version reads {FORMAT}; {later}")


def read_result(path: Path) -> Result:
    """The result of a run, as `devfnn run --json` writes it; errors as in `read_either`."""
    data = read_either(path)
    if kind_of(data) != "run":
        raise DataError(f"{os.fspath(path)}: a comparison; give the result of a single run")
    return data


def read_comparison(path: Path) -> Result:
    """A comparison of models, as `devfnn compare --json` writes it; errors as in `read_either`."""
    data = read_either(path)
    if kind_of(data) != "comparison":
        raise DataError(f"{os.fspath(path)}: the result of a single run; give a comparison")
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


@contextlib.contextmanager
def refusing_malformed(what: object) -> Iterator[None]:
    """Say of whatever fails on results from files that a value in them is not as devfnn writes it.

    what: the files, as the message names them
    """
    try:
        yield
    except (InputError, DataError):
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        shown = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise DataError(
            f"{what}: a value is missing or not as devfnn writes it ({shown})"
        ) from error


def cached_result(path: pathlib.Path, settings: RunSettings) -> Result | None:
    """The result of an earlier call; None if there is none, or it is of a run that was stopped.

    Raises
    ------
    DataError
        If it is the result of other settings, of another version, or of other defaults.
    """
    if not path.exists():
        return None
    result = read_result(path)
    if result.get("is_complete") is False:
        return None
    config = settings.final_config()
    parameters = {} if config is None else flat_names(json.loads(json.dumps(config.to_dict())))
    mine = (settings.to_dict(), {"version": versions()["devfnn"]}, parameters)
    with refusing_malformed(path):
        version = {"version": (result.get("versions") or {}).get("devfnn")}
        theirs = (result.get("settings") or {}, version, flat_names(result.get("config") or {}))
        other = next(filter(None, map(difference, mine, theirs)), None)
    if other is not None:
        name, here, there = other
        raise DataError(
            f"{path} is the result of other settings, {name} = {there!r} instead of {here!r}; "
            "choose another folder, or remove it"
        )
    return result
