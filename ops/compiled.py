"""The decorator with which all compiled functions of this package are compiled."""

import sys
from collections.abc import Callable
from functools import cache, partial
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Return the function compiled by numba, cached on disk and without the global interpreter lock.

    numba's cache notices only changes of the function's own file. So a compiled function must only call compiled
    functions of the same file. Where no folder for the cache can be written, every process compiles again.
    """
    compile_with = partial(numba.njit, nogil=True)
    try:
        return cast(F, compile_with(cache=True)(function))
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        _say_uncached()
        return cast(F, compile_with()(function))


@cache
def _say_uncached() -> None:
    """Print that nothing is cached, but only once."""
    print(
        "no folder for compiled code can be written, so every process compiles again, for up to a minute; "
        "name one with NUMBA_CACHE_DIR",
        file=sys.stderr,
    )
