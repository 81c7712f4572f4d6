"""Saving and loading models: a safetensors file with a versioned JSON header, never pickle."""

from devfnn.storage.files import UNLIMITED, dump, load, parse, save, write_whole
from devfnn.storage.layout import state_bytes

__all__ = ["UNLIMITED", "dump", "load", "parse", "save", "state_bytes", "write_whole"]
