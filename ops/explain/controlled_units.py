"""For which units the controls of the score cards are learned: a sample of every layer tells as much as all."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from ops.arrays import Int64s
from ops.sampling import CONTROLLED
from ops.topk.neurons import Neurons

CARDED = 128  # units of a layer


@dataclass(frozen=True)
class Controls:
    """The controls of a run.

    Attributes:
        are_fitted: whether there are any. If so, all units have those of the range model.
        carded: numbers of the neurons that have those of the score card too, ascending.
    """

    are_fitted: bool
    carded: Int64s

    @classmethod
    def drawn(cls, are_fitted: bool, neurons: Neurons, explained: Int64s, size: int, seed: int) -> Self:
        """Draw so many of every layer's explained units, all where there are no more.

        Args:
            are_fitted: whether there are controls.
            neurons: of the run.
            explained: numbers of those that are explained, ascending.
            size: units to draw of a layer.
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
