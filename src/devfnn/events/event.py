"""What all events have in common."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

ACCEPTED: dict[Any, tuple[type, ...]] = {int: (int,), float: (float, int), str: (str,)}
"""Types of values by the type of their field."""

SHARES = ("error_before", "error_after", "bound")
"""Fields that are told in percent."""


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """Something that changed the structure of the model."""

    row: int

    @property
    def kind(self) -> str:
        """Name of the event, as it is counted in reports."""
        return type(self).__name__

    @property
    def explanation(self) -> str:
        """Why it happened, in words, with the numbers that caused it."""
        fields = dataclasses.asdict(self)
        shares = {f"{name}_%": 100.0 * value for name, value in fields.items() if name in SHARES}
        is_merged = fields.get("merged_into", -1) >= 0
        return (self._merged if is_merged else self._explanation).format(**fields, **shares)

    _explanation: ClassVar[str] = ""
    """What `explanation` says, with the names of fields in braces."""
    _merged: ClassVar[str] = ""
    """The same for what was merged into another."""

    def __init_subclass__(cls) -> None:
        _KINDS[cls.__name__] = cls

    def to_dict(self) -> dict[str, Any]:
        """The event as plain data, with its kind."""
        return {"kind": self.kind, **dataclasses.asdict(self)}

    @staticmethod
    def from_dict(data: Any) -> "Event":
        """The event that `to_dict` gave; ValueError if it is none."""
        name = data.get("kind") if isinstance(data, Mapping) else None
        kind = _KINDS.get(name) if isinstance(name, str) else None
        if kind is None:
            raise ValueError(f"there is no event {name!r}")
        types = {field.name: field.type for field in dataclasses.fields(kind)}
        if set(data) != {"kind", *types}:
            raise ValueError(f"{name} has the fields {', '.join(types)}, and no others")
        fields = {field: data[field] for field in types}
        for field, value in fields.items():
            if isinstance(value, bool) or not isinstance(value, ACCEPTED[types[field]]):
                raise ValueError(f"{field} of {name} cannot be {value!r}")
        return kind(**fields)


_KINDS: dict[str, type[Event]] = {}
"""All events by name."""
