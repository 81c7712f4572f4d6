"""Row by row, with labels that are words and a class that appears later; then save and go on."""

import pathlib
import tempfile

import numpy as np

from devfnn import DEVFNN, load

rng = np.random.default_rng(7)
model = DEVFNN(feature_names=["temperature", "humidity"])

right = 0
for row in range(3000):
    x = rng.normal([20.0, 0.5], [8.0, 0.2])
    y = "rain" if x[1] > 0.6 else "dry"
    if row > 1500 and x[0] < 8.0:
        y = "frost"  # a label never seen before
    right += row > 0 and model.predict_one(x) == y
    model.learn_one(x, y)
print(f"right on {right} of 2999 rows; classes {model.classes}")

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "weather.devfnn"
    model.save(path)
    again = load(path)
print({label: round(share, 2) for label, share in again.predict_proba_one([3.0, 0.4]).items()})
