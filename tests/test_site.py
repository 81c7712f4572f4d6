"""The site builds without a warning, has every page in its navigation, and every public name."""

import doctest
import importlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))

PACKAGES = (
    "devfnn",
    "devfnn.baselines",
    "devfnn.evaluation",
    "devfnn.events",
    "devfnn.experiments",
    "devfnn.figures",
    "devfnn.reports",
    "devfnn.storage",
    "devfnn.streams",
    "devfnn.adapters.river",
    "devfnn.adapters.sklearn",
    "devfnn.adapters.mlflow",
    "devfnn.adapters.onnx",
    "devfnn.adapters.capymoa",
)
"""Whose public names are in the API pages."""

OPTIONAL = PACKAGES[PACKAGES.index("devfnn.adapters.river") :]

IMAGE = re.compile(r"!\[[^\]]*\]\((?:\.\./)?(figures/[^)]+)\)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The site, built strictly in a folder of its own, with empty figures."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("figures"))
    for name in ("mkdocs.yml", "ARCHITECTURE.md", "CHANGELOG.md", "SECURITY.md"):
        shutil.copy(ROOT / name, folder)
    (folder / "src").symlink_to(ROOT / "src")
    (folder / "docs" / "figures").mkdir()
    for name in IMAGE.findall("".join(page.read_text(encoding="utf-8") for page in PAGES)):
        (folder / "docs" / name).write_text("<svg/>", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "WARNING" not in done.stderr
    return folder / "site"


def test_every_page_is_built(site: pathlib.Path) -> None:
    for page in PAGES:
        built = site / page.relative_to(ROOT / "docs").with_suffix(".html")
        assert built.is_file(), page


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    named = re.findall(r"(\S+\.md)$", navigation, re.MULTILINE)
    assert sorted(named) == [page.relative_to(ROOT / "docs").as_posix() for page in PAGES]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_is_in_the_api(site: pathlib.Path, name: str) -> None:
    if name in OPTIONAL:
        package = pytest.importorskip(name, exc_type=ImportError)
    else:
        package = importlib.import_module(name)
    built = "".join(path.read_text(encoding="utf-8") for path in (site / "api").glob("*.html"))
    known = set(re.findall(r'id="(devfnn[\w.]*)"', built))
    if name == "devfnn.storage":
        known.add("devfnn.storage.load")  # as devfnn.load
    assert {f"{name}.{each}" for each in package.__all__} <= known


def test_nothing_is_loaded_from_elsewhere(site: pathlib.Path) -> None:
    loaded = re.compile(r'<(?:script|link|img|iframe)[^>]*?(?:src|href)="(?:https?:)?//[^"]*"')
    for page in site.rglob("*.html"):
        assert loaded.findall(page.read_text(encoding="utf-8")) == []
    for sheet in site.rglob("*.css"):
        assert re.findall(r"url\([\"']?https?:", sheet.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", ["hooks", "docstrings"])
def test_what_the_build_does_to_pages(name: str) -> None:
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    outcome = doctest.testmod(module)
    assert outcome.attempted and not outcome.failed


def test_formulas_are_drawn(site: pathlib.Path) -> None:
    page = (site / "paper.html").read_text(encoding="utf-8")
    assert page.count('<svg class="formula"') > 50
    assert "arithmatex" not in page


def test_every_parameter_is_in_the_table(site: pathlib.Path) -> None:
    from devfnn import Config

    page = (site / "api" / "config.html").read_text(encoding="utf-8")
    for name in Config().to_dict():
        assert f"<code>{name}</code>" in page


def test_examples_in_docstrings_are_code(site: pathlib.Path) -> None:
    for page in (site / "api").glob("*.html"):
        assert "<blockquote>" not in page.read_text(encoding="utf-8"), page.name
