"""Paths that lead nowhere, to a folder, a pipe or a device: a message and a code, and no wait."""

import builtins
import io
import os
import pathlib
import signal
import stat
import sys

import pytest

from devfnn import DEVFNN, presets
from devfnn.streams import sea

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes are of Unix")

TOO_LONG, BROKEN_BYTES = "x" * 300, os.fsdecode(b"no\xff\xfe")
NOWHERE = {
    "loop": "a link that leads to itself",
    "through/x": "a file behind such a link",
    "dangling": "a link that leads nowhere",
    "folder": "a folder",
    TOO_LONG: "a name that is too long",
    BROKEN_BYTES: "a name that is no UTF-8",
    "zero\0byte": "a name with a zero byte",
    "": "no name",
}
QUICK = ("--rows", "400", "--preset", "swift")
READING = {
    "inspect": ("inspect", "{}"),
    "explain": ("explain", "{}", "sea"),
    "explain a row of": ("explain", "sea.model", "{}"),
    "predict by": ("predict", "{}", "sea", "--rows", "5"),
    "predict": ("predict", "sea.model", "{}", "--rows", "5"),
    "teach": ("learn", "{}", "sea", "--rows", "200"),
    "learn": ("learn", "sea.model", "{}", "--rows", "200"),
    "run": ("run", "{}", *QUICK),
    "resume": ("run", "sea", *QUICK, "--resume", "--checkpoint", "{}"),
    "report": ("report", "{}"),
    "plot": ("plot", "{}"),
    "table": ("table", "{}"),
    "info": ("data", "info", "{}"),
    "head": ("data", "head", "{}"),
    "describe": ("data", "describe", "{}"),
    "export": ("data", "export", "{}", "x.parquet"),
}
WRITING = {
    **{each: ("run", "sea", *QUICK, each, "{}") for each in ("--json", "--csv", "--report")},
    **{each: ("run", "sea", *QUICK, each, "{}") for each in ("--save", "--checkpoint")},
    "learn": ("learn", "sea.model", "sea", "--rows", "200", "--output", "{}"),
    "export": ("data", "export", "sea", "--rows", "200", "{}"),
    "compare": (
        "compare",
        "--models",
        "rls",
        "--streams",
        "sea",
        "--rows",
        "1000",
        "--output",
        "{}",
    ),
}
FOLDERS = ("folder", BROKEN_BYTES, "")
"""What a command that writes a folder takes."""


@pytest.fixture(scope="module")
def model():
    """A model that has learned."""
    found = DEVFNN(presets.swift(), feature_names=["f1", "f2", "f3"])
    for chunk in sea(1000):
        found.learn(chunk.X, chunk.y)
    return found


@pytest.fixture
def here(model, tmp_path, monkeypatch, in_one_process):
    """A folder with all of these in it; whatever waits for a pipe is woken with an error."""
    model.save(tmp_path / "sea.model")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "through").symlink_to("through")
    (tmp_path / "dangling").symlink_to("nowhere")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(invoke, command, path):
    """The command with the path, which ends within some seconds."""

    def too_long(*_):
        pytest.fail(f"{command} waits for {path!r}")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(60)
    try:
        return invoke(*(each.format(path) if each == "{}" else each for each in command))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("path", NOWHERE, ids=NOWHERE.values())
@pytest.mark.parametrize("name", READING)
def test_what_cannot_be_read_is_said(invoke, name, path):
    result = called(invoke, READING[name], path)
    assert isinstance(result.exception, SystemExit | None), result.exception
    if name == "resume" and path in ("dangling", BROKEN_BYTES):  # there is no checkpoint yet
        assert result.exit_code == 0
    else:
        assert result.exit_code in (1, 2)
    assert "Traceback" not in result.output
    assert result.output.strip()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("path", NOWHERE, ids=NOWHERE.values())
@pytest.mark.parametrize("name", WRITING)
def test_what_cannot_be_written_is_said_and_else_it_is_written(invoke, here, name, path):
    result = called(invoke, WRITING[name], path)
    is_written = path in ("dangling", BROKEN_BYTES) if name != "compare" else path in FOLDERS
    assert isinstance(result.exception, SystemExit | None), result.exception
    assert result.exit_code == 0 if is_written else result.exit_code in (1, 2), result.output
    assert (here / "loop").is_symlink()
    assert "Traceback" not in result.output


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["inspect", "explain", "predict by", "report", "plot", "table"])
def test_a_silent_pipe_is_no_model_and_no_result(invoke, name):
    os.mkfifo("pipe")
    result = called(invoke, READING[name], "pipe")
    assert result.exit_code == 1
    assert "not a regular file" in result.output


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["--save", "--checkpoint", "learn", "export"])
def test_a_pipe_is_not_replaced_by_a_file(invoke, name):
    os.mkfifo("pipe")
    result = called(invoke, WRITING[name], "pipe")
    assert result.exit_code == 2
    assert stat.S_ISFIFO(pathlib.Path("pipe").stat().st_mode)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", READING)
def test_a_file_without_permission_is_named(invoke, name, monkeypatch):
    names = {"report": "x.json", "plot": "x.json", "table": "x.json"}
    path = pathlib.Path(names.get(name, "secret.csv")).resolve()
    path.write_text("a,b,c\n1,2,0\n")

    def forbidden(opened):
        """The same for whoever may read everything."""

        def refuse(file, *rest, **others):
            if isinstance(file, str | os.PathLike) and pathlib.Path(file).absolute() == path:
                raise PermissionError(13, "Permission denied", str(file))
            return opened(file, *rest, **others)

        return refuse

    for module in (builtins, io, os):
        monkeypatch.setattr(module, "open", forbidden(module.open))
    result = called(invoke, READING[name], path.name)
    assert result.exit_code == 1
    assert "ermission denied" in result.output
