"""The disk cache of compiled kernels: used by the next process, but never after an edit."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import devfnn
from devfnn import DEVFNN, Fleet, GClass
from devfnn.baselines.dsscn import DSSCN
from devfnn.kernels import _jit
from devfnn.model import compiling, presets

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

RULES = "window+pool+clouds+surface+prior+boosted+neighbours+stacked"
"""What networks of lines, curves and boxes share."""


@pytest.fixture
def package(tmp_path):
    """A copy of the package, without what Numba compiled before, in which compiling is quick."""
    source = pathlib.Path(devfnn.__file__).parent
    copy = tmp_path / "devfnn"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("*.nbi", "*.nbc", "*.stamp"))
    kernels = copy / "kernels"
    (kernels / "callee.py").write_text(CALLEE.format(answer=1))
    (kernels / "caller.py").write_text(CALLER)
    return copy


# Forks a process for each program that is asked for. Numba is there already and ready to compile,
# which takes seconds, but nothing of the package: what is compiled of it comes from the disk.
FORKING = """
import json, os, sys, traceback
import numba, scipy

numba.njit(lambda: 1)()

for line in sys.stdin:
    folder, program = json.loads(line)
    child = os.fork()
    if not child:
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(f"{folder}/{name}", os.O_CREAT | os.O_TRUNC | os.O_WRONLY), number)
        sys.path.insert(0, folder)
        code = 1
        try:
            assert not any("devfnn" in name for name in sys.modules)
            exec(program, {"__name__": "__main__"})
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    print(os.waitpid(child, 0)[1], flush=True)
"""


def environment_of(folder):
    """Variables of a process that takes the package from this folder."""
    own = {key: os.environ[key] for key in os.environ if not key.startswith("NUMBA_")}
    return own | {"PYTHONPATH": str(folder)}


@pytest.fixture(scope="module", autouse=True)
def forking(tmp_path_factory):
    """The process that starts the others; the package is not in its path."""
    with subprocess.Popen(
        [sys.executable, "-c", FORKING],
        env=environment_of(tmp_path_factory.mktemp("nothing")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        in_new_process.by = process
        yield
        process.stdin.close()


def in_new_process(package, program):
    """What a program writes to standard output and standard error, with a copy of the package."""
    folder, process = package.parent, in_new_process.by
    process.stdin.write(json.dumps([str(folder), program]) + "\n")
    process.stdin.flush()
    status = process.stdout.readline()
    message = (folder / "stderr").read_text()
    assert status == "0\n", message
    return (folder / "stdout").read_text(), message


def ask(package, prepare="compiling.ensure_compiled('fleet')"):
    """Answer, cache hits and cache misses of a new process."""
    answer, message = in_new_process(package, ASK.format(prepare=prepare))
    return [int(number) for number in answer.split()], message


def test_only_after_an_edit_a_process_compiles_again(package):
    first, message = ask(package)
    assert first == [1, 0, 1]
    assert "compiling" in message
    second, message = ask(package)
    assert second == [1, 1, 0]
    assert message == ""

    (package / "kernels" / "callee.py").write_text(CALLEE.format(answer=22))
    stale, _ = ask(package, prepare="")
    assert stale == [1, 1, 0]  # what Numba alone makes of it; else this test would prove nothing
    stranger = package / "kernels" / "__pycache__" / "stranger.ask-1.py311.nbi"
    stranger.write_text("not ours")
    fresh, message = ask(package)
    assert fresh == [22, 0, 1]
    assert "compiling" in message
    assert stranger.exists()


# ---- each kind of network by itself

USE = """
import json
from devfnn.kernels._jit import cache_folder
from devfnn.kernels.caller import ask
from devfnn.model import compiling

used = []

def use_kernels(config):
    used.append(compiling.name_of(config))
    ask()

compiling.use_kernels = use_kernels
known = {{compiling.name_of(each): each for each in compiling.everything()}}
for what in {asked}:
    compiling.ensure_compiled(known[what])
stamp = cache_folder() / "devfnn-kernels.stamp"
print(json.dumps([used, stamp.read_text().split()[1:]]))
"""


def use(package, *asked):
    """What a new process compiles when it is asked for these, and what the stamp then names."""
    answer, message = in_new_process(package, USE.format(asked=asked))
    used, stamped = json.loads(answer)
    assert [f"compiling its kernels ({what})" in message for what in asked] == [
        what in used for what in asked
    ]
    return used, stamped


EVERY = sorted(map(compiling.name_of, compiling.everything()))


def test_only_what_is_asked_for_is_compiled_and_stamped_and_all_of_it_again_after_an_edit(package):
    assert EVERY == ["fleet", "gaussians", "nodes", RULES]
    assert use(package, "gaussians") == (["gaussians"], ["gaussians"])
    both = ["gaussians", RULES]
    asked = ["gaussians", RULES, RULES]
    assert use(package, *asked) == ([RULES], both)
    assert use(package, *EVERY) == (["fleet", "nodes"], EVERY)
    assert use(package, *EVERY) == ([], EVERY)

    (package / "kernels" / "callee.py").write_text(CALLEE.format(answer=22))
    assert use(package, "fleet") == (["fleet"], ["fleet"])
    assert use(package, "gaussians", "fleet") == (["gaussians"], ["fleet", "gaussians"])


def test_a_network_whose_compiling_failed_is_not_stamped(package):
    broken = USE.replace("used.append(compiling.name_of(config))", "raise MemoryError")
    broken = broken.replace(
        "    compiling.ensure_compiled(known[what])",
        "    try:\n        compiling.ensure_compiled(known[what])\n"
        "    except MemoryError:\n        pass",
    ).replace("stamp.read_text().split()[1:]", "stamp.exists()")
    answer, _ = in_new_process(package, broken.format(asked=("gaussians",)))
    assert json.loads(answer) == [[], False]
    assert use(package, "gaussians") == (["gaussians"], ["gaussians"])


def test_every_network_asks_for_the_kernels_of_its_kinds_of_layers(monkeypatch):
    X = np.random.default_rng(0).random((60, 2))
    y = (X[:, 0] > 0.5).astype(int)
    asked = []
    monkeypatch.setattr(compiling, "_ready", set())
    monkeypatch.setattr(_jit, "discard_stale_cache", lambda what: asked.append(what))
    for config in (presets.default(), presets.stacked(), presets.paper()):
        DEVFNN(config).learn(X, y)
    Fleet(2, 2, [0, 1]).learn(y, X, y)
    GClass().learn(X, y)
    DSSCN().learn(X, y)
    assert asked == [RULES, "gaussians", "fleet", "nodes"]


# Calls everything a network can do, and prints the kernels that were not compiled before that. Each
# network has a process of its own, which starts with all modules and no kernels.
LATER = """
import importlib, json, multiprocessing, pkgutil
import numba
import numpy as np
import devfnn.kernels
from devfnn import DEVFNN, Fleet, presets
from devfnn.baselines.dsscn import DSSCN
from devfnn.model import compiling

def counts():
    found = {}
    for module in pkgutil.iter_modules(devfnn.kernels.__path__, "devfnn.kernels."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if not isinstance(value, type) and hasattr(value, "signatures"):
                found[f"{value.py_func.__module__}.{name}"] = len(value.signatures)
    return found

def use_all(what):
    rng = np.random.default_rng(0)
    X = rng.random((2400, 3))
    y = (X[:, 0] + X[:, 1] > 1.0) ^ (np.arange(2400) > 1200)
    if what == "fleet":
        config = presets.default().replace(scaling="none", missing="skip")
        fleet = Fleet(3, 3, [False, True], config)
        fleet.learn(np.arange(2400) % 3, X, y)
        fleet.predict_proba(np.arange(2400) % 3, X)
        return
    if what == "nodes":
        model = DSSCN(rates=(0.9, 0.999))
        for start in range(0, 2400, 400):
            model.learn(X[start : start + 400], y[start : start + 400])
        return
    model = DEVFNN(known[what].replace(lags=1, missing="skip"))
    model.learn(X[:200], np.where(y[:200], "b", "a"))
    for start in range(200, 2400, 200):
        model.learn(X[start : start + 200], y[start : start + 200])
    model.learn_rows(X * 3.0, y)
    model.wants_label(X)
    model.predict_proba(X)
    model.rules(archived=True)
    model.add_features(["more"])
    model.learn(np.column_stack([X, X[:, 0]]), y)

known = {compiling.name_of(each): each for each in compiling.everything()}

def later(what):
    before = counts()
    assert not any(before.values())
    compiling.use_kernels(known[what])
    before = counts()
    assert any(before.values())
    use_all(what)
    return [name for name, count in counts().items() if count > before[name]]

if __name__ == "__main__":
    counts()
    numba.njit(lambda: 1)()  # what Numba prepares for any function
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        print(json.dumps(dict(zip(known, pool.map(later, known, chunksize=1)))))
"""


def test_what_is_compiled_first_is_all_that_is_compiled():
    """Anything else would be compiled in front of the user, without a word."""
    finished = subprocess.run(
        [sys.executable, "-c", LATER],
        env=environment_of(pathlib.Path(devfnn.__file__).parents[1]),
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout) == {what: [] for what in EVERY}
