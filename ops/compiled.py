"""The decorator with which all compiled functions of this package are compiled."""

import hashlib
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])
ROOT = Path(__file__).parent


def compiled(function: F) -> F:
    """Return the function compiled by numba, cached on disk and without the global interpreter lock.

    It may use names of other files that contain compiled functions: when one of these files changes, all functions are
    compiled again. Where no folder for the cache can be written, every process compiles again.
    """
    compile_with = partial(numba.njit, nogil=True)
    try:
        dispatcher: Any = compile_with(cache=True)(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        _say_uncached()
        return cast(F, compile_with()(function))
    if hasattr(dispatcher, "_cache"):  # it has not with NUMBA_DISABLE_JIT
        # numba's own stamp is that of the function's file, so changes of other files would go unnoticed.
        file = dispatcher._cache._cache_file
        file._source_stamp = (file._source_stamp, digest(ROOT))
    return cast(F, dispatcher)


@cache
def digest(folder: Path) -> str:
    """Return a digest of all files below a folder that contain compiled functions."""
    texts = (path.read_bytes() for path in sorted(folder.rglob("*.py")))
    return hashlib.sha256(b"\0".join(text for text in texts if b"@compiled" in text)).hexdigest()


@cache
def _say_uncached() -> None:
    """Print that nothing is cached, but only once."""
    print(
        "no folder for compiled code can be written, so every process compiles again, for a minute or more; "
        "name one with NUMBA_CACHE_DIR",
        file=sys.stderr,
    )
