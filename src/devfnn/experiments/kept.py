"""Results of earlier calls: taken again only if they are of the same settings and code."""

import json
import pathlib
from collections.abc import Mapping
from typing import Any

from devfnn.errors import DataError
from devfnn.experiments.reading import read_result
from devfnn.experiments.settings import RunSettings, difference, versions


def kept_result(path: pathlib.Path, settings: RunSettings) -> Mapping[str, Any] | None:
    """The result in a file; None if there is none, or it is of a run that was stopped.

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
    other = difference(settings.to_dict(), result.get("settings") or {})
    other = other or _other_code(settings, result)
    if other is not None:
        name, mine, theirs = other
        raise DataError(
            f"{path} is the result of other settings, {name} = {theirs!r} instead of {mine!r}; "
            "choose another folder, or remove it"
        )
    return result


def _other_code(settings: RunSettings, result: Mapping[str, Any]) -> tuple[str, Any, Any] | None:
    """What tells that a result is of another version: its number, or a default that has changed."""
    mine, theirs = versions()["devfnn"], (result.get("versions") or {}).get("devfnn")
    if mine != theirs:
        return "version", mine, theirs
    config = settings.final_config()
    if config is None:
        return None
    now, then = json.loads(json.dumps(config.to_dict())), result.get("config") or {}
    changed = [name for name in {**now, **then} if now.get(name) != then.get(name)]
    return (changed[0], now.get(changed[0]), then.get(changed[0])) if changed else None
