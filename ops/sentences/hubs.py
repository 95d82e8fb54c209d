"""When a sentence wins so nearly everywhere that it says nothing of one neuron."""

LEAST_SHARE, TIMES_EXPECTED = 0.02, 10


def most_wins(winners: int, sentences: int, neuron_poles: int) -> float:
    """Return how many neuron-poles a sentence may win without being a hub: 2 %, or ten times as many as by chance.

    Args:
        winners: sentences that a neuron-pole keeps, K.
        sentences: of the corpus that were scored, N.
        neuron_poles: those that have winners.

    >>> most_wins(10_000, 82_000_000, 18_432), most_wins(100, 5_000, 4_608)
    (368.64, 921.6)
    """
    return max(LEAST_SHARE, TIMES_EXPECTED * winners / max(sentences, 1)) * neuron_poles
