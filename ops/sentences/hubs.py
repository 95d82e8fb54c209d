"""The bound on wins above which a sentence is a hub, which wins so often that it is informative of no neuron."""

LEAST_SHARE, TIMES_EXPECTED = 0.02, 10


def most_wins(winners: int, sentences: int, neuron_poles: int) -> float:
    """Return the maximum number of neuron-poles that a sentence may win without being a hub.

    The maximum is 2 % of the neuron-poles or ten times the number expected by chance, whichever is greater.

    Args:
        winners: number of winning sentences of each neuron-pole, K.
        sentences: number of scored sentences of the corpus, N.
        neuron_poles: number of neuron-poles that have winners.

    >>> most_wins(10_000, 82_000_000, 18_432), most_wins(100, 5_000, 4_608)
    (368.64, 921.6)
    """
    return max(LEAST_SHARE, TIMES_EXPECTED * winners / max(sentences, 1)) * neuron_poles
