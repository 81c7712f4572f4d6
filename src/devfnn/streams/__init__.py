"""Sources of rows: iterables of chunks that know nothing of models."""

from devfnn.streams.generated import GeneratedStream
from devfnn.streams.sea import sea

__all__ = ["GeneratedStream", "sea"]
