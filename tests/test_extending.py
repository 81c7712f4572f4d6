"""The kind of layer of docs/extending.md is complete: added to a copy of the package, it works."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import devfnn

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = pathlib.Path(devfnn.__file__).parent

USE = """
from devfnn import load

loaded = load(model.save("echo.devfnn") or "echo.devfnn")
same = (loaded.predict_proba(X) == model.predict_proba(X)).all()
rule = next(rule for rule in model.rules() if not rule.inputs)
model.learn(X, y)  # also a chunk at once
print(same, rule.probabilities, model.config.changes())
"""


def blocks(language: str) -> list[tuple[str, str]]:
    """Blocks of the section, each with the last file that is named before it."""
    page = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    section = page[page.index("## A kind of layer") :]
    found, file = [], ""
    for part in re.finditer(r"`src/(devfnn/[\w/]+\.py)`|```(\w+)\n(.*?)```", section, re.DOTALL):
        file = part[1] or file
        if part[2] == language:
            found.append((file, part[3]))
    return found


def patched(source: str, diff: str) -> str:
    """A source with a change made at the one place where it fits."""
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert source.count(before) == 1, before
    return source.replace(before, after)


def test_a_kind_of_layer_takes_four_files(tmp_path: pathlib.Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "devfnn", ignore=shutil.ignore_patterns("__pycache__"))
    *new, (_, use) = blocks("python")
    for file, text in new:
        assert not (tmp_path / file).exists()
        (tmp_path / file).write_text(text, encoding="utf-8")
    for file, diff in blocks("diff"):
        path = tmp_path / file
        path.write_text(patched(path.read_text(encoding="utf-8"), diff), encoding="utf-8")
    touched = {file for file, _ in [*new, *blocks("diff")]}
    assert len(touched) == 4
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", use + USE],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    assert [shown[0] + "\n"] == [text for _, text in blocks("text")]
    assert shown[1].startswith("True {")
    assert "echo" in shown[1]
