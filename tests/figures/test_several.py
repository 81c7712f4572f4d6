"""Several runs in one figure."""

import numpy as np
import pytest

from devfnn.errors import InputError
from devfnn.figures.runs import runs_by_name, several_over_time
from reports.made_results import made_result

FIRST, SECOND = made_result(n_chunks=12), made_result(n_chunks=12, seed=1)


def test_every_run_is_a_line_with_its_name():
    axes = several_over_time({"one": [FIRST], "two": [SECOND]})
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert set(lines) == {"one", "two"}
    expected = [np.nan if value is None else value for value in FIRST["windowed"]["accuracy"]]
    np.testing.assert_allclose(lines["one"].get_ydata(), expected)
    assert lines["one"].get_color() != lines["two"].get_color()


def test_runs_under_one_name_are_averaged_if_they_have_the_same_chunks():
    axes = several_over_time({"both": [FIRST, SECOND, made_result(n_chunks=4)]}, "kappa")
    drawn = axes.get_lines()[0].get_ydata()
    values = [each["windowed"]["kappa"][-1] for each in (FIRST, SECOND)]
    assert drawn[-1] == pytest.approx(sum(values) / 2)


def test_a_measure_without_a_window_is_drawn_chunk_by_chunk():
    axes = several_over_time({"one": [FIRST]}, "rules")
    np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), FIRST["per_chunk"]["rules"])


def test_true_drift_is_drawn_only_if_it_is_the_same_for_all():
    def has_drift(*results):
        axes = several_over_time({str(place): [each] for place, each in enumerate(results)})
        return "true drift" in [line.get_label() for line in axes.collections]

    assert has_drift(FIRST, SECOND)
    assert not has_drift(FIRST, SECOND | {"drift_positions": [700]})


def test_no_runs_and_unknown_measures_are_refused():
    with pytest.raises(InputError, match="no runs to draw"):
        several_over_time({})
    with pytest.raises(InputError, match="kapa"):
        several_over_time({"one": [FIRST]}, "kapa")


def test_names_say_only_what_differs():
    assert list(runs_by_name([FIRST, SECOND])) == ["devfnn, seed 0", "devfnn, seed 1"]
    other = FIRST | {"model": "arf"}
    assert list(runs_by_name([FIRST, other])) == ["devfnn", "arf"]
    elsewhere = FIRST | {"stream": "rfid"}
    assert list(runs_by_name([FIRST, elsewhere])) == ["devfnn on sea", "devfnn on rfid"]
    assert list(runs_by_name([FIRST, FIRST, FIRST])) == ["devfnn", "devfnn (2)", "devfnn (3)"]
