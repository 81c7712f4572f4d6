"""The prior: IF anything, THEN the classes as they came of late."""

from devfnn.kernels._jit import part


@part()
def say_prior(prior, params, output):
    """Recent class frequencies, with some doubt. output: (m,)"""
    if prior is None:
        return
    n_classes, total = output.shape[0], 0.0
    for k in range(n_classes):
        total += prior.class_weights[k]
    for k in range(n_classes):
        share = prior.class_weights[k] / total if total > 0.0 else 1.0 / n_classes
        output[k] = (1.0 - params.doubt) * share + params.doubt / n_classes


@part()
def learn_prior(prior, label, weight, params):
    """Let a row count, and all before it fade."""
    if prior is None:
        return
    kept = 1.0 - 1.0 / params.rows
    for k in range(prior.class_weights.shape[0]):
        prior.class_weights[k] *= kept
    prior.class_weights[label] += weight
