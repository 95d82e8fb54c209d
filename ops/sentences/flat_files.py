"""Flat arrays in separate files, written in pieces and then memory-mapped, so that only the values read use memory."""

import os
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np

from ops.arrays import Arrays, Integers


class FlatWriter:
    """Appends to the arrays of a folder, each stored as one file of numbers without a header.

    Args:
        folder: the folder of the files, which must exist.
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
        """Append to the array of this name, or create it; all its numbers must have one type."""
        if name not in self._files:
            self._files[name] = open(self.folder / name, "wb")  # noqa: SIM115
        self._files[name].write(np.ascontiguousarray(numbers).data)

    def add_lengths(self, name: str, lengths: Integers) -> None:
        """Append the ends of further lists, computed from their lengths, to an int64 array that begins with 0."""
        if name not in self._ends:
            self._ends[name] = 0
            self.add(name, np.zeros(1, np.int64))
        ends = self._ends[name] + np.cumsum(lengths, dtype=np.int64)
        if len(ends):
            self._ends[name] = int(ends[-1])
        self.add(name, ends)


def map_flat(path: Path, kind: type[np.generic], change: bool = False) -> Arrays:
    """Return a memory-mapped array over a file of numbers of this type.

    Args:
        path: the file.
        kind: the type of the numbers.
        change: whether the array, and with it the file, may be changed.
    """
    if not os.path.getsize(path):
        found = np.zeros(0, kind)
        found.flags.writeable = change
        return found
    return np.memmap(path, kind, "r+" if change else "r")
