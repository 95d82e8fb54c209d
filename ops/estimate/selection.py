"""The expected number of sentences in winners, a baseline and an activation sample, before any of them is drawn."""

from collections.abc import Collection


def expected_selected(
    sentences: int, draws: list[tuple[int, int]], datasets: Collection[int] = (), k: int = 0, times: int = 0
) -> int:
    """Return the expected number of distinct sentences in some draws, if the draws are independent.

    Args:
        sentences: number of sentences of the corpus.
        draws: for each kind of draw, its number of sentences and the number of such draws.
        datasets: number of sentences of each data set that has its own draws.
        k, times: for each data set, the number of sentences in such a draw and the number of draws.

    >>> expected_selected(1_000, [(100, 1)]), expected_selected(1_000, [(100, 2)]), expected_selected(10, [(99, 1)])
    (100, 190, 10)
    >>> expected_selected(1_000, [(100, 1)], [200, 500], 50, 1)
    190
    """
    if not sentences:
        return 0
    left = 1.0
    for size, number in draws:
        left *= (1 - min(size / sentences, 1)) ** number
    kept = sum(size * (1 - min(k / size, 1)) ** times for size in datasets) + max(sentences - sum(datasets), 0)
    return round(sentences - left * kept)
