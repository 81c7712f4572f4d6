"""Missing numbers as the mean of those before, against a loop."""

import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from devfnn.streams import read
from devfnn.streams.files.filling import MeanFiller
from plain_files import cut_into, whole

MATRICES = hnp.arrays(
    float,
    st.tuples(st.integers(0, 25), st.integers(1, 3)),
    elements=st.one_of(st.floats(-1e6, 1e6), st.just(np.nan)),
)


def filled_slowly(X):
    """Row by row, value by value."""
    out = X.copy()
    for column in range(X.shape[1]):
        total, count = 0.0, 0
        for row in range(len(X)):
            if np.isnan(X[row, column]):
                out[row, column] = total / count if count else 0.0
            else:
                total, count = total + X[row, column], count + 1
    return out


@given(MATRICES, st.lists(st.integers(0, 25), max_size=4))
def test_gaps_are_the_mean_of_what_came_before_however_rows_are_cut(X, cuts):
    filler = MeanFiller()
    blocks = [block.copy() for block in np.split(X, sorted(cut for cut in cuts if cut <= len(X)))]
    for block in blocks:
        filler.fill(block)
    np.testing.assert_array_equal(np.concatenate(blocks), filled_slowly(X))


def test_gaps_of_a_file_are_filled(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b,label\n,1,x\n4,,y\n,2.5,x\n8,,y\n,,x\n")
    expected = [[0.0, 1.0], [4.0, 1.0], [4.0, 2.5], [8.0, 1.75], [6.0, 1.75]]
    for n_bytes in (1, 9, 1000):
        with cut_into(n_bytes, 3):
            stream = read(path, missing="mean")
            assert whole(stream).X.tolist() == expected
            assert whole(stream).X.tolist() == expected


def test_bad_rows_do_not_move_the_mean():
    text = b"a,b,label\n1,1,x\n100,inf,y\n,1,x\n"
    rows = whole(read(io.BytesIO(text), missing="mean", on_bad_row="skip"))
    assert rows.X.tolist() == [[1.0, 1.0], [1.0, 1.0]]
