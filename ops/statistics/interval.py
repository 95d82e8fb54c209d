"""A statistic with the ends of its 95 % interval."""

import math
from typing import NamedTuple


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
