"""The units for which the controls of the score cards are fitted: a sample of every layer is enough."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from ops.arrays import Int64s
from ops.sampling import CONTROLLED
from ops.topk.neurons import Neurons

CARDED = 128  # units of a layer with controls of the score card


@dataclass(frozen=True)
class Controls:
    """The controls of a run.

    Attributes:
        are_fitted: whether any controls are fitted. If so, every unit has those of the range model.
        carded: numbers of the neurons that also have those of the score card, ascending.
    """

    are_fitted: bool
    carded: Int64s

    @classmethod
    def drawn(cls, are_fitted: bool, neurons: Neurons, explained: Int64s, size: int, seed: int) -> Self:
        """Draw `size` of every layer's explained units, or all if there are fewer.

        Args:
            are_fitted: whether controls are fitted.
            neurons: the run's neurons.
            explained: numbers of the explained neurons, ascending.
            size: units to draw from each layer.
            seed: of the draw.
        """
        carded = []
        for layer in neurons.layers:
            first, stop = neurons.span(layer)
            own = explained[slice(*np.searchsorted(explained, [first, stop]))]
            if len(own) > size:
                own = np.sort(np.random.default_rng([seed, CONTROLLED, layer]).choice(own, size, replace=False))
            carded.append(own)
        return cls(are_fitted, np.concatenate([np.zeros(0, np.int64), *carded]) if are_fitted else explained[:0])
