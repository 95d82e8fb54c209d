"""The one way functions of this package are compiled."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Return the function compiled by numba: cached on disk and without the global interpreter lock.

    numba's cache notices changes of the function's own file only, so a compiled function calls others of
    its file.
    """
    return cast(F, numba.njit(cache=True, nogil=True)(function))
