"""The least support a pattern must have."""

from fractions import Fraction


def support_count(share: float, n: int, min_count: int) -> int:
    """Return how many of `n` sentences must contain a pattern: `share` of them, at least `min_count` and 1.

    The share is taken as it is written, so that 7 % of 100 sentences are 7 and not 8.

    >>> support_count(0.07, 100, 5), support_count(0.005, 300, 5), support_count(0.001, 1_500, 0)
    (7, 5, 2)
    """
    wanted = Fraction(str(share)) * n
    return max(-(-wanted.numerator // wanted.denominator), min_count, 1)
