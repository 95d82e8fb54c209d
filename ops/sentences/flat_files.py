"""Flat arrays in files of their own, written piece by piece and then mapped: who reads few of a column holds few."""

import os
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np

from ops.arrays import Arrays, Integers


class FlatWriter:
    """Appends to the arrays of a folder, each in one file of numbers without a header.

    Args:
        folder: where the files are, which is there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, BinaryIO] = {}
        self._ends: dict[str, int] = {}

    def __enter__(self) -> "FlatWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()

    def add(self, name: str, numbers: Arrays) -> None:
        """Append to the array of this name, or begin it; its numbers are all of one type."""
        if name not in self._files:
            self._files[name] = open(self.folder / name, "wb")  # noqa: SIM115
        self._files[name].write(np.ascontiguousarray(numbers).data)

    def add_lengths(self, name: str, lengths: Integers) -> None:
        """Append the ends of further lists to an array of int64 that begins with 0, from their lengths."""
        if name not in self._ends:
            self._ends[name] = 0
            self.add(name, np.zeros(1, np.int64))
        ends = self._ends[name] + np.cumsum(lengths, dtype=np.int64)
        if len(ends):
            self._ends[name] = int(ends[-1])
        self.add(name, ends)


def map_flat(path: Path, kind: type[np.generic], change: bool = False) -> Arrays:
    """Return the array of a file of numbers of this type, mapped and not read.

    Args:
        path: the file.
        kind: the type of its numbers.
        change: may be written to, and the file with it.
    """
    if not os.path.getsize(path):
        found = np.zeros(0, kind)
        found.flags.writeable = change
        return found
    return np.memmap(path, kind, "r+" if change else "r")
