"""The command line: parse, call, show."""

from devfnn.cli.app import app, main

__all__ = ["app", "main"]
