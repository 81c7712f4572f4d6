"""Results and comparisons read back from JSON files, checked before anything is drawn from them.

A file may come from anywhere. What is read here has the types that figures and reports rely on;
whatever does not is refused with the name of the file and of the value.
"""

import json
import math
import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from devfnn.errors import DataError
from devfnn.experiments.contents import check_comparison, check_run

FORMAT = 1
"""The format of results and comparisons that this version reads."""

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
        If the file cannot be read, is no JSON, or holds something else.
    """
    data = _read_json(path)
    try:
        kind = kind_of(data)
        _check_format(data)
        check_run(data) if kind == "run" else check_comparison(data)
    except DataError as error:
        raise DataError(f"{os.fspath(path)}: {error}") from None
    assert isinstance(data, dict)
    return data


def read_result(path: Path) -> Result:
    """The result of a run, as `devfnn run --json` writes it.

    Raises
    ------
    DataError
        If the file cannot be read, is no JSON, or is no such result.
    """
    data = read_either(path)
    if kind_of(data) != "run":
        raise DataError(f"{os.fspath(path)}: a comparison; give the result of a single run")
    return data


def read_results(paths: Iterable[Path]) -> list[Result]:
    """The results of several runs; a folder stands for the results in it and below it.

    Files of a folder come in the order of their names. Comparisons in a folder are passed over.

    Raises
    ------
    DataError
        If a file is no result, or a folder has none.
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


def read_comparison(path: Path) -> Result:
    """A comparison of models over streams, as `devfnn compare --json` writes it.

    Raises
    ------
    DataError
        If the file cannot be read, is no JSON, or is no comparison.
    """
    data = read_either(path)
    if kind_of(data) != "comparison":
        raise DataError(f"{os.fspath(path)}: the result of a single run; give a comparison")
    return data


def _read_json(path: Path) -> object:
    """What a file holds; numbers that are not finite count as not measured."""
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
        data: object = json.loads(text, parse_constant=_no_number, parse_float=_finite)
        return data
    except RecursionError:
        raise DataError(f"{name}: nested too deeply for a result") from None
    except ValueError as error:
        raise DataError(f"{name}: not JSON, or cut short ({error})") from None


def _no_number(_: str) -> None:
    """NaN and infinity, which JSON does not have."""


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _check_format(data: object) -> None:
    assert isinstance(data, Mapping)
    found = data.get("format")
    if isinstance(found, bool) or not isinstance(found, int):
        raise DataError("there is no format number; was it written by devfnn run or compare?")
    if found != FORMAT:
        later = "upgrade devfnn" if found > FORMAT else "run it again with this version"
        raise DataError(f"the file has format {found}, this version reads {FORMAT}; {later}")
