"""The interval of a share."""

import math

Z = 1.959963984540054


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a share of `n` observations (Wilson 1927); it stays within 0 and 1.

    >>> [round(end, 3) for end in wilson(0.5, 100)]
    [0.404, 0.596]
    """
    centre = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)
