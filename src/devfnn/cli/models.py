"""Model files on the command line: opened, and given the rows that they know."""

import pathlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

import numpy as np
import typer

from devfnn.cli.choosing import Choice
from devfnn.errors import DataError, InputError, StorageError
from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN
from devfnn.model.validation import LARGEST
from devfnn.storage import load
from devfnn.streams.stream import Stream
from devfnn.types import Chunk

ModelFile = Annotated[
    pathlib.Path,
    typer.Argument(
        metavar="MODEL", dir_okay=False, help="A model, as `devfnn run --save` writes it."
    ),
]

_MADE_UP = re.compile(r"x[0-9]+")
_OF_CATEGORY = re.compile(r"(.+?)(=.*|#[0-9]+|%[0-9]+)", re.DOTALL)

MOST_NAMES = 20
"""Features that a message lists."""


def opened_model(path: pathlib.Path) -> DEVFNN:
    """The model in a file; DataError if there is none, or none that is sound."""
    try:
        return load(path)
    except FileNotFoundError:
        raise DataError(f"there is no model file {str(path)!r}") from None
    except OSError as error:
        raise DataError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except (StorageError, InputError) as error:
        raise DataError(f"{error}" if str(path) in str(error) else f"{path}: {error}") from None


def learned_model(path: pathlib.Path) -> DEVFNN:
    """The same; DataError also if it has learned nothing."""
    model = opened_model(path)
    if not model.n_rows:
        raise DataError(f"the model in {path} has learned nothing yet")
    return model


def with_features_of(model: DEVFNN, stream: Stream, name: str) -> Stream:
    """The stream with exactly the features of a model, in its order.

    They are found by name. Where a model or a file has no names but x1, x2, ..., and as many
    features as the other, they are taken in order. DataError if one is missing.
    """
    wanted, given = tuple(model.feature_names), stream.feature_names
    missing = [feature for feature in wanted if feature not in given]
    if not missing:
        return stream if wanted == given else stream.select(wanted)
    if len(wanted) == len(given) and (_are_made_up(wanted) or _are_made_up(given)):
        return stream
    more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
    raise DataError(
        f"{name} lacks the feature {missing[0]!r}{more}; it has {_listed(given)}, "
        f"the model needs {_listed(wanted)}" + _hint(missing[0], given)
    )


def _are_made_up(names: Sequence[str]) -> bool:
    return all(_MADE_UP.fullmatch(name) for name in names)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _hint(missing: str, given: Sequence[str]) -> str:
    """What may be wrong: labels among the features, or categories numbered in another way."""
    if _are_made_up(given):
        return f". If {given[-1]} is the label, say so: --label {given[-1]}"
    found = _OF_CATEGORY.fullmatch(missing)
    if found is None or not any(each.startswith(found[1]) for each in given):
        return ". Without --label, a column may have been taken for the label"
    return (
        f". {missing!r} stands for values of the column {found[1]!r}: other files number them "
        f"in another way, unless all are named with --with category_values={found[1]}:...|..., "
        "for learning as for predicting"
    )


def usable(
    chunks: Iterable[Chunk],
    feature_names: Sequence[str],
    choice: Choice,
    config: Config,
    hint: str = "",
) -> Iterator[Chunk]:
    """Chunks up to a value that a model would refuse: DataError says where it is.

    hint: what else can be done about a missing value
    """
    n_before = choice.skip
    for chunk in chunks:
        is_missing = np.isnan(chunk.X)
        is_bad = np.abs(np.where(is_missing, 0.0, chunk.X)) > LARGEST
        if config.missing == "error":
            is_bad |= is_missing
        if is_bad.any():
            row, feature = np.argwhere(is_bad)[0]
            what = (
                f"is missing.{hint} To put the mean in its place: --with missing=mean"
                if is_missing[row, feature]
                else f"is {chunk.X[row, feature]:g}; beyond {LARGEST:g} nothing can be learned"
            )
            place = f"{choice.name}, row {n_before + row + 1:,}"
            place += " as shuffled" if choice.shuffle else ""
            raise DataError(f"{place}: {feature_names[feature]!r} {what}")
        n_before += len(chunk.y)
        yield chunk
