"""The controls of score cards: which sentences of the sample are an axis's winners."""

import numpy as np
import pytest

from ops.explain.sample_explainer import LEAST_SAMPLE_WINNERS, SampleExplainer
from tests.unit.explain.score_cards_by_hand import World


def explainer_of(world: World, is_sparse: bool) -> SampleExplainer:
    own: SampleExplainer = object.__new__(SampleExplainer)
    own._sets, own.rows, own._is_sparse = world.explainer(), np.flatnonzero(world.known), is_sparse
    return own


@pytest.mark.parametrize("is_sparse", [True, False])
def test_a_sentence_in_which_a_feature_is_not_active_is_no_winner(is_sparse: bool) -> None:
    """The first sentences have a word of their own, which says nothing of features that are active elsewhere."""
    world = World(0)
    rows = np.flatnonzero(world.known)
    world.has[:, 20] = False
    world.has[rows[:LEAST_SAMPLE_WINNERS], 20] = True
    activations = np.zeros((len(rows), 2), np.float32)
    activations[-3:, 0] = activations[-2 * LEAST_SAMPLE_WINNERS :, 1] = 1.0
    measured = explainer_of(world, is_sparse)._card_measures(activations)
    assert np.isnan(measured["f1"]).tolist() == [is_sparse, False]
    if not is_sparse:
        assert measured["f1"][0] > 0.5
