"""Learning from data streams that change, with rules; based on the network DEVFNN."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from devfnn.errors import InputError, NotLearnedError, StorageError
    from devfnn.model import presets
    from devfnn.model.config import Config
    from devfnn.model.devfnn import DEVFNN
    from devfnn.model.fleet import Fleet
    from devfnn.model.gclass import GClass
    from devfnn.storage import load

__all__ = [
    "DEVFNN",
    "Config",
    "Fleet",
    "GClass",
    "InputError",
    "NotLearnedError",
    "StorageError",
    "load",
    "presets",
]
__version__ = "0.2.0.dev0"

_MODULES = {
    "DEVFNN": "devfnn.model.devfnn",
    "Config": "devfnn.model.config",
    "Fleet": "devfnn.model.fleet",
    "GClass": "devfnn.model.gclass",
    "InputError": "devfnn.errors",
    "NotLearnedError": "devfnn.errors",
    "StorageError": "devfnn.errors",
    "load": "devfnn.storage",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that `import devfnn` costs nothing."""
    if name == "presets":
        return importlib.import_module("devfnn.model.presets")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
    return value
