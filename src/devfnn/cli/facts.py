"""What is said about a data set, a generator or a file: on the screen, and as plain data."""

import inspect
import itertools
import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from devfnn.cli.choosing import FLAGS
from devfnn.cli.typed import form
from devfnn.streams.datasets.catalogue import DATA_SETS
from devfnn.streams.datasets.checking import OWN_OPTIONS
from devfnn.streams.datasets.description import DataSet
from devfnn.streams.datasets.loading import download_folder, locate
from devfnn.streams.drift import KINDS, Positions
from devfnn.streams.files import options
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.opening import option_types
from devfnn.streams.stream import Stream

MOST_NAMES = 45
"""Names of features or classes that are listed."""

LICENCE_WIDTH = 16
"""Characters of a licence in the list of data sets."""

MOST_POSITIONS = 4
"""Drifts that are listed."""

CHOICES = {
    option: " or ".join(choices) for option, choices in ({"kind": KINDS} | options.CHOICES).items()
}
"""What may be chosen, where a text is not just any text."""

Folder = str | os.PathLike[str] | None


class Fact(NamedTuple):
    """Something known."""

    name: str
    value: Any
    """As plain data, for JSON."""
    text: str
    """For the screen; "" to leave it out there."""


def plain(facts: Iterable[Fact]) -> dict[str, Any]:
    """Facts as plain data."""
    return {fact.name: fact.value for fact in facts}


def texts(facts: Iterable[Fact]) -> dict[str, str]:
    """Facts for the screen."""
    return {fact.name: fact.text for fact in facts}


def data_set_row(data_set: DataSet, data_dir: Folder) -> list[Fact]:
    """A line of the list of data sets."""
    return [
        Fact("data set", data_set.name, data_set.name),
        _count("rows", data_set.n_rows),
        _count("features", data_set.n_features),
        _count("classes", len(data_set.class_names)),
        Fact("licence", data_set.licence, _shortened(data_set.licence)),
        _said("where", _where(data_set, data_dir)),
    ]


def _shortened(text: str) -> str:
    """What fits into a column; `info` has all of it."""
    return textwrap.shorten(text, LICENCE_WIDTH, placeholder=" ...")


def _where(data_set: DataSet, data_dir: Folder) -> str:
    """Whether it is here, and if not, how it comes."""
    located = locate(data_set, data_dir)
    if located is not None:
        return "here, drawn at random" if located.origin == "drawn" else "here"
    if data_set.drawn_from is not None:
        return f"drawn from {data_set.drawn_from}"
    if data_set.file is None:
        return "by hand"
    size = data_set.file.n_bytes
    return "to download" if size is None else f"to download, {size / 1e6:,.1f} MB"


def data_set_facts(data_set: DataSet, data_dir: Folder, target: str | None) -> list[Fact]:
    """All there is to say about a data set, with its usual classes or those of a target."""
    located = locate(data_set, data_dir)
    file = data_set.file
    chosen = data_set.targets.get(target or "")
    urls = [] if file is None else [mirror.url for mirror in file.mirrors]
    sha256 = None if file is None else file.sha256
    return [
        _said("what", f"{data_set.title}. {data_set.summary}"),
        _count("rows", data_set.n_rows),
        _names("features", data_set.feature_names),
        _names("classes", data_set.class_names if chosen is None else chosen.class_names),
        _listed("targets", data_set.target_names if data_set.targets else ()),
        _drift(data_set.drift_positions),
        Fact("notes", list(data_set.notes), " ".join(data_set.notes)),
        _said("licence", data_set.licence),
        _said("citation", data_set.citation),
        _said("home page", data_set.home_page),
        Fact("source", urls, "\n".join(urls)),
        Fact("sha256", sha256, sha256 or ("" if file is None else "not published")),
        _listed("checked", data_set.checks),
        Fact(
            "here", str(located.path) if located else None, str(located.path) if located else "no"
        ),
        _options(data_set.name),
        _said("to get it", None if located else data_set.directions(download_folder(data_dir))),
    ]


def generator_facts(name: str, stream: Stream) -> list[Fact]:
    """All there is to say about a generator, as it was made."""
    generator = GENERATORS[name]
    document = inspect.getdoc(generator.make) or ""
    return [
        _said("what", generator.summary),
        _said("citation", generator.citation),
        *stream_facts(stream),
        _options(name),
        _said("more", document.partition("\n\nParameters")[0].replace("\n", " ")),
    ]


def file_facts(name: str, stream: Stream) -> list[Fact]:
    """All there is to say about a file before it is read."""
    return [*stream_facts(stream), _options(name)]


def stream_facts(stream: Stream) -> Iterator[Fact]:
    """What a stream knows about itself."""
    unknown = "without end" if stream.is_endless else "not known before it is read"
    yield Fact("rows", stream.n_rows, unknown if stream.n_rows is None else f"{stream.n_rows:,}")
    yield Fact("endless", stream.is_endless, "")
    yield _names("features", stream.feature_names)
    yield _names("classes", stream.class_names or [str(label) for label in stream.classes])
    yield _drift(stream.drift_positions)


def _options(name: str) -> Fact:
    """What `--with` takes, and how it is written."""
    left_out = (*FLAGS, *(OWN_OPTIONS if name in DATA_SETS else ()))
    forms = {
        option: CHOICES.get(option) or form(hint)
        for option, hint in option_types(name).items()
        if option not in left_out
    }
    return Fact("options", forms, "\n".join(f"{option}={text}" for option, text in forms.items()))


def _said(name: str, text: str | None) -> Fact:
    return Fact(name, text, text or "")


def _count(name: str, number: int) -> Fact:
    return Fact(name, number, f"{number:,}")


def _listed(name: str, values: Sequence[str]) -> Fact:
    return Fact(name, list(values), ", ".join(values))


def _names(name: str, values: Sequence[str]) -> Fact:
    shown = ", ".join(values[:MOST_NAMES])
    more = f" and {len(values) - MOST_NAMES:,} more" if len(values) > MOST_NAMES else ""
    text = f"{len(values):,}: {shown}{more}"
    return Fact(name, list(values), text if values else "not known")


def _drift(positions: Positions) -> Fact:
    """Where it drifts; the first of many positions, which may have no end."""
    first = list(itertools.islice(positions, MOST_POSITIONS + 1))
    more = " ..." if len(first) > MOST_POSITIONS else ""
    text = ", ".join(f"row {position:,}" for position in first[:MOST_POSITIONS]) + more
    return Fact("drift", list(positions) if isinstance(positions, tuple) else first, text)
