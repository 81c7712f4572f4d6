"""Ten million rows of a stream that tries to break the arithmetic; run with `make soak`."""

import sys
import time
from collections.abc import Iterator

import numpy as np
from rich.progress import Progress

from devfnn import DEVFNN, Config
from devfnn.kernels.state import FREE, LINE, NO_OWNER
from devfnn.model import presets
from devfnn.model.layers.pool import unpacked

ROWS = 5000


def nasty_rows(index: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A chunk with constant, collinear, huge, tiny and suddenly returning features."""
    useful = rng.normal(size=ROWS)
    is_away = (index // 40) % 2 == 1
    X = np.stack(
        [
            useful,
            2.0 * useful + 3.0,
            np.full(ROWS, 7.0),
            1e9 * rng.random(ROWS),
            1e-9 * rng.random(ROWS),
            np.zeros(ROWS) if is_away else rng.random(ROWS),
        ],
        axis=1,
    )
    if index % 97 == 0:
        X[0] = 1e30
    y = (useful + X[:, 5] > 0.5 * ((index // 150) % 3)).astype(np.int64)
    noisy = rng.random(ROWS) < 0.1
    y[noisy] = 1 - y[noisy]
    return X, y


def matrices_of(model: DEVFNN) -> Iterator[tuple[str, np.ndarray]]:
    """Every gain matrix and inverse covariance, each with its kind."""
    state = model._known().state
    pool, own = state.pool, state.gaussians
    for rule in np.flatnonzero(pool.owners != NO_OWNER) if pool is not None else ():
        n = pool.lows.shape[1]
        size = 1 + n if state.layers.kinds[pool.owners[rule]] == LINE else 1 + 2 * n
        yield "gain", unpacked(pool.gains[rule])[:size, :size]
    for layer, rule in np.argwhere(own.status != FREE) if own is not None else ():
        n = int(own.n_inputs[layer, 0])
        yield "gain", own.gain_covs[layer, rule, : 2 * n + 1, : 2 * n + 1]
        yield "inverse covariance", own.inverse_covs[layer, rule, :n, :n]


def check(model: DEVFNN) -> dict[str, float]:
    """Smallest eigenvalue of every kind of matrix; raises if one is unsound."""
    smallest: dict[str, float] = {}
    for kind, matrix in matrices_of(model):
        if not (np.isfinite(matrix).all() and (matrix == matrix.T).all()):
            raise ArithmeticError(f"{kind}: not finite or not symmetric")
        np.linalg.cholesky(matrix)
        least = float(np.linalg.eigvalsh(matrix)[0])
        smallest[kind] = min(smallest.get(kind, np.inf), least)
    return smallest


MODELS = {
    "default": Config(),
    "stacked, logistic": presets.stacked(),
    "stacked, least squares": presets.stacked().replace(gaussian__consequent="least_squares"),
}


def main(n_rows: int) -> None:
    """Learn, checking every hundredth chunk."""
    for name, config in MODELS.items():
        model = DEVFNN(config)
        rng = np.random.default_rng(0)
        start, correct = time.perf_counter(), 0
        with Progress() as progress:
            for index in progress.track(range(n_rows // ROWS), description=name):
                X, y = nasty_rows(index, rng)
                if index:
                    correct += int((model.predict(X) == y).sum())
                model.learn(X, y)
                if index % 100 == 0:
                    check(model)
        shown = ", ".join(f"{kind} {least:.2e}" for kind, least in check(model).items())
        seconds = time.perf_counter() - start
        print(
            f"{name}: {n_rows} rows in {seconds:.0f} s, accuracy {correct / n_rows:.4f}, "
            f"{model.n_rules} rules, {model.n_layers} layers, {model.nbytes} bytes; "
            f"smallest eigenvalues: {shown}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
