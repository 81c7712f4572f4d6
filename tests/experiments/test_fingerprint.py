"""A run goes on only with the rows it had."""

import itertools

import pytest

from devfnn.errors import DataError
from devfnn.experiments import Checkpoint, Run, RunSettings, StreamSettings, resume


def rows(n_rows, changed=None):
    lines = [f"{k % 7},{k % 3},{int(k % 7 < 3)}" for k in range(n_rows)]
    if changed is not None:
        lines[changed] = "5,1,1"
    return "a,b,class\n" + "\n".join(lines) + "\n"


@pytest.fixture
def stopped(tmp_path):
    """A file, and the checkpoint of a run that was stopped after five of its twelve chunks."""
    file, checkpoint = tmp_path / "rows.csv", tmp_path / "run.checkpoint"
    file.write_text(rows(1200))
    settings = RunSettings(stream=StreamSettings(name=str(file), chunk_rows=100))
    for _ in itertools.islice(Checkpoint(checkpoint, 0.0).follow(Run(settings)), 5):
        pass
    return file, checkpoint, settings


def resumed(checkpoint, settings):
    run = Run(settings)
    resume(run, checkpoint)
    for _ in run:
        pass
    return run


def test_the_same_rows_go_on(stopped):
    _, checkpoint, settings = stopped
    run = resumed(checkpoint, settings)
    assert run.is_complete and run.result()["rows"] == 1200


@pytest.mark.parametrize("changed", [0, 250, 499])
def test_rows_that_were_learned_must_not_have_changed(stopped, changed):
    file, checkpoint, settings = stopped
    file.write_text(rows(1200, changed))
    with pytest.raises(DataError, match="the rows are not those of the run that was stopped"):
        resumed(checkpoint, settings)


def test_rows_that_come_later_may_change(stopped):
    file, checkpoint, settings = stopped
    file.write_text(rows(1200, 700))
    assert resumed(checkpoint, settings).is_complete


def test_a_stream_that_is_shorter_now_is_refused(stopped):
    file, checkpoint, settings = stopped
    file.write_text(rows(299))
    with pytest.raises(DataError, match="the rows are not those"):
        resumed(checkpoint, settings)
