"""The concept network: rival layers, and one kept for every concept that may return."""
