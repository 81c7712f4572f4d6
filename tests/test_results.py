"""The tables of docs/results.md, on streams of some hundred rows."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import results  # noqa: E402

from devfnn.experiments.ablations import ablation_table  # noqa: E402
from devfnn.experiments.paper_table import paper_table  # noqa: E402
from devfnn.experiments.table_runs import table_cells  # noqa: E402

TEXT = """Before.
<!-- begin one -->
old
<!-- end one -->
Between.
<!-- begin two -->
<!-- end two -->
"""


@pytest.fixture
def parts(in_one_process, monkeypatch):
    """Two small tables, run in this process; returns the cells that were run."""
    small = table_cells(["majority", "no-change"], ["sine"], 1, rows=900)
    monkeypatch.setattr(
        results,
        "PARTS",
        (
            results.Part("one", "devfnn table", lambda folder: small, paper_table),
            results.Part("two", "devfnn table --ablations", lambda folder: small, ablation_table),
        ),
    )
    return in_one_process


def test_only_what_is_between_the_markers_changes(parts, tmp_path):
    text = tmp_path / "results.md"
    text.write_text(TEXT)
    words = ["--folder", str(tmp_path / "runs"), "--text", str(text)]
    assert results.main(words) == 0
    lines = text.read_text().splitlines()
    assert len(parts) == 2
    assert lines[0] == "Before." and "Between." in lines and "old" not in lines
    assert any(line.startswith("Made by `devfnn table` on ") for line in lines)
    assert any(line.startswith("| sine | majority |") for line in lines)
    before = text.read_text()
    assert results.main([*words, "--known"]) == 0
    assert (text.read_text(), len(parts)) == (before, 2)


def test_what_is_not_there_is_said(parts, tmp_path):
    text = tmp_path / "results.md"
    text.write_text(TEXT)
    words = ["--folder", str(tmp_path / "runs"), "--text", str(text)]
    assert results.main([*words, "--known"]) == 1
    assert text.read_text() == TEXT and not parts
    results.main(words)
    next((tmp_path / "runs").glob("no-change*.json")).unlink()
    assert results.main([*words, "--known"]) == 1
    assert "**1 runs are not in it: they were not finished.**" in text.read_text()


def test_a_text_without_a_place_is_refused(parts, tmp_path):
    text = tmp_path / "results.md"
    text.write_text("Nothing.")
    with pytest.raises(SystemExit, match="no place for 'one'"):
        results.main(["--folder", str(tmp_path / "runs"), "--text", str(text)])
    assert text.read_text() == "Nothing."


def test_the_committed_text_has_a_place_for_every_table():
    text = (ROOT / results.COMMITTED).read_text()
    for part in results.PARTS:
        assert f"<!-- begin {part.name} -->" in text and f"<!-- end {part.name} -->" in text


def test_ctrl_c_ends_it(parts, tmp_path, monkeypatch):
    def stopped(cells, folder, n_jobs):
        parts.append("started")
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("devfnn.cli.running.run_grid", stopped)
    text = tmp_path / "results.md"
    text.write_text(TEXT)
    assert results.main(["--folder", str(tmp_path / "runs"), "--text", str(text)]) == 130
    assert (parts, text.read_text()) == (["started"], TEXT)
