"""Predict, then learn, chunk by chunk, on a stream whose concept jumps and comes back."""

from devfnn import DEVFNN
from devfnn.evaluation import Summary, iter_prequential
from devfnn.streams import sea

stream = sea(20000, rows_per_concept=5000, noise=0.1)
model = DEVFNN(feature_names=stream.feature_names)

results = []
for result in iter_prequential(model, stream):
    results.append(result)
    for event in result.events:
        if event.kind in ("DriftFound", "LayerKept", "LayerRecalled"):
            print(event)

summary = Summary.of(results)
print(f"accuracy {summary.accuracy:.3f}, {model.n_live_layers} layers, {model.n_rules} rules")
print(f"true drifts at rows {stream.drift_positions}")
