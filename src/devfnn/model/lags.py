"""The last labels as inputs, for autocorrelated streams (`Config.lags`).

Not in the paper. For every class and every lag a network has one more column: 1 if the label so
many labels back was this class, 0 if it was another, 0.5 while there was none. A row sees the
labels that were known before it came, never its own.

Columns stand in the order in which they came to be: the features of the first rows, then for each
of the first classes its lags 1, 2, ..., then whatever was added. So a new class moves no column.
`late` are the columns of features that were added later. Without lags, rows stay as they are.
"""

import dataclasses
import functools
from collections.abc import Hashable, Sequence

import numpy as np

from devfnn import formatting
from devfnn.arrays import Flags, Floats, Ints
from devfnn.kernels.state import UNLABELLED
from devfnn.model.network import Network
from devfnn.model.rows import Rows

UNKNOWN = 0.5
"""Value of a column while there was no label so far back."""


@dataclasses.dataclass(frozen=True)
class Columns:
    """Columns of a network: features and labels."""

    features: Ints  # (n,) columns of the user's features
    labels: Ints  # (m * lags,) columns of the last labels: all lags of class 0, of class 1, ...


@functools.lru_cache(maxsize=64)
def columns_of(n_columns: int, n_features: int, late: tuple[int, ...]) -> Columns:
    """The columns of a network for rows of so many features.

    >>> columns_of(6, 3, (4,))
    Columns(features=array([0, 1, 4]), labels=array([2, 3, 5]))
    """
    features = np.array([*range(n_features - len(late)), *late], np.int64)
    return Columns(features, np.setdiff1d(np.arange(n_columns), features))


# ---- rows with the labels before them


def at_once(network: Network, X: Floats, late: tuple[int, ...]) -> Floats:
    """Rows of one batch: all see the labels known by now."""
    return _with_labels(network, X, np.tile(network.recent, (len(X), 1)), late)


def one_by_one(network: Network, rows: Rows, labelled: Ints, late: tuple[int, ...]) -> Rows:
    """Single rows: each sees the labels before it."""
    seen = seen_by_each(network.recent, rows.labels, labelled != UNLABELLED)
    return dataclasses.replace(rows, X=_with_labels(network, rows.X, seen, late))


def seen_by_each(recent: Ints, labels: Ints, has_label: Flags) -> Ints:
    """The labels before each row, (k, lags), the newest first.

    >>> seen_by_each(np.array([7, -1]), np.array([2, 0, 1]), np.array([True, False, True])).tolist()
    [[7, -1], [2, 7], [2, 7]]
    """
    known = np.concatenate([recent[::-1], labels[has_label]])
    n_before: Ints = np.cumsum(has_label) - has_label
    seen: Ints = known[n_before[:, None] + np.arange(recent.size)[::-1]]
    return seen


def _with_labels(network: Network, X: Floats, seen: Ints, late: tuple[int, ...]) -> Floats:
    """Rows as the network takes them, from the features and the labels before."""
    n_rows, lags = seen.shape
    if not lags:
        return X
    columns = columns_of(network.n_features, X.shape[1], late)
    classes = np.arange(columns.labels.size // lags)[:, None]
    said = np.where(seen[:, None] < 0, UNKNOWN, seen[:, None] == classes)
    rows = np.empty((n_rows, columns.features.size + columns.labels.size))
    rows[:, columns.features] = X
    rows[:, columns.labels] = said.reshape(n_rows, columns.labels.size)
    return rows


def remember(network: Network, labels: Ints, labelled: Ints) -> None:
    """Keep the last labels of rows that were learned; rows without a label leave no trace."""
    newest_first = labels[labelled != UNLABELLED][::-1]
    network.recent = np.concatenate([newest_first, network.recent])[: network.recent.size]


# ---- what the columns are


def names_of(
    network: Network, names: list[str], labels: Sequence[Hashable], late: tuple[int, ...]
) -> list[str]:
    """Names of all columns, from those of the features and the classes."""
    lags = network.recent.size
    if not lags:
        return names
    columns = columns_of(network.n_features, len(names), late)
    pairs = ((text, lag) for text in formatting.distinct(labels) for lag in range(1, lags + 1))
    said = [f"label {lag} back is {text}" for text, lag in pairs]
    places = [*columns.features.tolist(), *columns.labels.tolist()]
    return [name for _, name in sorted(zip(places, [*names, *said], strict=True))]


def widen(network: Network, n_columns: int, n_classes: int) -> None:
    """Make room for new classes; the labels before rows that are kept were none of them."""
    n_before = network.n_features
    network.widen(n_columns, n_classes)
    for X in (network.scaler.first_rows, network.buffer.X, network.gathered.rows.X):
        X[:, n_before:] = 0.0
