"""The interval of a share."""

import math

from ops.statistics.interval import Interval

Z = 1.959963984540054


def wilson(share: float, n: float, z: float = Z) -> Interval:
    """Return the 95 % interval of a share of `n` observations (Wilson 1927); it stays within 0 and 1.

    `z` is the quantile of the normal distribution; another `z` gives an interval for another probability.

    >>> [round(number, 3) for number in wilson(0.5, 100)]
    [0.5, 0.404, 0.596]
    """
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half))
