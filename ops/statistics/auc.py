"""How well a number separates winners from others: the area under the ROC curve."""

import numpy as np

from ops.arrays import Float64s


def how_many_below(values: Float64s, others: Float64s) -> Float64s:
    """Return the number of other values below each value, with ties counting half, `[values]` float64."""
    ascending = np.sort(others)
    return (np.searchsorted(ascending, values) + np.searchsorted(ascending, values, side="right")) / 2
