"""The record that describes a format of sources: all that the rest of the code asks of it.

Nothing heavy is imported here, nor by a file that defines a format: `--help` lists the formats and answers at once.
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
class Source:
    """One source of sentences: its dataset name, its kind (that of its format), its files or hub."""

    spec: str
    dataset: str
    kind: str
    files: tuple[str, ...]
    hub: HubSpec | None = None


@dataclass(frozen=True)
class Piece:
    """What one worker reads at a time: a file, a part of one, a package, or a shard on the hub.

    Attributes:
        dataset: name of the source's dataset.
        kind: the source's.
        file: the file, the package, or the dataset's id on the hub.
        name: what stands for it in `doc_id`.
        index: the piece's place in its source, from 0.
        part: which part of the file it is, in values that JSON can hold; only its format knows what they mean. Empty:
            all of it.
        documents: what stands before every `doc_id`, where several sources have one dataset's name.
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
    """A format of sources, or another way in which text comes.

    Attributes:
        kind: its name, which a source's fingerprint holds.
        told_by: what tells how long a source is, in the words of --dry-run.
        suffixes: those of its files, in lower case, the usual one first; none where it has no files.
        compressible: whether its files may be compressed.
    """

    kind: str
    told_by: str
    suffixes: tuple[str, ...] = ()
    compressible: bool = False

    @abstractmethod
    def check(self, source: Source, text_column: str) -> None:
        """Refuse a source that cannot be read, as far as shows before it is.

        Raises:
            InputError: naming what is wrong.
        """

    @abstractmethod
    def identity(self, source: Source) -> Iterable[str]:
        """Return the lines that a source's fingerprint is made of."""

    @abstractmethod
    def columns(self, source: Source, text_column: str) -> Iterable[list[str] | None]:
        """Return the columns of metadata of each of a source's files; None where reading alone tells."""

    @abstractmethod
    def split(self, source: Source, range_bytes: int) -> Iterable[tuple[str, str, Part]]:
        """Return the file, the name and the part of each piece of a source, in their order.

        Args:
            source: what is read.
            range_bytes: about so many bytes of text, at the most, make a piece of a file that can be cut.
        """

    @abstractmethod
    def read(self, piece: Piece, text_column: str, on_error: OnError) -> Iterator[Row | Broken]:
        """Return the rows of a piece in their order."""

    @abstractmethod
    def extent(self, piece: Piece) -> float | None:
        """Return how long a piece is, in a unit of the format; None where nothing tells."""

    @abstractmethod
    def extent_of(self, piece: Piece, rows: Sequence[Row | Broken]) -> float:
        """Return how much of a piece its first rows are, in the unit of `extent`."""
