"""What is known of a data set: its rows, its labels, its file, and who made it."""

import dataclasses
import pathlib
from collections.abc import Hashable, Mapping

from devfnn.streams.files.options import FileOptions


@dataclasses.dataclass(frozen=True)
class Mirror:
    """A place from which a file can be had.

    Parameters
    ----------
    url
        Address of the file, or of an archive that holds it.
    member
        Name of the file in the archive; None if the address is that of the file itself.
    sha256
        Checksum of the archive.
    """

    url: str
    member: str | None = None
    sha256: str | None = None


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """A file as it is published.

    Parameters
    ----------
    name
        What the file is called in a folder of data sets.
    mirrors
        Where to get it, the best place first.
    n_bytes
        Size of the download, for people; None where it is not known.
    sha256
        Checksum of the file; None where nobody publishes one. Rows and columns are counted in any
        case.
    other_names
        What the same rows may be called too, for instance without compression.
    """

    name: str
    mirrors: tuple[Mirror, ...]
    n_bytes: int | None = None
    sha256: str | None = None
    other_names: tuple[str, ...] = ()

    def directions(self, folder: pathlib.Path) -> str:
        """How a person can get the file, and where to put it."""
        mirror = self.mirrors[0]
        unpack = "" if mirror.member is None else f", unpack {mirror.member} from it"
        where = f"{folder} or the folder that DEVFNN_DATA names"
        return f"download {mirror.url}{unpack}, and put it as {self.name} into {where}"


@dataclasses.dataclass(frozen=True)
class Target:
    """Coarser classes, instead of those of the data set.

    Parameters
    ----------
    class_names
        Names of the coarser classes.
    groups
        The coarser class of each class of the data set, in order.
    """

    class_names: tuple[str, ...]
    groups: tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataSet:
    """A data set: facts only.

    Parameters
    ----------
    name
        What `dataset` calls it; `<name>.npz` is its file as arrays.
    title, summary, home_page, licence, citation
        For people.
    n_rows, feature_names
        Rows and columns, before categories are turned into numbers. A file with others is refused.
    class_names
        Names of the labels 0, 1, ...
    labels
        How the published file writes these labels, in the same order.
    file
        The published file; None if there is none that can be read here.
    options
        How to read the published file.
    category_values
        Columns that hold texts, with all texts that occur; also of columns that are numbers
        unless they are said to be categories.
    default_target, targets
        What the labels say, and other labels that may be learned instead.
    drift_positions
        Rows with which a new concept begins, where that is known.
    drawn_from
        A larger data set from which this one can be drawn at random.
    by_hand
        How to get it, where no file can be downloaded.
    notes
        What one should know before using it.
    """

    name: str
    title: str
    summary: str
    home_page: str
    licence: str
    citation: str
    n_rows: int
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    labels: tuple[Hashable, ...] = (0, 1)
    file: RemoteFile | None = None
    options: FileOptions = dataclasses.field(default_factory=FileOptions)
    category_values: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    default_target: str = "class"
    targets: Mapping[str, Target] = dataclasses.field(default_factory=dict)
    drift_positions: tuple[int, ...] = ()
    drawn_from: str | None = None
    by_hand: str = ""
    notes: tuple[str, ...] = ()

    @property
    def n_features(self) -> int:
        """Columns that are features, before categories are turned into numbers."""
        return len(self.feature_names)

    @property
    def target_names(self) -> tuple[str, ...]:
        """What can be learned; the first by default."""
        return (self.default_target, *self.targets)

    @property
    def npz_name(self) -> str:
        """What the file with the arrays of the data set is called."""
        return f"{self.name}.npz"

    @property
    def checks(self) -> tuple[str, ...]:
        """What is checked, so that the rows are those of this data set."""
        has_checksum = self.file is not None and self.file.sha256 is not None
        of_file = ("sha256 of the download",) if has_checksum else ()
        return (*of_file, "names or number of columns", "labels", "number of rows")

    def directions(self, folder: pathlib.Path) -> str:
        """How a person can get the data set, and where to put it."""
        if self.file is not None:
            return self.file.directions(folder)
        arrays = f"put {self.npz_name}, with arrays X, y and feature_names, into {folder}"
        return f"{self.by_hand} If you have the rows, {arrays}"
