"""No figure may be left behind where pyplot would show it, nor any setting changed."""

import matplotlib
import matplotlib.pyplot
import pytest


@pytest.fixture(autouse=True)
def nothing_leaks():
    before = dict(matplotlib.rcParams)
    yield
    assert matplotlib.pyplot.get_fignums() == []
    assert dict(matplotlib.rcParams) == before
