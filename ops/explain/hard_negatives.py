"""Hard negatives: sentences that an explanation takes for winners and that do not activate the neuron."""

import numpy as np

from ops.arrays import Bools, Float32s, Float64s, Int32s, Int64s
from ops.explain.cells import Cells
from ops.explain.known_literals import beside
from ops.explain.score_card import ScoreCard
from ops.explain.set_explainer import Own
from ops.explain.some_occurrences import of_literals, of_sentences
from ops.patterns.occurrences import Occurrences

MOST = 5  # of a neuron and pole


def sample_scores(card: ScoreCard, pool: Occurrences, own: Own, places: Int32s, sentences: int) -> Float64s:
    """Return the score of a card for each sentence of the activation sample, `[sentences]`.

    Args:
        card: its literals are places in the pool and, after these, in `own`.
        pool: the sentences of the sample that have each literal of the pool.
        own: the literals of this neuron and pole alone, with the known sentences that have each.
        places: of each known sentence its place in the sample, -1 for a sentence outside, int32 `[known]`.
        sentences: of the sample.
    """
    size = len(pool.offsets) - 1
    of_pool = card.literals < size
    found = of_literals(pool, card.literals[of_pool])
    number = np.full(size + len(own.nuisance), -1, np.int64)
    number[card.literals[of_pool]] = np.arange(np.count_nonzero(of_pool))
    if not of_pool.all():
        further = card.literals[~of_pool]
        number[further] = np.arange(len(further)) + np.count_nonzero(of_pool)
        found = beside(found, of_sentences(of_literals(own.known, further - size), places))
    cells = Cells.by(found, number[card.literals], sentences)
    return card.scores(cells.has)[cells.of]


def hard_negatives(
    scores: Float64s,
    threshold: float,
    activations: Float32s,
    won: Bools,
    pole: str,
    is_sparse: bool = False,
    most: int = MOST,
) -> Int64s:
    """Return the places of the hard negatives among the sentences of the activation sample, best first.

    These are sentences with a score of at least the threshold that are no winner of the neuron and do not activate it.
    For the pole `top` their activation is the sample's median or lower, for `bottom` the median or higher. A sparse
    feature must be inactive (0). Those with the highest scores are taken. Of equal scores the activation that is
    farther from the pole comes first, then the smaller place.

    Args:
        scores: of the card, `[n]`.
        threshold: of the card.
        activations: of the neuron, `[n]`.
        won: whether a sentence is a winner of the neuron at either pole, `[n]`.
        pole: `top` or `bottom`.
        is_sparse: whether the neuron is a sparse feature, which is 0 where it is inactive.
        most: how many are taken.
    """
    heights = activations.astype(np.float64) if pole == "top" else -activations.astype(np.float64)
    is_quiet = activations == 0 if is_sparse else heights <= np.median(heights)
    places = np.flatnonzero(is_quiet & ~won & (scores >= threshold))
    return places[np.lexsort((places, heights[places], -scores[places]))][:most]
