"""What is known about a data set, a generator or a file: for the screen, and as plain data."""

import inspect
import itertools
import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import rich.console

from devfnn.cli.inputs import FLAGS, is_file, opened_whole
from devfnn.cli.option_parsing import form
from devfnn.experiments.settings import StreamSettings
from devfnn.formatting import count, listed
from devfnn.streams.datasets.catalogue import DATA_SETS
from devfnn.streams.datasets.description import DataSet
from devfnn.streams.datasets.loading import OWN_OPTIONS, download_folder, locate
from devfnn.streams.drift import KINDS, Positions
from devfnn.streams.files.options import CHOICES as FILE_CHOICES
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.opening import option_types
from devfnn.streams.stream import Stream

MOST_NAMES = 45
"""Names of features or classes that are listed."""

LICENCE_WIDTH = 16
"""Characters of a licence in the list of data sets."""

MOST_POSITIONS = 4
"""Drifts that are listed."""

CHOICES: dict[str, Iterable[str]] = {"kind": KINDS, **FILE_CHOICES}
"""Values of options that accept only some texts."""

Folder = str | os.PathLike[str] | None


class Fact(NamedTuple):
    """A fact about a stream: plain data, and its text for the screen if that is not the usual."""

    name: str
    value: Any
    text: str | None = None

    def shown(self) -> str:
        """The text for the screen; "" to leave it out there."""
        if self.text is not None:
            return self.text
        if isinstance(self.value, list):
            return ", ".join(self.value)
        return count(self.value) if isinstance(self.value, int) else self.value or ""


def plain(facts: Iterable[Fact]) -> dict[str, Any]:
    """Facts as plain data."""
    return {fact.name: fact.value for fact in facts}


def texts(facts: Iterable[Fact]) -> dict[str, str]:
    """Facts for the screen."""
    return {fact.name: fact.shown() for fact in facts}


def info_of(settings: StreamSettings, console: rich.console.Console) -> list[Fact]:
    """What is known of a stream with its options; a data set is not downloaded for it."""
    name, options = settings.name, dict(settings.options)
    if name in GENERATORS:
        return _generator_facts(name, opened_whole(settings, console))
    if is_file(name):
        return [*_stream_facts(opened_whole(settings, console)), _options(name)]
    data_set = DATA_SETS[name]
    facts = _data_set_facts(data_set, settings.data_dir, options.pop("target", None))
    if options and locate(data_set, settings.data_dir) is not None:
        as_read = {fact.name: fact for fact in _stream_facts(opened_whole(settings, console))}
        facts = [as_read.get(fact.name, fact) for fact in facts]
    return facts


def data_set_row(data_set: DataSet, data_dir: Folder) -> list[Fact]:
    """A line of the list of data sets."""
    licence = textwrap.shorten(data_set.licence, LICENCE_WIDTH, placeholder=" ...")
    return [
        Fact("data set", data_set.name),
        Fact("rows", data_set.n_rows),
        Fact("features", len(data_set.feature_names)),
        Fact("classes", len(data_set.class_names)),
        Fact("licence", data_set.licence, licence),
        Fact("where", _where(data_set, data_dir)),
    ]


def _where(data_set: DataSet, data_dir: Folder) -> str:
    """Whether it is here, and if not, how to get it."""
    located = locate(data_set, data_dir)
    if located is not None:
        return "here, drawn at random" if located.origin == "drawn" else "here"
    if data_set.drawn_from is not None:
        return f"drawn from {data_set.drawn_from}"
    if data_set.file is None:
        return "by hand"
    size = data_set.file.n_bytes
    return "to download" if size is None else f"to download, {size / 1e6:,.1f} MB"


def _data_set_facts(data_set: DataSet, data_dir: Folder, target: str | None) -> list[Fact]:
    """All that is known about a data set, with its usual classes or those of a target."""
    located = locate(data_set, data_dir)
    file = data_set.file
    chosen = data_set.targets.get(target or "")
    urls = [] if file is None else list(file.mirrors)
    sha256 = None if file is None else file.sha256
    path = str(located.path) if located else None
    return [
        Fact("what", f"{data_set.title}. {data_set.summary}"),
        Fact("rows", data_set.n_rows),
        _names("features", data_set.feature_names),
        _names("classes", data_set.class_names if chosen is None else chosen.class_names),
        Fact("targets", list(data_set.target_names if data_set.targets else ())),
        _drift(data_set.drift_positions),
        Fact("notes", list(data_set.notes), " ".join(data_set.notes)),
        Fact("licence", data_set.licence),
        Fact("citation", data_set.citation),
        Fact("home page", data_set.home_page),
        Fact("source", urls, "\n".join(urls)),
        Fact("sha256", sha256, sha256 or ("" if file is None else "not published")),
        Fact("checked", list(data_set.checks)),
        Fact("here", path, path or "no"),
        _options(data_set.name),
        Fact("to get it", None if located else data_set.directions(download_folder(data_dir))),
    ]


def _generator_facts(name: str, stream: Stream) -> list[Fact]:
    """All that is known about a generator with its options."""
    generator = GENERATORS[name]
    more = (inspect.getdoc(generator.make) or "").partition("\n\n")[2].partition("\n\nExamples")[0]
    return [
        Fact("what", generator.summary),
        Fact("citation", generator.citation),
        *_stream_facts(stream),
        _options(name),
        Fact("more", more.replace("\n", " ")),
    ]


def _stream_facts(stream: Stream) -> Iterator[Fact]:
    """What a stream knows about itself."""
    unknown = "endless" if stream.is_endless else "not known before it is read"
    yield Fact("rows", stream.n_rows, unknown if stream.n_rows is None else count(stream.n_rows))
    yield Fact("endless", stream.is_endless, "")
    yield _names("features", stream.feature_names)
    yield _names("classes", stream.class_names or [str(label) for label in stream.classes])
    yield _drift(stream.drift_positions)


def _options(name: str) -> Fact:
    """What `--with` accepts, and how it is written."""
    left_out = (*FLAGS, *(OWN_OPTIONS if name in DATA_SETS else ()))
    forms = {
        option: " or ".join(CHOICES.get(option, ())) or form(hint)
        for option, hint in option_types(name).items()
        if option not in left_out
    }
    return Fact("options", forms, "\n".join(f"{option}={text}" for option, text in forms.items()))


def _names(name: str, values: Sequence[str]) -> Fact:
    text = f"{len(values):,}: {listed(values, MOST_NAMES)}" if values else "not known"
    return Fact(name, list(values), text)


def _drift(positions: Positions) -> Fact:
    """Where it drifts; the first of many positions, which may be endless."""
    first = list(itertools.islice(positions, MOST_POSITIONS + 1))
    more = " ..." if len(first) > MOST_POSITIONS else ""
    text = ", ".join(f"row {position:,}" for position in first[:MOST_POSITIONS]) + more
    return Fact("drift", list(positions) if isinstance(positions, tuple) else first, text)
