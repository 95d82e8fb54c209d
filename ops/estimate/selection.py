"""How many sentences are named by winners, a baseline and an activation sample, when none of them is drawn yet."""

from collections.abc import Collection


def expected_selected(
    sentences: int, draws: list[tuple[int, int]], datasets: Collection[int] = (), k: int = 0, times: int = 0
) -> int:
    """Return how many distinct sentences some draws name, if each draw knows nothing of the others.

    Args:
        sentences: of the corpus.
        draws: of each kind of draw, how many sentences it names and how many such draws there are.
        datasets: sentences of each data set of which some draws of their own are made.
        k, times: how many sentences such a draw names of each data set, and how many of them there are.

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
