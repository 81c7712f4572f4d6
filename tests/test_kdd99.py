"""KDD Cup 1999 with its symbolic columns, from the file through the encoder to the model."""

import dataclasses

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.evaluation import Summary, iter_prequential
from devfnn.streams import dataset
from devfnn.streams.datasets.catalogue import DATA_SETS

N_ROWS = 8_000


@pytest.fixture(scope="module")
def first_rows(data_dir, tmp_path_factory):
    """A folder with the first rows of the data set: the whole takes a second to load."""
    path = data_dir / "kdd99.npz"
    if not path.is_file():
        pytest.skip("needs kdd99.npz in the folder that DEVFNN_DATA names")
    data_set = DATA_SETS["kdd99"]
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    folder = tmp_path_factory.mktemp("kdd99")
    np.savez(
        folder / "kdd99.npz",
        **{
            name: array[:N_ROWS] if array.shape[:1] == (data_set.n_rows,) else array
            for name, array in arrays.items()
        },
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DATA_SETS, "kdd99", dataclasses.replace(data_set, n_rows=N_ROWS))
        yield folder


@pytest.mark.parametrize(("target", "n_seen", "accuracy"), [("binary", 2, 0.9), ("attack", 6, 0.9)])
def test_kdd99_runs_end_to_end(first_rows, target, n_seen, accuracy):
    stream = dataset("kdd99", data_dir=first_rows, target=target, chunk_rows=494)
    assert len(stream.classes) == (2 if target == "binary" else 23)
    assert "protocol_type=tcp" in stream.feature_names
    assert "service" in stream.feature_names  # of 66 values: how frequent the value was so far
    model = DEVFNN(feature_names=stream.feature_names)
    summary = Summary.of(list(iter_prequential(model, stream)))
    assert summary.n_rows == N_ROWS
    assert len(model.classes) == n_seen
    assert summary.accuracy > accuracy
