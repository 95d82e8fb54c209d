"""The record that describes a format of sources: everything that the rest of the code needs from a format.

This module and the modules that define formats import nothing heavy, because `--help` lists the formats and must be
fast.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ops.sources.rows import Broken, OnError, Row

if TYPE_CHECKING:
    from ops.sources.hub_spec import HubSpec

Part = dict[str, Any]


@dataclass(frozen=True)
class Reading:
    """How the files of sources are read, if not in the usual way.

    Attributes:
        paragraphs: whether the rows of a text file are its paragraphs instead of its lines.
        documents: whether every file of text is one document, whose white space is kept.
        delimiter: the character between the cells of CSV; empty if it is found from the header.
    """

    paragraphs: bool = False
    documents: bool = False
    delimiter: str = ""


USUAL = Reading()


@dataclass(frozen=True)
class Source:
    """One source of sentences: its dataset's name, the kind of its format, and its files or its hub dataset.

    Attributes:
        options: entries of the part of every piece.
    """

    spec: str
    dataset: str
    kind: str
    files: tuple[str, ...]
    hub: HubSpec | None = None
    options: Part = field(default_factory=dict)


@dataclass(frozen=True)
class Piece:
    """The part of a source that one worker reads at a time: a file, a part of a file, a package, or a hub shard.

    Attributes:
        dataset: name of the source's dataset.
        kind: the kind of the source.
        file: the file, the package, or the dataset's id on the hub.
        name: the piece's name in `doc_id`.
        index: the piece's index in its source, counted from 0.
        part: the part of the file, in values that JSON can store and that only the format interprets; empty for the
            complete file.
        documents: the prefix of every `doc_id`; not empty if several sources have the same dataset name.
    """

    dataset: str
    kind: str
    file: str
    name: str
    index: int
    part: Part = field(default_factory=dict)
    documents: str = ""


@dataclass(frozen=True, kw_only=True)
class SourceFormat(ABC):
    """A format of sources: of files, or of another origin of text.

    Attributes:
        kind: the format's name, which is part of a source's fingerprint.
        told_by: the basis of a source's length, in the words that --dry-run prints.
        suffixes: the suffixes of the format's files, in lower case, the usual one first; empty if it has no files.
        compressible: whether the files may be compressed.
    """

    kind: str
    told_by: str
    suffixes: tuple[str, ...] = ()
    compressible: bool = False

    def options(self, reading: Reading, files: Sequence[str]) -> Part:
        """Return the options of a source with these files, which its readers take as keywords."""
        return {}

    @abstractmethod
    def check(self, source: Source, text_column: str) -> None:
        """Refuse a source that cannot be read, as far as this is known before reading it.

        Raises:
            InputError: the source cannot be read; the message names the problem.
        """

    @abstractmethod
    def identity(self, source: Source) -> Iterable[str]:
        """Return the lines from which a source's fingerprint is computed."""

    @abstractmethod
    def columns(self, source: Source, text_column: str) -> Iterable[list[str] | None]:
        """Return the metadata columns of each of a source's files; None if they are known only after reading."""

    @abstractmethod
    def split(self, source: Source, range_bytes: int) -> Iterable[tuple[str, str, Part]]:
        """Return the file, the name and the part of each piece of a source, in order.

        Args:
            source: the source that is read.
            range_bytes: approximate maximum number of bytes of text in a piece of a file that can be divided.
        """

    @abstractmethod
    def read(self, piece: Piece, text_column: str, on_error: OnError) -> Iterator[Row | Broken]:
        """Return the rows of a piece in their order."""

    @abstractmethod
    def extent(self, piece: Piece) -> float | None:
        """Return the length of a piece, in the format's unit; None if it is unknown."""

    @abstractmethod
    def extent_of(self, piece: Piece, rows: Sequence[Row | Broken]) -> float:
        """Return the length of a piece's first rows, in the same unit as `extent`."""
