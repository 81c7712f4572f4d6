"""Five hundred machines, each with a model of its own, in one fleet; then one of them alone."""

import numpy as np

from devfnn import Fleet, presets

rng = np.random.default_rng(1)
n_machines = 500
limits = rng.uniform(60.0, 80.0, n_machines)  # the temperature above which each machine fails
small = presets.swift().replace(
    rules__max_rules=8, boxes__max_rules=4, clouds__max_rules=4, growing__max_kept=2
)
fleet = Fleet(n_machines, 2, ["fine", "fails"], small, ["temperature", "load"])
print(f"{fleet.nbytes / n_machines:,.0f} bytes per machine")

for hour in range(60):
    if hour == 30:
        limits[:100] -= 15.0  # a hundred machines age
    ids = rng.integers(0, n_machines, 10_000)  # rows of all machines, mixed
    X = np.stack([rng.uniform(40.0, 100.0, 10_000), rng.random(10_000)], axis=1)
    y = np.where(X[:, 0] + 5.0 * X[:, 1] > limits[ids], "fails", "fine")
    is_right = fleet.predict(ids, X) == y  # predict first ...
    fleet.learn(ids, X, y)  # ... then learn
    if hour % 10 == 9:
        print(f"hour {hour + 1}: {is_right.mean():.3f} right")

found = fleet.n_drifts > 0
print(f"drift in {found[:100].sum()} of the 100 aged machines, {found[100:].sum()} of the others")
model = fleet.model(7)  # a DEVFNN: to explain, to save, or to go on with
print(model.n_rows, "rows;", model.rules()[0].text())
