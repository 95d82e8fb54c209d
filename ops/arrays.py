"""Type aliases for arrays, one for each type of number, and the places of values among others."""

from typing import Any

import numpy as np
import numpy.typing as npt

Int8s = npt.NDArray[np.int8]
Int16s = npt.NDArray[np.int16]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt8s = npt.NDArray[np.uint8]
UInt32s = npt.NDArray[np.uint32]
UInt64s = npt.NDArray[np.uint64]
Float32s = npt.NDArray[np.float32]
Float64s = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.integer]  # of any width
Floats = npt.NDArray[np.floating]  # of any width
Arrays = npt.NDArray[Any]  # of anything


_SPARSE = 8  # values up to this many times their number are marked rather than sorted


def distinct(values: Integers) -> tuple[Int64s, Int64s]:
    """Return the distinct values, none below 0, ascending, and the place of each value among them.

    It is `np.unique` without its sort where values are dense, as rows and documents of many sets are.

    >>> [part.tolist() for part in distinct(np.array([7, 3, 7]))]
    [[3, 7], [1, 0, 1]]
    """
    highest = int(values.max(initial=-1))
    if highest >= _SPARSE * len(values):
        found, place = np.unique(values, return_inverse=True)
        return found.astype(np.int64), place
    is_there = np.zeros(highest + 1, np.bool_)
    is_there[values] = True
    found, place = np.flatnonzero(is_there), np.empty(highest + 1, np.int64)
    place[found] = np.arange(len(found))
    return found, place[values]


def begins_group(*columns: Arrays) -> Bools:
    """Return which entries differ in a column from the entry before them, and so are the first of their group, `[n]`.

    Args:
        columns: the columns of n entries, of which those of a group are adjacent.

    >>> begins_group(np.array([3, 3, 5, 5]), np.array([1, 1, 1, 2])).tolist()
    [True, False, True, True]
    """
    first = np.zeros(len(columns[0]), np.bool_)
    first[:1] = True
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    return first


def places_among(values: Int64s, some: Int64s) -> tuple[Int64s, Bools]:
    """Return the indices of `some` values in `values`, which ascend, and which of them are found, `[some]`.

    >>> places_among(np.array([2, 5, 9]), np.array([9, 3, 2, 11]))[0].tolist()
    [2, 0]
    """
    place = np.searchsorted(values, some)
    is_there = place < len(values)
    is_there[is_there] = values[place[is_there]] == some[is_there]
    return place[is_there], is_there
