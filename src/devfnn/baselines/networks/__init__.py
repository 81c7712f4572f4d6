"""Neural networks for streams of tasks; PyTorch is imported only with a model."""
