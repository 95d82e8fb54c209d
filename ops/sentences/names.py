"""Lists of names in a memory-mapped file, so that only the names that are looked up use memory."""

from collections.abc import Iterable, Sequence
from typing import Self, overload

import numpy as np
import pyarrow as pa

from ops.arrays import Int64s, Integers, UInt8s


class Names(Sequence[str]):
    """A list of names in which a code is an index, `[names]`.

    Args:
        ends: 0 followed by the end of each name's bytes, `[names + 1]` int64.
        text: the bytes of all names in UTF-8.
    """

    def __init__(self, ends: Int64s, text: UInt8s) -> None:
        self.array = pa.LargeStringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(text))

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """Return a list of names that is in memory."""
        texts = [name.encode() for name in names]
        return cls(np.cumsum([0, *map(len, texts)], dtype=np.int64), np.frombuffer(b"".join(texts), np.uint8))

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
