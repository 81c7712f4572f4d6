"""Results and comparisons read back from JSON files: whole ones of this format, or none."""

import contextlib
import json
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from devfnn.errors import DataError, InputError
from devfnn.experiments.settings import RunSettings, difference, versions

FORMAT = 1
"""Of results and comparisons; raised when their keys change."""

Path = str | os.PathLike[str]
Result = dict[str, Any]


def kind_of(data: Mapping[str, Any]) -> Literal["run", "comparison"]:
    """Whether data that `read_either` gave are the result of a run or a comparison of runs."""
    return "comparison" if "cells" in data else "run"


def read_either(path: Path) -> Result:
    """A result or a comparison, whichever the file holds; `kind_of` tells which.

    DataError if the file cannot be read, is no JSON, is cut short, or holds something else.
    """
    name = os.fspath(path)
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):  # without end
        raise DataError(f"{name}: not a regular file")
    with refusing_malformed(name, passes=()):
        text = pathlib.Path(path).read_text(encoding="utf-8-sig")
        data: Any = json.loads(text, parse_constant=lambda _: None)
        if not isinstance(data, dict) or not {"cells", "per_chunk"} & data.keys():
            raise ValueError("neither a result of devfnn run nor one of devfnn compare")
    if data.get("format") != FORMAT:
        raise DataError(
            f"{name}: the file has format {data.get('format')}, this version reads {FORMAT}; "
            "run it again with this version"
        )
    return dict(data)


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
