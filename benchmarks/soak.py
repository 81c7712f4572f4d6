"""Ten million rows of a stream that tries to break the arithmetic; run with `make soak`."""

import sys
import time

import numpy as np
from rich.progress import Progress

from devfnn import DEVFNN, Config
from devfnn.kernels.state import FREE

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


def check(model: DEVFNN) -> tuple[float, float]:
    """Smallest eigenvalues of gain matrices and inverse covariances; raises if one is unsound."""
    layers = model._known().layers
    smallest = [np.inf, np.inf]
    for layer, rule in np.argwhere(layers.status != FREE):
        n = int(layers.n_inputs[layer, 0])
        for which, matrix in enumerate(
            (
                layers.gain_covs[layer, rule, : 2 * n + 1, : 2 * n + 1],
                layers.inverse_covs[layer, rule, :n, :n],
            )
        ):
            if not (np.isfinite(matrix).all() and (matrix == matrix.T).all()):
                raise ArithmeticError(f"layer {layer}, rule {rule}: not finite or not symmetric")
            np.linalg.cholesky(matrix)
            smallest[which] = min(smallest[which], float(np.linalg.eigvalsh(matrix)[0]))
    return smallest[0], smallest[1]


def main(n_rows: int) -> None:
    """Learn, checking every hundredth chunk."""
    for consequent in ("logistic", "least_squares"):
        model = DEVFNN(Config(consequent=consequent))
        rng = np.random.default_rng(0)
        start, correct = time.perf_counter(), 0
        with Progress() as progress:
            for index in progress.track(range(n_rows // ROWS), description=consequent):
                X, y = nasty_rows(index, rng)
                if index:
                    correct += int((model.predict(X) == y).sum())
                model.learn(X, y)
                if index % 100 == 0:
                    check(model)
        gain, inverse = check(model)
        seconds = time.perf_counter() - start
        print(
            f"{consequent}: {n_rows} rows in {seconds:.0f} s, accuracy {correct / n_rows:.4f}, "
            f"{model.n_rules} rules, {model.n_layers} layers, {model.nbytes} bytes; "
            f"smallest eigenvalues: gain {gain:.2e}, inverse covariance {inverse:.2e}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
