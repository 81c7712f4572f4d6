"""What a person can do to get a data set that is not here."""

import pathlib

from devfnn.streams.datasets.description import DataSet, RemoteFile
from devfnn.streams.datasets.lookup import npz_name


def how_to_get(data_set: DataSet, folder: pathlib.Path) -> str:
    """Which file from where, and under which name into which folder."""
    if data_set.file is not None:
        return by_hand(data_set.file, folder)
    arrays = f"put {npz_name(data_set)}, with arrays X, y and feature_names, into {folder}"
    return f"{data_set.by_hand} If you have the rows, {arrays}"


def by_hand(file: RemoteFile, folder: pathlib.Path) -> str:
    """How to get a file without this program."""
    mirror = file.mirrors[0]
    what = f"download {mirror.url}"
    if mirror.member is not None:
        what += f", unpack {mirror.member} from it"
    return f"{what}, and put it as {file.name} into {folder} or the folder that DEVFNN_DATA names"
