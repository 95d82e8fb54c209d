"""The largest values of each row, with ties sorted by index."""

import numpy as np

from ops.arrays import Floats, Int64s


def highest(values: Floats, most: int) -> Int64s:
    """Return the indices of each row's largest values, the largest first, `[rows, most]`; ties are sorted by index.

    Args:
        values: the values, `[rows, columns]`.
        most: number of values for each row, from 1 to the number of columns.

    >>> highest(np.array([[1.0, 3.0, 2.0, 3.0]]), 3).tolist()
    [[1, 3, 2]]
    """
    # All values that equal the last one are kept, so that ties are broken by index.
    least = -np.partition(-values, most - 1, axis=1)[:, most - 1]
    columns = np.empty((len(values), most), np.int64)
    for i, (row, low) in enumerate(zip(values, least, strict=True)):
        among = np.flatnonzero(row >= low)
        columns[i] = among[np.argsort(-row[among], kind="stable")][:most]
    return columns
