"""What is known of a data set: its rows, its labels, its file, and who made it."""

import dataclasses
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
    n_bytes, sha256
        Of the archive.
    """

    url: str
    member: str | None = None
    n_bytes: int | None = None
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
    n_bytes, sha256
        None where nobody publishes them, or where what was found is not sure enough to refuse a
        file that differs. Rows and columns are counted in any case.
    other_names
        What the same rows may be called too, for instance without compression.
    """

    name: str
    mirrors: tuple[Mirror, ...]
    n_bytes: int | None = None
    sha256: str | None = None
    other_names: tuple[str, ...] = ()


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
    def checks(self) -> tuple[str, ...]:
        """What is checked, so that the rows are those of this data set."""
        of_file = []
        if self.file is not None:
            sizes = [("size", self.file.n_bytes), ("sha256", self.file.sha256)]
            of_file = [f"{name} of the download" for name, known in sizes if known is not None]
        return (*of_file, "names or number of columns", "labels", "number of rows")
