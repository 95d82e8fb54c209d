"""The units for which the controls of the score cards are fitted: a sample of every layer is enough."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from ops.arrays import Int64s
from ops.sampling import CONTROLLED, draw
from ops.topk.neurons import Neurons

CARDED = 128  # number of units of a layer for which controls of the score card are fitted


@dataclass(frozen=True)
class Controls:
    """The controls of a run.

    Attributes:
        are_fitted: whether any controls are fitted. If so, the controls of the range model are fitted for every unit.
        measured: numbers of the neurons whose measures are compared with those of the controls, ascending.
        carded: numbers of the neurons for which the controls of the score card are fitted too, ascending.
    """

    are_fitted: bool
    measured: Int64s
    carded: Int64s

    @classmethod
    def drawn(cls, are_fitted: bool, neurons: Neurons, measured: Int64s, size: int, seed: int) -> Self:
        """Draw `size` of each layer's measured units, or all of them if there are fewer.

        Args:
            are_fitted: whether controls are fitted.
            neurons: the run's neurons.
            measured: numbers of the explained neurons that are not silent, ascending.
            size: number of units to draw from each layer.
            seed: the seed of the draw.
        """
        carded = []
        for layer in neurons.layers:
            first, stop = neurons.span(layer)
            own = measured[slice(*np.searchsorted(measured, [first, stop]))]
            carded.append(own[draw(len(own), size, seed, CONTROLLED, layer)])
        return cls(are_fitted, measured, np.concatenate([measured[:0], *carded]) if are_fitted else measured[:0])
