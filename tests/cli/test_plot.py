"""`devfnn plot`: every figure by its name, and what is refused."""

import functools
import json

import pytest

from cli.shown import messages
from devfnn.cli.plot import COMPARISON_FIGURES, LABELS_FIGURE, RULE_FIGURES, RUN_FIGURES
from devfnn.figures import rules, runs
from reports.made_results import made_comparison, made_result, ranked

SMALL = made_result(n_chunks=12, n_events=4)


@pytest.fixture
def plot(invoke):
    """Call the command."""
    return functools.partial(invoke, "plot")


@pytest.fixture
def file(tmp_path):
    """A result in a file."""
    return written(tmp_path / "result.json", SMALL)


@pytest.fixture(scope="module")
def comparison():
    """Models that were compared and ranked."""
    return ranked(made_comparison())


@pytest.fixture
def compared(tmp_path, comparison):
    """A comparison in a file."""
    return written(tmp_path / "comparison.json", comparison)


def written(path, data):
    path.write_text(json.dumps(data))
    return path


def test_a_run_is_drawn_at_a_glance_beside_its_result(plot, file):
    result = plot(file)
    assert result.exit_code == 0, result.output
    target = file.with_name("result-overview.png")
    assert result.stdout == f"The figure is in {target}\n"
    assert target.read_bytes().startswith(b"\x89PNG")


def test_a_comparison_is_drawn_by_ranks(plot, compared):
    assert plot(compared, "--quiet").output == ""
    assert compared.with_name("comparison-critical-difference.png").exists()


@pytest.mark.parametrize(
    "name", [*RUN_FIGURES, *RULE_FIGURES, LABELS_FIGURE, "kappa", "model_bytes"]
)
def test_every_figure_of_a_run_has_a_name(plot, file, tmp_path, name):
    target = tmp_path / "figure.svg"
    result = plot(file, "--figure", name, "--output", target)
    assert result.exit_code == 0, result.output
    assert "</svg>" in target.read_text()


@pytest.mark.parametrize("name", COMPARISON_FIGURES)
def test_every_figure_of_a_comparison_has_a_name(plot, compared, tmp_path, name):
    target = tmp_path / "figure.pdf"
    result = plot(compared, "--figure", name, "--output", target)
    assert result.exit_code == 0, result.output
    assert target.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("name", ["rate", "accuracy", "kappa", None])
def test_several_runs_become_lines_of_one_figure(plot, file, tmp_path, monkeypatch, name):
    drawn = []

    def several(results, measure):
        drawn.append((list(results), measure))
        return real(results, measure)

    real = runs.several_over_time
    monkeypatch.setattr(runs, "several_over_time", several)
    second = written(tmp_path / "second.json", SMALL | {"model": "arf"})
    result = plot(file, second, *(["--figure", name] if name else []))
    assert result.exit_code == 0, result.output
    assert drawn == [(["devfnn", "arf"], "kappa" if name == "kappa" else "accuracy")]
    assert file.with_name(f"result-{name or 'rate'}.png").exists()


def test_runs_with_label_budgets_make_one_line(plot, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr("devfnn.figures.save", lambda drawing, target: drawn.append(drawing))
    few = written(tmp_path / "few.json", SMALL | {"label_fraction": 0.1})
    all_of_them = written(tmp_path / "all.json", SMALL | {"label_fraction": 1.0})
    result = plot(few, all_of_them, "--figure", LABELS_FIGURE, "--output", tmp_path / "labels.png")
    assert result.exit_code == 0, result.output
    (line,) = drawn[0].lines
    assert line.get_xdata().tolist() == [0.1, 1.0]


def test_features_can_be_chosen(plot, file, monkeypatch):
    drawn = []
    real = rules.rule_ellipses
    monkeypatch.setattr(
        rules, "rule_ellipses", lambda shown, pair: drawn.append(pair) or real(shown, pair)
    )
    pair = ["--feature", "feature 4", "--feature", "feature 0"]
    assert plot(file, "--figure", "ellipses", *pair).exit_code == 0
    assert plot(file, "--figure", "ellipses", *pair[:2]).exit_code == 0
    assert drawn == [("feature 4", "feature 0"), ("feature 4", "feature 2")]
    assert plot(file, "--figure", "membership", *pair).exit_code == 0


def test_letters_that_the_font_lacks_do_no_harm(plot, tmp_path):
    file = written(tmp_path / "r.json", SMALL | {"class_names": ["高い", "$低い"]})
    assert plot(file, "--figure", "confusion").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--figure", "raet"], "there is no figure 'raet' of a run; choose one of overview, rate"),
        (["--figure", "critical-difference"], "'critical-difference' of a run"),
        (["--figure", "rate", "--feature", "a"], "--feature is for membership and ellipses"),
        (["--figure", "membership", "--feature", "nothing"], "nothing"),
        (["--figure", "ellipses", *["--feature", "a"] * 3], "ellipses need two features"),
        (["--output", "figure.gif"], "the format of 'figure.gif' is not known"),
        (["--output", "no/such/folder/figure.png"], "does not exist"),
    ],
)
def test_bad_values_are_refused_with_a_clear_message(plot, file, arguments, message):
    result = plot(file, *arguments)
    assert result.exit_code == 2, result.output
    assert message in messages(result)
    assert list(file.parent.iterdir()) == [file]


def test_figures_of_runs_are_not_of_comparisons(plot, compared, file):
    result = plot(compared, "--figure", "rate")
    assert result.exit_code == 2
    assert "there is no figure 'rate' of a comparison" in messages(result)
    assert plot(compared, file).exit_code == 2
    assert plot(compared, compared).exit_code == 2


def test_a_figure_of_one_run_is_not_drawn_of_several(plot, file):
    result = plot(file, file, "--figure", "confusion")
    assert result.exit_code == 2
    assert "confusion shows one run" in messages(result)


def test_what_was_not_measured_is_refused(plot, tmp_path):
    without = {key: value for key, value in SMALL.items() if key not in ("rules", "calibration")}
    file = written(tmp_path / "result.json", without)
    for name in ("membership", "reliability"):
        result = plot(file, "--figure", name)
        assert result.exit_code == 2
        assert "Traceback" not in result.output
    unranked = written(tmp_path / "comparison.json", made_comparison())
    result = plot(unranked)
    assert result.exit_code == 2
    assert "a ranking needs two models" in result.stderr


def test_a_file_that_is_no_result_is_refused(plot, tmp_path):
    file = written(tmp_path / "odd.json", [1, 2])
    result = plot(file)
    assert result.exit_code == 1
    assert "neither a result" in result.stderr


def test_a_malformed_value_is_refused(plot, file):
    file.write_text(json.dumps(SMALL | {"confusion": [[1], {}]}))
    result = plot(file, "--figure", "confusion")
    assert result.exit_code == 1
    assert f"Error: {file}: damaged, cut short, or not as devfnn writes it" in result.stderr


def test_the_result_is_not_overwritten(plot, tmp_path):
    file = written(tmp_path / "result.png", SMALL)
    result = plot(file, "--output", file)
    assert result.exit_code == 2
    assert json.loads(file.read_text()) == SMALL
