"""Layers on top of each other: each sees the rows, shifted at random by what the one below says."""

import dataclasses

import numpy as np

from devfnn.baselines.dsscn.layers import Layer
from devfnn.baselines.dsscn.settings import Settings
from devfnn.kernels.state import Floats


@dataclasses.dataclass
class Stack:
    """All layers, the bottom one first; the answer is that of the top."""

    layers: list[Layer]

    def pass_through(self, rows: Floats, settings: Settings) -> tuple[list[Floats], list[Floats]]:
        """What each layer sees of rows, and what it says of them."""
        inputs: list[Floats] = []
        outputs: list[Floats] = []
        for layer in self.layers:
            seen = shifted(rows, outputs[-1], layer.shifts, settings.shift) if outputs else rows
            inputs.append(seen)
            outputs.append(layer.outputs(seen, settings.half_width))
        return inputs, outputs

    def widen(self, n_outputs: int, rng: np.random.Generator) -> None:
        """Make room for classes that came later."""
        for layer in self.layers:
            layer.widen(n_outputs, rng)


def shifted(rows: Floats, outputs: Floats, shifts: Floats, size: float) -> Floats:
    """Rows moved by what the layer below says of them: x + α y Z."""
    moved: Floats = rows + size * (outputs @ shifts)
    return moved
