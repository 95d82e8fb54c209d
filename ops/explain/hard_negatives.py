"""Hard negatives: sentences that an explanation takes for winners but that do not activate the neuron."""

import numpy as np

from ops.arrays import Bools, Float32s, Float64s, Int32s, Int64s
from ops.explain.cells import Cells
from ops.explain.known_literals import beside
from ops.explain.score_card import ScoreCard
from ops.explain.set_explainer import Own
from ops.explain.some_occurrences import of_literals, of_sentences
from ops.patterns.occurrences import Occurrences

MOST = 5  # maximum number of hard negatives of a neuron and pole


def sample_scores(card: ScoreCard, pool: Occurrences, own: Own, places: Int32s, sentences: int) -> Float64s:
    """Return the score of a card for each sentence of the activation sample, `[sentences]`.

    Args:
        card: the score card. Its literals are indices into the pool; indices past the pool's end refer to `own`.
        pool: the sentences of the sample that have each literal of the pool.
        own: the literals of this neuron and pole alone, with the known sentences that have each.
        places: the index of each known sentence in the sample, -1 for a sentence outside it, int32 `[known]`.
        sentences: the number of sentences of the sample.
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
    """Return the indices of the hard negatives among the sentences of the activation sample, best first.

    A hard negative has a score of at least the threshold, is not a winner of the neuron, and does not activate it. For
    the pole `top` its activation is at most the sample's median, and for `bottom` at least the median. A sparse feature
    must be inactive (0). The sentences with the highest scores are returned. Among equal scores, the sentence whose
    activation is farther from the pole comes first, then the one with the smaller index.

    Args:
        scores: the card's score of each sentence, `[n]`.
        threshold: the card's threshold.
        activations: the neuron's activation in each sentence, `[n]`.
        won: whether a sentence is a winner of the neuron at either pole, `[n]`.
        pole: `top` or `bottom`.
        is_sparse: whether the neuron is a sparse feature, which is 0 where it is inactive.
        most: maximum number of hard negatives to return.
    """
    heights = activations.astype(np.float64) if pole == "top" else -activations.astype(np.float64)
    is_quiet = activations == 0 if is_sparse else heights <= np.median(heights)
    places = np.flatnonzero(is_quiet & ~won & (scores >= threshold))
    return places[np.lexsort((places, heights[places], -scores[places]))][:most]
