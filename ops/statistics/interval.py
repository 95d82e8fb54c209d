"""A statistic with the ends of its 95 % interval, and the quantiles and shares from which such ends are computed."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from ops.arrays import Float64s

Z = 1.959963984540054
LEAST_ERROR = 1e-10  # a standard error below this is rounding, of documents that do not differ


class Interval(NamedTuple):
    """A statistic and the ends of its 95 % interval; undefined numbers are NaN."""

    value: float
    low: float
    high: float

    def columns(self, name: str, ends: str | None = None) -> dict[str, float | None]:
        """Return the numbers as columns of a table, with None for NaN.

        Args:
            name: the column of the statistic.
            ends: the name to which `_low` and `_high` are appended, if it is another one; if it is empty, the columns
                are `low` and `high`.

        >>> Interval(0.5, 0.25, math.nan).columns("f1")
        {'f1': 0.5, 'f1_low': 0.25, 'f1_high': None}
        >>> list(Interval(0.5, 0.25, 0.75).columns("auc", ""))
        ['auc', 'low', 'high']
        """
        prefix = f"{name if ends is None else ends}_" if ends != "" else ""
        names = (name, f"{prefix}low", f"{prefix}high")
        return {key: None if math.isnan(number) else float(number) for key, number in zip(names, self, strict=True)}


UNDEFINED = Interval(math.nan, math.nan, math.nan)


def wilson(share: float, n: float, z: float = Z) -> Interval:
    """Return the 95 % interval of a share of `n` observations (Wilson 1927); it stays within 0 and 1.

    `z` is the quantile of the normal distribution; another `z` gives an interval for another probability.

    >>> [round(number, 3) for number in wilson(0.5, 100)]
    [0.5, 0.404, 0.596]
    """
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half))


def t_quantile(freedom: ArrayLike) -> Float64s:
    """Return the 97.5 % quantile of Student's t: the standard errors between a statistic and the ends of its interval.

    >>> t_quantile([1, 9, 1e9]).round(3).tolist()
    [12.706, 2.262, 1.96]
    """
    return np.asarray(stdtrit(freedom, 0.975))
