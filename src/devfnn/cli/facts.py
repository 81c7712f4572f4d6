"""What is said about a data set, a generator or a file."""

import inspect
import os
from collections.abc import Sequence

from devfnn.streams.datasets.description import DataSet
from devfnn.streams.datasets.directions import how_to_get
from devfnn.streams.datasets.lookup import download_folder, locate
from devfnn.streams.finding import generator_options
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.stream import Stream

MOST_NAMES = 45
"""Names of features or classes that are listed."""

Folder = str | os.PathLike[str] | None


def data_set_row(data_set: DataSet, data_dir: Folder) -> tuple[str, ...]:
    """A line of the list of data sets."""
    return (
        data_set.name,
        f"{data_set.n_rows:,}",
        str(data_set.n_features),
        str(len(data_set.class_names)),
        data_set.licence,
        _where(data_set, data_dir),
    )


def _where(data_set: DataSet, data_dir: Folder) -> str:
    """Whether it is here, and if not, how it comes."""
    located = locate(data_set, data_dir)
    if located is not None:
        return "here, drawn at random" if located.origin == "drawn" else "here"
    if data_set.drawn_from is not None:
        return f"drawn from {data_set.drawn_from}"
    if data_set.file is None:
        return "by hand"
    size = data_set.file.mirrors[0].n_bytes or data_set.file.n_bytes
    return "to download" if size is None else f"to download, {size / 1e6:,.1f} MB"


def data_set_facts(data_set: DataSet, data_dir: Folder) -> dict[str, str]:
    """All there is to say about a data set."""
    located = locate(data_set, data_dir)
    file = data_set.file
    return {
        "what": f"{data_set.title}. {data_set.summary}",
        "rows": f"{data_set.n_rows:,}",
        "features": f"{data_set.n_features}: {listed(data_set.feature_names)}",
        "classes": f"{len(data_set.class_names)}: {listed(data_set.class_names)}",
        "targets": ", ".join(data_set.target_names) if data_set.targets else "",
        "drift": listed([f"row {position:,}" for position in data_set.drift_positions]),
        "notes": " ".join(data_set.notes),
        "licence": data_set.licence,
        "citation": data_set.citation,
        "home page": data_set.home_page,
        "source": "" if file is None else "\n".join(mirror.url for mirror in file.mirrors),
        "sha256": "" if file is None else file.sha256 or "not published",
        "checked": ", ".join(data_set.checks),
        "here": str(located.path) if located is not None else "no",
        "to get it": "" if located else how_to_get(data_set, download_folder(data_dir)),
    }


def generator_facts(name: str) -> dict[str, str]:
    """All there is to say about a generator."""
    generator = GENERATORS[name]
    stream = generator.make()
    document = inspect.getdoc(generator.make) or ""
    return {
        "what": generator.summary,
        "citation": generator.citation,
        **stream_facts(stream),
        "options": ", ".join(generator_options(name)),
        "more": document.partition("\n\nParameters")[0].replace("\n", " "),
    }


def stream_facts(stream: Stream) -> dict[str, str]:
    """What a stream knows about itself."""
    rows = "without end" if stream.is_endless else "not known before it is read"
    names = stream.class_names or [str(label) for label in stream.classes]
    positions = [f"row {position:,}" for position in stream.drift_positions[:4]]
    return {
        "rows": f"{stream.n_rows:,}" if stream.n_rows is not None else rows,
        "features": f"{len(stream.feature_names)}: {listed(stream.feature_names)}",
        "classes": f"{len(names)}: {listed(names)}" if names else "not known",
        "drift": ", ".join(positions) + (" ..." if len(stream.drift_positions) > 4 else ""),
    }


def listed(names: Sequence[str]) -> str:
    """Names in a row, not too many of them.

    >>> listed(["a", "b"])
    'a, b'
    """
    shown = ", ".join(names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES} more"
