"""How many sentences are named by winners, a baseline and an activation sample, when none of them is drawn yet."""


def expected_selected(sentences: int, draws: list[tuple[int, int]]) -> int:
    """Return how many distinct sentences some draws name, if each draw knows nothing of the others.

    Args:
        sentences: of the corpus.
        draws: of each kind of draw, how many sentences it names and how many such draws there are.

    >>> expected_selected(1_000, [(100, 1)]), expected_selected(1_000, [(100, 2)]), expected_selected(10, [(99, 1)])
    (100, 190, 10)
    """
    if not sentences:
        return 0
    left = 1.0
    for size, times in draws:
        left *= (1 - min(size / sentences, 1)) ** times
    return round(sentences * (1 - left))
