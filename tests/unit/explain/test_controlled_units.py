"""Which units the controls of score cards are learned for."""

import numpy as np

from ops.explain.controls import Controls
from ops.topk.neurons import Neurons

NEURONS = Neurons.of_layers({1: 40, 3: 12})


def test_as_many_of_every_layer_are_drawn_and_the_seed_decides_which() -> None:
    every = np.arange(52)
    own = Controls.drawn(True, NEURONS, every, 16, seed=3)
    assert own.are_fitted
    assert np.count_nonzero(own.carded < 40) == 16
    assert own.carded[16:].tolist() == list(range(40, 52)), "all of a layer that has no more"
    assert (np.diff(own.carded) > 0).all()
    assert own.carded.tolist() == Controls.drawn(True, NEURONS, every, 16, seed=3).carded.tolist()
    assert own.carded.tolist() != Controls.drawn(True, NEURONS, every, 16, seed=4).carded.tolist()


def test_only_explained_units_are_drawn_and_none_without_controls() -> None:
    explained = np.array([0, 7, 39, 45])
    drawn = Controls.drawn(True, NEURONS, explained, 2, seed=0).carded
    assert (len(drawn), drawn[-1]) == (3, 45)
    assert np.isin(drawn, explained).all()
    assert not len(Controls.drawn(False, NEURONS, np.arange(52), 16, seed=0).carded)
