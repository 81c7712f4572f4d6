"""Docstrings as the site needs them: examples in the text as code, parameters listed once."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^|(?<=\n\n))>>> .*?(?=\n\n|\Z)", re.DOTALL)
"""An example in the text, up to an empty line; those under a heading are code already."""

ALL_PARAMETERS = "Parameters\n----------\n<parameters>"
"""What the classifiers for scikit-learn fill in when they are imported."""


class Readable(griffe.Extension):  # type: ignore[misc]
    """Rewrites docstrings before they are parsed; nothing is imported for it."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of whatever has one."""
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value)


def readable(text: str) -> str:
    """A docstring as the site needs it.

    >>> readable("A word.\\n\\n>>> 1 + 1\\n2")
    'A word.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```'
    """
    text = text.replace(ALL_PARAMETERS, "Parameters are those of `devfnn.Config`, by name.")
    head, *sections = re.split(r"(?=^\w[\w ]*\n-{3,}$)", text, flags=re.MULTILINE)
    shown = EXAMPLE.sub(lambda match: f"```pycon\n{match.group()}\n```", head)
    return shown + "".join(sections)
