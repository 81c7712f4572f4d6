"""Tables of numbers, and how they are written: LaTeX, Markdown, data."""

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from devfnn.formatting import NO_VALUE

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",  # after a line's end, it would be an argument
        "±": r"$\pm$",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)
"""Signs that LaTeX reads as commands."""


@dataclasses.dataclass(frozen=True)
class Column:
    """What a column shows of every row."""

    key: str
    title: str
    spread: str | None = None
    """Where the deviation of the value is, if it has one."""
    decimals: int | None = None
    """Digits after the point; None for as many as it takes."""
    factor: float = 1.0
    """What numbers are multiplied by to be shown: 100 for shares in percent."""
    beside: str | None = None
    """Key of the column with which this one is to be compared."""
    is_detail: bool = False
    """Whether it can be left out where there is little room."""
    is_signed: bool = False
    """Whether numbers above 0 have a plus."""

    def text(self, row: Mapping[str, Any]) -> str:
        """The value of a row as text.

        >>> column = Column("mean", "CR", spread="std", decimals=1, factor=100)
        >>> column.text({"mean": 0.917, "std": 0.05}), column.text({"mean": None})
        ('91.7 ± 5.0', '-')
        """
        value = row.get(self.key)
        if value is None:
            return NO_VALUE
        if isinstance(value, str):
            return value
        spread = None if self.spread is None else row.get(self.spread)
        return self._number(value) + ("" if spread is None else f" ± {self._number(spread)}")

    def _number(self, value: float) -> str:
        form = "g" if self.decimals is None else f",.{self.decimals}f"
        return f"{self.factor * value:{'+' if self.is_signed else '-'}{form}}"


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of values, and the columns that show them."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]
    """Values by key; None for what was not measured. Shares are in [0, 1]."""
    notes: tuple[str, ...] = ()
    """Notes below the table."""
    section: str | None = None
    """Key whose changes part the table, and whose value is not repeated."""

    def sections(self) -> Iterator[list[Mapping[str, Any]]]:
        """Rows that belong together."""
        for _, rows in itertools.groupby(self.rows, lambda row: row.get(self.section or "")):
            yield list(rows)

    def lines(self) -> Iterator[list[list[str]]]:
        """Cells as text, by sections and rows."""
        for rows in self.sections():
            yield [
                [
                    "" if place and each.key == self.section else each.text(row)
                    for each in self.columns
                ]
                for place, row in enumerate(rows)
            ]

    def values(self) -> Iterator[list[Any]]:
        """Lines of a CSV file: names, then values of rows; deviations have their own columns."""
        pairs = ((column.key, column.spread) for column in self.columns)
        keys = [key for pair in pairs for key in pair if key is not None]
        yield list(keys)
        for row in self.rows:
            yield [row.get(key) for key in keys]

    def to_latex(self) -> str:
        """A tabular; needs the package booktabs."""

        def line(cells: Iterable[str]) -> str:
            plain = ("--" if text == NO_VALUE else " ".join(text.split()) for text in cells)
            return " & ".join(text.translate(_LATEX) for text in plain) + r" \\"

        comments = ["Needs \\usepackage{booktabs}.", self.title, *self.notes]
        parts = [f"% {' '.join(comment.split())}" for comment in comments]
        parts += [rf"\begin{{tabular}}{{ll{'r' * (len(self.columns) - 2)}}}", r"\toprule"]
        parts.append(line(column.title for column in self.columns))
        for section in self.lines():
            parts += [r"\midrule", *map(line, section)]
        return "\n".join([*parts, r"\bottomrule", r"\end{tabular}", ""])

    def to_markdown(self) -> str:
        """A Markdown table; nothing in it is read as markup."""

        def line(cells: Iterable[str]) -> str:
            return f"| {' | '.join(map(_in_markdown, cells))} |"

        rule = [":--", ":--", *["--:"] * (len(self.columns) - 2)]
        parts = [f"**{_in_markdown(self.title)}**", "", line(each.title for each in self.columns)]
        parts.append(f"| {' | '.join(rule)} |")
        parts += [line(cells) for section in self.lines() for cells in section]
        return "\n".join([*parts, *(f"\n{_in_markdown(note)}" for note in self.notes), ""])

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data."""
        rows = [dict(row) for row in self.rows]
        return {"format": 1, "title": self.title, "rows": rows, "notes": list(self.notes)}


def _in_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", " ".join(text.split()))
