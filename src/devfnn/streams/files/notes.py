"""What a Parquet file that was exported here says about itself."""

import dataclasses
import json
from collections.abc import Mapping

KEY = b"devfnn"
"""Where it stands in the file's metadata."""


@dataclasses.dataclass(frozen=True)
class Note:
    """Which column is the label, what classes are called, and where drift is."""

    label: str | None = None
    class_names: tuple[str, ...] = ()
    drift_positions: tuple[int, ...] = ()

    def to_bytes(self) -> bytes:
        """The note as JSON."""
        return json.dumps(dataclasses.asdict(self)).encode()

    @classmethod
    def of(cls, metadata: Mapping[bytes, bytes] | None) -> "Note":
        """The note of a file; an empty one if there is none or it is not understood."""
        try:
            fields = json.loads((metadata or {})[KEY])
            return cls(
                str(fields["label"]),
                tuple(str(name) for name in fields["class_names"]),
                tuple(sorted(int(position) for position in fields["drift_positions"])),
            )
        except (KeyError, ValueError, TypeError):
            return cls()
