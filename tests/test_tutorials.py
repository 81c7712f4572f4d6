"""The code of the pages runs, and prints what the pages say."""

import importlib.util
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

DOCS = pathlib.Path(__file__).parent.parent / "docs"

spec = importlib.util.spec_from_file_location("pages", DOCS / "pages.py")
assert spec is not None and spec.loader is not None
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)

NEEDS = {
    "devfnn.adapters.river": "river",
    "devfnn.adapters.sklearn": "sklearn",
    "devfnn.adapters.capymoa": "capymoa",
    "devfnn.adapters.mlflow": "mlflow",
    "onnxruntime": "onnxruntime",
}
"""Libraries that code needs, by what it says."""

TUTORIALS = sorted(f"tutorials/{path.name}" for path in (DOCS / "tutorials").glob("*.md"))


def check_needs(page: str) -> None:
    """Skip a page whose data set or libraries are not here, and say so."""
    code = "\n".join(block.code for block in pages.blocks_of(page))
    for word, library in NEEDS.items():
        if word in code and importlib.util.find_spec(library) is None:
            pytest.skip(f"needs {library}")
    data = pathlib.Path(os.environ.get("DEVFNN_DATA", ""), "electricity.npz")
    if pages.needs_electricity(page) and not data.is_file():
        pytest.skip("needs electricity.npz in the folder that DEVFNN_DATA names")


def test_every_tutorial_is_run():
    assert len(TUTORIALS) == 4
    assert set(TUTORIALS) <= set(pages.PAGES)


@pytest.fixture(scope="module")
def copies() -> Iterator[Any]:
    """Runs pages in copies of one process, so that its imports are shared and nothing else."""
    with pages.Copies() as running:
        yield running


@pytest.mark.parametrize("page", pages.PAGES)
def test_a_page_prints_what_it_says(page: str, tmp_path: pathlib.Path, copies: Any) -> None:
    """When it does not, and should not: `make tutorials` writes down what it prints now."""
    check_needs(page)
    blocks = pages.blocks_of(page)
    outputs = pages.outputs_of(page, tmp_path, copies.run)
    assert blocks
    for block, output in zip(blocks, outputs, strict=True):
        assert output == block.output, block.code
    saved = {path.name for path in tmp_path.iterdir()}
    for name in pages.figures_of(page):
        if name.startswith(pathlib.PurePath(page).stem):
            assert name in saved


def test_the_figures_of_the_site_are_made_by_code(tmp_path: pathlib.Path, copies: Any) -> None:
    """All but those that pages save themselves, which the test above looks for."""
    code = (
        f"import pathlib, sys\nsys.path.insert(0, {str(DOCS)!r})\nimport figures\n"
        f"figures.FOLDER = pathlib.Path({str(tmp_path)!r})\n"
        "for name, draw in figures.OWN.items():\n    figures.make(name, draw)\n"
    )
    done = copies.run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    made = {path.name for path in tmp_path.glob("*.svg")}
    names = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    texts = "".join((DOCS / name).read_text(encoding="utf-8") for name in names)
    shown = {figure for name in names for figure in pages.figures_of(name)}
    assert made
    assert made | {name for name in shown if f'"{name}"' in texts} == shown


def test_outputs_can_be_written_down():
    page = "tutorials/drift.md"
    blocks = pages.blocks_of(page)
    same = pages.written(page, [block.output for block in blocks])
    assert same == (DOCS / page).read_text(encoding="utf-8")
    other = pages.written(page, [f"{number}\n" for number, _ in enumerate(blocks)])
    assert "```text\n0\n```" in other
    assert "drift at" not in other.replace('print("drift at', "")


@pytest.mark.parametrize("is_alone", [True, False])
def test_code_that_fails_says_where(tmp_path, monkeypatch, copies, is_alone):
    (tmp_path / "broken.md").write_text("```python\nprint(1)\n1 / 0\n```\n", encoding="utf-8")
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    with pytest.raises(RuntimeError, match=r"broken\.md fails[\s\S]*ZeroDivisionError"):
        pages.outputs_of("broken.md", tmp_path, pages.run_alone if is_alone else copies.run)


def test_what_a_page_does_does_not_reach_the_next(tmp_path, copies):
    before = "import matplotlib\nmatplotlib.rcParams['lines.linewidth'] = 33.0\nx = 1"
    after = "import matplotlib\nprint(matplotlib.rcParams['lines.linewidth'], 'x' in globals())"
    assert copies.run(before, tmp_path) == (0, "", "")
    assert copies.run(after, tmp_path) == (0, "1.5 False\n", "")
    assert "UserWarning: odd" in copies.run("import warnings; warnings.warn('odd')", tmp_path)[2]
    assert copies.run("import warnings; warnings.warn('odd')", tmp_path)[0] == 1
