"""Results of earlier calls are taken again only if they would come out the same."""

import json

import pytest

from devfnn.errors import DataError
from devfnn.experiments import Run, RunSettings, StreamSettings
from devfnn.experiments.kept import kept_result


@pytest.fixture
def kept(tmp_path):
    """Settings, the file of their result, and a way to change it."""
    stream = StreamSettings(name="sine", rows=300, chunk_rows=100)
    settings, path = RunSettings(stream=stream, model="logistic"), tmp_path / "result.json"
    run = Run(settings)
    for _ in run:
        pass
    path.write_text(json.dumps(run.result()))

    def change(**changes):
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return settings, path, change


def test_a_result_of_the_same_settings_is_taken(kept):
    settings, path, _ = kept
    assert kept_result(path, settings)["rows"] == 300
    assert kept_result(path.with_name("other.json"), settings) is None


def test_a_run_that_was_stopped_is_run_again(kept):
    settings, path, change = kept
    change(is_complete=False)
    assert kept_result(path, settings) is None


def test_results_of_other_code_are_refused(kept):
    settings, path, change = kept
    config = json.loads(path.read_text())["config"]
    change(config=config | {"memory": 0.5})
    with pytest.raises(DataError, match=r"memory = 0\.5 instead of 0\.9995"):
        kept_result(path, settings)
    change(config=config, versions={"devfnn": "0.0.1"})
    with pytest.raises(DataError, match=r"version = '0\.0\.1'"):
        kept_result(path, settings)
