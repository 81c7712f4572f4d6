"""Neural networks for streams of tasks; PyTorch is imported with a model, by nobody else."""
