"""Mechanisms of the network that run between kernel calls, each once."""
