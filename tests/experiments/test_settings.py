"""All that a run depends on, as plain data."""

import dataclasses
import json

import pytest

from devfnn.errors import InputError
from devfnn.evaluation import Procedure
from devfnn.experiments import RunSettings, StreamSettings
from devfnn.experiments.published import PAPER_FOLDS
from devfnn.experiments.settings import ENDLESS_ROWS, difference, versions
from devfnn.model import presets


def settings(stream=None, **changes):
    """A run on SEA, with changes."""
    return RunSettings(stream=StreamSettings(name="sea", **(stream or {})), **changes)


@pytest.fixture
def rows_file(tmp_path):
    """A file of 1003 rows, whose length nobody knows before it is read."""
    file = tmp_path / "rows.csv"
    file.write_text("a,b,y\n" + "".join(f"{k % 7},{k % 3},{k % 2}\n" for k in range(1003)))
    return str(file)


# ---- as plain data


def test_settings_are_plain_data_and_equal_if_the_settings_are():
    def made():
        return settings(
            {"rows": 100, "options": {"noise": 0.1, "blocks": (1, 2)}, "data_dir": "x"},
            preset="static",
            changes={"boxes__max_rules": 2},
            procedure=Procedure(by_row=True, label_budget=0.5),
        )

    plain = made().to_dict()
    assert plain == made().to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["stream"]["options"] == {"noise": 0.1, "blocks": [1, 2]}


def test_what_goes_without_saying_is_said():
    assert settings().to_dict() == settings(preset="default", scaling="online").to_dict()


@pytest.mark.parametrize(
    ("others", "name"),
    [
        (settings({"rows": 200}), "stream.rows"),
        (settings({"options": {"noise": 0.2}}), "stream.options"),
        (settings({"seed": 1}), "stream.seed"),
        (settings({"hide_labels": 0.5}), "stream.hide_labels"),
        (settings({"delay_labels": 5}), "stream.delay_labels"),
        (settings({"folds": 5}), "stream.folds"),
        (settings({"shuffle": 5}), "stream.shuffle"),
        (settings({"skip": 5}), "stream.skip"),
        (settings(model="gclass"), "model"),
        (settings(preset="static"), "preset"),
        (settings(changes={"boxes__max_rules": 3}), "changes.boxes__max_rules"),
        (settings(scaling="none"), "scaling"),
        (settings(procedure=Procedure(by_row=True)), "procedure.by_row"),
        (settings(procedure=Procedure(warm_up_chunks=1)), "procedure.warm_up_chunks"),
    ],
)
def test_a_difference_is_found_by_its_name(others, name):
    found = difference(settings().to_dict(), others.to_dict())
    assert found is not None
    assert found[0] == name
    assert found[1] != found[2]


def test_a_difference_may_be_missing_on_one_side():
    assert difference({"model": "x"}, {}) == ("model", "x", None)
    assert difference({}, {"model": "x"}) == ("model", None, "x")


def test_data_that_have_moved_make_no_difference():
    moved = settings({"data_dir": "there"}).to_dict()
    assert difference(settings({"data_dir": "here"}).to_dict(), moved) is None


def test_versions_say_what_results_are_made_with():
    assert {"python", "devfnn", "numpy", "numba"} <= versions().keys()


# ---- what is refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scaling": "offline"}, "scaling is one of online, dataset, none"),
        ({"preset": "best"}, "a preset is one of default, swift, stacked, static, paper"),
        ({"model": "majority", "preset": "static"}, "majority has no presets"),
        ({"model": "devfn"}, "no model is called 'devfn'; did you mean devfnn"),
        ({"model": "devfn", "preset": "static"}, "did you mean devfnn"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_opened(changes, message):
    with pytest.raises(InputError, match=message):
        settings(**changes)


def test_chunks_are_set_by_folds_or_by_rows_but_not_by_both():
    with pytest.raises(InputError, match="by folds or by chunk_rows, not by both"):
        StreamSettings(name="sea", folds=5, chunk_rows=100)


# ---- chunks


def test_folds_have_equal_rows_and_the_rest_is_left_out(rows_file):
    opened = StreamSettings(name=rows_file, folds=10).open()
    assert [len(chunk.y) for chunk in opened.stream] == [100] * 10
    assert opened.n_left_out == 3
    assert opened.stream.n_rows is None or opened.stream.n_rows == 1000


def test_folds_are_cut_from_the_rows_that_are_taken():
    opened = StreamSettings(name="sea", rows=1003, skip=7, folds=4).open()
    assert [len(chunk.y) for chunk in opened.stream] == [250] * 4
    assert opened.n_left_out == 3


def test_more_folds_than_rows_are_refused(rows_file):
    with pytest.raises(InputError, match="1,003 rows cannot be cut into 2,000 folds"):
        StreamSettings(name=rows_file, folds=2000).open()


def test_chunks_have_500_rows_and_streams_end_if_nobody_says_otherwise():
    stream = StreamSettings(name="sea").open().stream
    assert (stream.chunk_rows, stream.n_rows) == (500, ENDLESS_ROWS)


def test_a_generated_stream_of_the_paper_has_its_folds():
    opened = StreamSettings(name="rfid").open()
    stream = opened.stream
    assert stream.n_rows == 566 * stream.chunk_rows
    assert stream.n_rows + opened.n_left_out == ENDLESS_ROWS
    longer = StreamSettings(name="rfid", rows=281_000).open().stream
    assert longer.n_rows == 566 * longer.chunk_rows == 566 * 496


@pytest.mark.parametrize("rows", [100, 2000])
def test_part_of_a_stream_of_the_paper_has_chunks_as_large_as_the_whole(rows):
    whole = StreamSettings(name="rfid").open().stream
    part = StreamSettings(name="rfid", rows=rows).open()
    assert (part.stream.chunk_rows, part.stream.n_rows) == (whole.chunk_rows, rows)
    assert part.n_left_out == 0


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("electricity", 497),
        ("sea-paper", 500),
        ("hyperplane-paper", 500),
        ("weather", 504),
        ("susy-30k", 500),
    ],
)
def test_data_sets_of_the_paper_have_its_folds(data_dir, name, rows):
    opened = StreamSettings(name=name, data_dir=str(data_dir)).open()
    stream = opened.stream
    assert (stream.chunk_rows, stream.n_rows) == (rows, rows * PAPER_FOLDS[name])
    assert 0 <= opened.n_left_out < PAPER_FOLDS[name]
    part = StreamSettings(name=name, data_dir=str(data_dir), rows=1000).open().stream
    assert (part.chunk_rows, part.n_rows) == (rows, 1000)
    other = StreamSettings(name=name, data_dir=str(data_dir), chunk_rows=100).open()
    assert (other.stream.chunk_rows, other.n_left_out) == (100, 0)


# ---- the model


def test_the_preset_of_the_paper_scales_by_the_whole_stream():
    paper = dataclasses.replace(settings(), stream=StreamSettings(name="rfid"), preset="paper")
    assert paper.scaling_name == "dataset"
    assert paper.config().scaling == "none"
    online = dataclasses.replace(paper, scaling="online")
    assert online.scaling_name == "online"
    assert online.config().scaling == "online"


def test_the_preset_of_the_paper_is_for_any_stream():
    for name in ("led", "rows.csv", "-"):
        other = RunSettings(stream=StreamSettings(name=name), preset="paper")
        assert other.config() == presets.paper().replace(scaling=other.config().scaling)
    assert other.scaling_name == "online"  # a pipe cannot be read twice
    sea = RunSettings(stream=StreamSettings(name="sea-paper"), preset="paper")
    assert sea.config() == presets.paper("sea").replace(scaling="none")


def test_static_devfnn_starts_from_the_preset_of_the_paper():
    static = RunSettings(stream=StreamSettings(name="weather"), model="sdevfnn")
    assert (static.preset_name, static.scaling_name) == ("paper", "dataset")
    assert static.final_config() == presets.paper_static("weather").replace(scaling="none")
    ours = dataclasses.replace(static, preset="static")
    assert ours.final_config() == presets.static().replace(gaussian__rules="fixed")


def test_changes_win_over_presets_and_the_seed_reaches_the_model():
    config = settings({"seed": 7}, preset="static", changes={"training": "leader"}).config()
    assert (config.seed, config.training, config.growing) == (7, "leader", None)
    assert settings(preset="static").config().training == "all"


def test_models_without_a_configuration_have_no_preset():
    other = settings(model="majority")
    assert (other.config(), other.preset_name, other.scaling_name) == (None, None, "none")


def test_models_that_need_scaled_rows_get_them():
    assert settings(model="sklearn-sgd").scaling_name == "online"
    assert settings(model="river-arf").scaling_name == "none"
    assert settings(model="river-arf", scaling="online").scaling_name == "online"


def test_row_by_row_delays_belong_to_the_procedure():
    late = settings({"delay_labels": 70}, procedure=Procedure(by_row=True))
    assert (late.stream.delay_labels, late.procedure.delay) == (0, 70)
    by_chunks = settings({"delay_labels": 70})
    assert (by_chunks.stream.delay_labels, by_chunks.procedure.delay) == (70, None)


def test_changes_win_over_what_makes_a_model_a_part_of_devfnn():
    stream = StreamSettings(name="sea", rows=500).open().stream
    plain = settings(model="logistic").make_model(stream).config
    assert (plain.gaussian.growing, plain.labels.choice) == (False, "all")
    grows = settings(model="logistic", changes={"gaussian__growing": True})
    changed = grows.make_model(stream).config
    assert (changed.gaussian.growing, changed.labels.choice) == (True, "all")
