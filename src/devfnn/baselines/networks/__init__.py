"""Neural networks for streams of tasks, in PyTorch; import a model from its module.

Nothing here is imported by the rest of the package, so PyTorch is needed by nobody else.
"""
