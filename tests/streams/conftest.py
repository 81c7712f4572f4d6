"""The arrays of the data sets, loaded once for all tests."""

import functools
import pathlib
from collections.abc import Callable

import numpy as np
import pytest


@pytest.fixture(scope="session")
def arrays_of(data_dir: pathlib.Path) -> Callable[[str], dict[str, np.ndarray]]:
    """All arrays of a data set by its name; the test is skipped if they are not here."""

    @functools.cache
    def load(name: str) -> dict[str, np.ndarray]:
        path = data_dir / f"{name}.npz"
        if not path.is_file():
            pytest.skip(f"needs {path.name} in the folder that DEVFNN_DATA names")
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        for array in arrays.values():
            array.setflags(write=False)
        return arrays

    return load
