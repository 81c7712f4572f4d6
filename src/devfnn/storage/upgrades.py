"""Files of earlier formats, brought to the form of this one when they are read.

Every format that was released stays readable: a change of what a file holds adds a function here,
from the format before to the next, and a folder of files to `tests/golden`. Fleets have the same
formats, and are in files from format 7 on.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from devfnn.storage.container import Array
from devfnn.storage.header import FORMAT
from devfnn.storage.layout import SCALER_LAYOUT

Data = dict[str, Any]
Tensors = dict[str, Array]
Check = Callable[[int], None]


def _from_6(data: Data, tensors: Tensors, check_memory: Check) -> None:
    """Ranges did not watch values far away, and there were no positions: none were seen yet."""
    data["positions"] = {}
    if data["shape"] is None:
        return
    lengths = {"n": data["shape"]["features"], "first": 0}
    check_memory(sum(field.n_bytes(lengths) for field in SCALER_LAYOUT.values()))
    for name, field in SCALER_LAYOUT.items():
        shape = field.shape(lengths)
        tensors.setdefault(f"scaler/{name}", np.full(shape, field.fill, field.dtype))


STEPS: dict[int, Callable[[Data, Tensors, Check], None]] = {6: _from_6}
"""By the format that each step starts from."""


def upgrade(data: Data, tensors: Tensors, check_memory: Check) -> None:
    """Bring a header and its tensors to this format, in place.

    check_memory: refuses as many bytes, before they are made
    """
    while data["format"] < FORMAT:
        STEPS[data["format"]](data, tensors, check_memory)
        data["format"] += 1
