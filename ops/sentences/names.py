"""Lists of names as arrays, which may be in a memory-mapped file."""

from collections.abc import Iterable, Sequence
from typing import Self, overload

import pyarrow as pa

from ops.arrays import Integers


class Names(Sequence[str]):
    """A list of names in which a code is an index, `[names]`.

    Args:
        array: the names. If it is memory-mapped, only the names that are looked up use memory.
    """

    def __init__(self, array: pa.LargeStringArray) -> None:
        self.array = array

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """Return a list of names that is in memory."""
        return cls(pa.array(list(names), pa.large_string()))

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, code: int) -> str: ...
    @overload
    def __getitem__(self, code: slice) -> list[str]: ...
    def __getitem__(self, code: int | slice) -> str | list[str]:
        """Return the name of a code, or the list of names of a slice of codes."""
        if isinstance(code, slice):
            found: list[str] = self.array[code].to_pylist()
            return found
        name: str = self.array[int(code)].as_py()
        return name

    def take(self, codes: Integers) -> pa.StringArray:
        """Return the names of these codes, `[codes]`."""
        return self.array.take(pa.array(codes)).cast(pa.string())
