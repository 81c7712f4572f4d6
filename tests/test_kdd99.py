"""KDD Cup 1999 with its symbolic columns, from the file through the encoder to the model."""

import pytest

from devfnn import DEVFNN
from devfnn.evaluation import Summary, iter_prequential
from devfnn.streams import dataset


@pytest.mark.parametrize(("target", "n_seen", "accuracy"), [("binary", 2, 0.9), ("attack", 6, 0.9)])
def test_kdd99_runs_end_to_end(data_dir, target, n_seen, accuracy):
    if not (data_dir / "kdd99.npz").is_file():
        pytest.skip("needs kdd99.npz in the folder that DEVFNN_DATA names")
    stream = dataset("kdd99", data_dir=data_dir, target=target, chunk_rows=494).take(12_000)
    assert len(stream.classes) == (2 if target == "binary" else 23)
    assert "protocol_type=tcp" in stream.feature_names
    assert "service" in stream.feature_names  # of 66 values: how frequent the value was so far
    model = DEVFNN(feature_names=stream.feature_names)
    summary = Summary.of(list(iter_prequential(model, stream)))
    assert summary.n_rows == 12_000
    assert len(model.classes) == n_seen
    assert summary.accuracy > accuracy
