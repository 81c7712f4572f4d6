"""Saving and loading models: a safetensors file with a versioned JSON header, never pickle."""

from devfnn.storage.codec import dump, parse
from devfnn.storage.files import load, load_as, save, write_whole
from devfnn.storage.layout import state_bytes

__all__ = ["dump", "load", "load_as", "parse", "save", "state_bytes", "write_whole"]
