"""Several processes, several threads: compiled once, and the same results everywhere."""

import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.kernels import boxes, drift, gaussian, labels, network, scaling, votes
from devfnn.model.config import ByReward
from devfnn.storage import dump
from scenes import FIRST_KEPT, IS_COMPILED, NETWORKS, config_of, sloped

ENTRIES = [
    network.forward,
    network.assess_chunk,
    network.learn_chunk,
    network.learn_rows,
    votes.vote,
    votes.voting_shares,
    votes.move_votes_by_rows,
    gaussian.choose_rows,
    gaussian.bound_gains,
    labels.choose_labels,
    labels.count_rows,
    drift.note_errors,
    drift.compare_errors,
    scaling.watch,
    boxes.drop_layer,
]
"""Kernels that Python calls."""

each_network = pytest.mark.parametrize("kind", NETWORKS)
only_compiled = pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled")

SCRIPT = """
import json
from test_processes import ENTRIES, state_of_both

state = state_of_both()
counts = {}
for kernel in ENTRIES:
    if hasattr(kernel, "stats"):
        used = kernel.stats.cache_hits, kernel.stats.cache_misses
        name = f"{kernel.py_func.__module__}.{kernel.__name__}"
        counts[name] = [sum(number.values()) for number in used]
print(json.dumps([state, counts]))
"""


def trained(network: str = "swift", **changes: Any) -> DEVFNN:
    """A model that has used its kernels, with labels whose hashes differ by process."""
    X, y = sloped(6)
    X[600:, 1] *= 30.0
    labels = np.array(["no", "yes"])[y]
    model = DEVFNN(config_of(network, **changes))
    model.learn(X[:500], labels[:500])
    model.learn(X[500:900], labels[500:900])
    model.learn_rows(X[900:], labels[900:])
    model.predict(X)
    model.wants_label(X)
    return model


def state_of_both() -> str:
    """What models of both kinds of network come to, when every kernel is used."""
    models = [trained(network) for network in NETWORKS]
    models.append(trained("stacked", voting=ByReward()))
    states = b"".join(dump(model) for model in models)
    assert models[0].voting_weights.size
    state = models[0]._known().state
    boxes.drop_layer(state.layers, state.pool, FIRST_KEPT)
    return hashlib.sha256(states).hexdigest()


def run_script(seed: str) -> tuple[str, dict[str, Any], str]:
    """State, cache counts and complaints of a new process."""
    paths = os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": seed}
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert finished.returncode == 0, finished.stderr
    state, counts = json.loads(finished.stdout)
    return state, counts, finished.stderr


def test_every_process_gets_the_same_result_and_compiles_nothing_again() -> None:
    state = state_of_both()  # the first process is this one
    other, counts, complaints = run_script("2" if os.environ.get("PYTHONHASHSEED") == "1" else "1")
    assert other == state
    assert complaints == ""
    for name, (hits, misses) in counts.items():
        assert hits > 0 and misses == 0, name
    assert len(counts) == (len(ENTRIES) if IS_COMPILED else 0)


@only_compiled
@each_network
def test_no_form_of_input_needs_kernels_of_its_own(kind: str) -> None:
    """A second signature would be compiled in front of the user, for half a minute."""
    X, y = sloped(4)
    sealed, weights = X.copy(), np.ones(len(y))
    sealed.flags.writeable = weights.flags.writeable = False
    packed = np.frombuffer(b"\x00" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape)
    trained(kind)
    before = [len(kernel.signatures) for kernel in ENTRIES]
    for form in (X, sealed, X.tolist(), np.asfortranarray(X), X[::-1], X.astype(">f4"), packed):
        model = DEVFNN(config_of(kind))
        model.learn(form, y, weights)
        model.learn(form, y.tolist(), weights[::-1])
        model.learn_rows(form, y, weights, chosen=weights > 0.5)
        model.learn_one(form[0], int(y[0]))
        model.predict(form)
        model.wants_label(form)
    assert [len(kernel.signatures) for kernel in ENTRIES] == before


@each_network
def test_threads_may_ask_the_same_model_at_once(kind: str) -> None:
    model, (X, _) = trained(kind), sloped(6)
    parts = np.array_split(X, 24)
    expected = [model.predict_proba(part) for part in parts]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(model.predict_proba, parts))
        wanted = list(pool.map(model.wants_label, parts))
    for answer, known in zip(answers, expected, strict=True):
        np.testing.assert_array_equal(answer, known)
    for want, part in zip(wanted, parts, strict=True):
        np.testing.assert_array_equal(want, model.wants_label(part))


@each_network
def test_threads_may_train_models_of_their_own(kind: str) -> None:
    alone = dump(trained(kind))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        states = list(pool.map(lambda _: dump(trained(kind)), range(8)))
    assert states == [alone] * 8
