"""The disk cache of compiled kernels: used by the next process, but never after an edit."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import devfnn

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="nothing is compiled"
)

# A caller and a callee in two files. Numba on its own looks only at the file of the caller.
CALLEE = """
from devfnn.kernels._jit import part

@part()
def answer():
    return {answer}
"""
CALLER = """
from devfnn.kernels._jit import kernel
from devfnn.kernels.callee import answer

@kernel()
def ask():
    return answer()
"""
ASK = """
from devfnn.kernels.caller import ask
from devfnn.model import compiling

compiling.use_kernels = lambda what: ask()
{prepare}
print(ask(), *[sum(counts.values()) for counts in (ask.stats.cache_hits, ask.stats.cache_misses)])
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package, without what was compiled before, in which compiling is quick."""
    source = pathlib.Path(devfnn.__file__).parent
    copy = tmp_path / "devfnn"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    kernels = copy / "kernels"
    (kernels / "callee.py").write_text(CALLEE.format(answer=1))
    (kernels / "caller.py").write_text(CALLER)
    return copy


def ask(package, prepare="compiling.ensure_compiled('concepts')"):
    """Answer, cache hits and cache misses of a new process."""
    environment = {key: os.environ[key] for key in os.environ if not key.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    finished = subprocess.run(
        [sys.executable, "-c", ASK.format(prepare=prepare)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert finished.returncode == 0, finished.stderr
    return [int(number) for number in finished.stdout.split()], finished.stderr


def test_a_second_process_does_not_compile_again(package):
    first, message = ask(package)
    assert first == [1, 0, 1]
    assert "compiling" in message
    second, message = ask(package)
    assert second == [1, 1, 0]
    assert message == ""


def test_an_edited_callee_is_compiled_again(package):
    ask(package)
    (package / "kernels" / "callee.py").write_text(CALLEE.format(answer=22))
    stale, _ = ask(package, prepare="")
    assert stale == [1, 1, 0]  # what Numba alone makes of it; else this test would prove nothing
    fresh, message = ask(package)
    assert fresh == [22, 0, 1]
    assert "compiling" in message


def test_another_file_in_the_cache_folder_is_left_alone(package):
    ask(package)
    (package / "kernels" / "callee.py").write_text(CALLEE.format(answer=22))
    stranger = package / "kernels" / "__pycache__" / "stranger.ask-1.py311.nbi"
    stranger.write_text("not ours")
    ask(package)
    assert stranger.exists()
