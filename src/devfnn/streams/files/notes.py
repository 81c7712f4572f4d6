"""What a file declares about its rows, beyond names and types."""

import dataclasses
import json
from collections.abc import Hashable, Mapping

KEY = b"devfnn"
"""Where the note stands in the metadata of a Parquet file that was exported here."""


@dataclasses.dataclass(frozen=True)
class Note:
    """Labels, times, classes and drift; empty where a file says nothing.

    Parameters
    ----------
    labels
        Columns that are labels and no features; the first is meant by default.
    time
        Column that says when a row came.
    classes, class_names
        Labels that occur, and what they are called.
    drift_positions
        Rows with which a new concept begins.
    """

    labels: tuple[str, ...] = ()
    time: str | None = None
    classes: tuple[Hashable, ...] = ()
    class_names: tuple[str, ...] = ()
    drift_positions: tuple[int, ...] = ()

    def to_bytes(self) -> bytes:
        """The note as JSON; classes that JSON cannot hold are left out."""
        fields = dataclasses.asdict(self)
        if not all(isinstance(label, str | int | float) for label in self.classes):
            fields["classes"] = ()
        return json.dumps(fields).encode()

    @classmethod
    def of(cls, metadata: Mapping[bytes, bytes] | None) -> "Note":
        """The note of a file; an empty one if there is none or it is not understood."""
        try:
            fields = json.loads((metadata or {})[KEY])
            time = fields["time"]
            note = cls(
                tuple(str(name) for name in fields["labels"]),
                None if time is None else str(time),
                tuple(fields["classes"]),
                tuple(str(name) for name in fields["class_names"]),
                tuple(sorted(int(position) for position in fields["drift_positions"])),
            )
            hash(note)  # lists among the classes would fail later
        except (KeyError, ValueError, TypeError, RecursionError):
            return cls()
        return note
