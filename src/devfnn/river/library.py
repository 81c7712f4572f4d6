"""River itself, or how to get it."""

try:
    from river import active, base
    from river.utils import dataframe
except ImportError as error:
    raise ImportError(
        "devfnn.river needs River 0.26 or newer: pip install 'devfnn[river]'"
    ) from error

__all__ = ["active", "base", "dataframe"]
