"""What is known of a data set: its rows, its labels, its file, and who made it."""

import dataclasses
import pathlib
from collections.abc import Hashable, Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """A file as it is published."""

    name: str
    """What the file is called in a folder of data sets."""
    mirrors: tuple[str, ...]
    """Addresses, the best first."""
    n_bytes: int | None = None
    """Size of the download, for people; None where it is not known."""
    sha256: str | None = None
    """None where nobody publishes it. Rows and columns are counted in any case."""
    other_names: tuple[str, ...] = ()
    """What the same rows may be called too, for instance without compression."""


@dataclasses.dataclass(frozen=True)
class Target:
    """Coarser classes, instead of those of the data set."""

    class_names: tuple[str, ...]
    groups: tuple[int, ...]
    """The coarser class of each class of the data set, in order."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataSet:
    """A data set: facts only."""

    name: str
    title: str
    summary: str
    home_page: str
    licence: str
    citation: str
    n_rows: int
    feature_names: tuple[str, ...]
    """Columns before categories are turned into numbers. A file with others is refused."""
    class_names: tuple[str, ...]
    """Names of the labels 0, 1, ..."""
    labels: tuple[Hashable, ...] = (0, 1)
    """How the published file writes these labels, in the same order."""
    file: RemoteFile | None = None
    """The published file; None if there is none that can be read here."""
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """How to read the published file."""
    category_values: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """Columns of texts, or of numbers that may be taken for texts, with all that occur."""
    default_target: str = "class"
    """What the labels say."""
    targets: Mapping[str, Target] = dataclasses.field(default_factory=dict)
    """Other labels that may be learned instead."""
    drift_positions: tuple[int, ...] = ()
    """Rows with which a new concept begins, where that is known."""
    drawn_from: str | None = None
    """A larger data set from which this one can be drawn at random."""
    by_hand: str = ""
    """How to get it, where no file can be downloaded."""
    notes: tuple[str, ...] = ()
    """What one should know before using it."""

    @property
    def target_names(self) -> tuple[str, ...]:
        """What can be learned; the first by default."""
        return (self.default_target, *self.targets)

    @property
    def checks(self) -> tuple[str, ...]:
        """What is checked, so that the rows are those of this data set."""
        has_checksum = self.file is not None and self.file.sha256 is not None
        of_file = ("sha256 of the download",) if has_checksum else ()
        return (*of_file, "names or number of columns", "labels", "number of rows")

    def directions(self, folder: pathlib.Path) -> str:
        """How a person can get the data set, and where to put it."""
        if self.file is None:
            arrays = f"put {self.name}.npz, with arrays X, y and feature_names, into {folder}"
            return f"{self.by_hand} If you have the rows, {arrays}"
        return (
            f"download {self.file.mirrors[0]}, and put it as {self.file.name} into {folder} or the "
            "folder that DEVFNN_DATA names"
        )
