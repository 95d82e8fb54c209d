"""Neurons in one row: those of layer 1, then those of layer 2, and so on."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Neurons:
    """The neurons of a model at one site: `widths[i]` units in layer i + 1."""

    widths: tuple[int, ...]

    def __len__(self) -> int:
        return sum(self.widths)

    def name(self, index: npt.NDArray[np.integer]) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16]]:
        """Return layers (from 1) and units (from 0) of the neurons at the places `index`, each `[index]` int16."""
        starts = np.concatenate([[0], np.cumsum(self.widths)[:-1]])
        layer = np.searchsorted(starts, index, side="right")
        return layer.astype(np.int16), (index - starts[layer - 1]).astype(np.int16)
