"""The errors that users may see. Each message says what is wrong and what to do."""


class InputError(ValueError):
    """Rows, labels or weights that a model cannot use; the model is unchanged."""


class NotLearnedError(RuntimeError):
    """A model was asked for a prediction before it learned anything."""


class StorageError(ValueError):
    """A file that is not a valid devfnn model."""


class DataError(ValueError):
    """A file or data set that cannot be read, or a row in it; says where, and what to do."""
