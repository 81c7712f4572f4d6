"""The errors that users may see. Each message says what is wrong and what to do."""


class InputError(ValueError):
    """Rows, labels or weights that a model cannot use; the model is unchanged."""


class NotLearnedError(RuntimeError):
    """A model was asked for a prediction before it learned anything."""


class StorageError(ValueError):
    """A file that is not a valid devfnn model."""


class DataError(ValueError):
    """A file or data set that cannot be read, or a row in it; says where, and what to do."""


LONGEST_SHOWN = 80
"""Characters of a value in a message."""


def shown(value: object) -> str:
    """A value as a message shows it: cut where it is long, whatever it is.

    >>> shown("heat"), shown("x" * 1000) == repr("x" * 1000)[:80] + "..."
    ("'heat'", True)
    >>> shown(10**5000)
    'a value of type int'
    """
    try:
        text = repr(value)
        text.encode()
    except Exception:  # of numbers without end, and of objects that fail
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
