"""The decorator with which all compiled functions of this package are compiled."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Return the function compiled by numba, cached on disk and without the global interpreter lock.

    numba's cache notices only changes of the function's own file. So a compiled function must only call compiled
    functions of the same file.
    """
    return cast(F, numba.njit(cache=True, nogil=True)(function))
