"""What is read: a source, its pieces, a file, and the options of reading.

This module imports nothing heavy, because `--help` needs the options and must be fast.
"""

import os
from dataclasses import dataclass, field
from typing import Any

from ops.errors import InputError
from ops.sources.rows import Broken, OnError, excerpt

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
class HubSpec:
    """A dataset on the hub as a source names it, with its revision, configuration and split if they are not empty."""

    hub: str
    revision: str = ""
    config: str = ""
    split: str = ""
    preset: str = ""

    @property
    def name(self) -> str:
        """The preset's name, or the dataset's name without its owner."""
        return self.preset or self.hub.rpartition("/")[2]

    @property
    def shown(self) -> str:
        """The spec as a user writes it."""
        return self.preset or ":".join(["hf", self.hub, self.config, self.split]).rstrip(":")


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


@dataclass(frozen=True)
class SourceFile:
    """A file (or shard) as its reader takes it.

    Attributes:
        path: the file, as error messages name it.
        text_column: the column or key of the text; a format without columns does not use it.
        on_error: under `fail`, damage is an `InputError`; under `reject`, it is a `broken` row.
        name: the file's name in `doc_id`; by default its own name.
        given: the `doc_id` of every row without one, where a folder `doc_id=...` gives it.
    """

    path: str
    text_column: str = "text"
    on_error: OnError = "fail"
    name: str = ""
    given: str = ""

    @property
    def document(self) -> str:
        """The `doc_id` of the complete file."""
        return self.given or self.name or os.path.basename(self.path)

    def doc_id(self, number: int) -> str:
        """Return the `doc_id` of a row without one, or of a block of rows, counted from 0."""
        return self.given or f"{self.document}:{number}"

    def broken(self, place: str, damage: str, doc_id: str, text: str = "") -> Broken:
        """Return the record of a row whose structure is broken under `reject`, or raise an error under `fail`.

        Args:
            place: the place in the file.
            damage: a description of the damage.
            doc_id: the row's `doc_id`.
            text: the part of the row's text that could be read.

        Raises:
            InputError: under `fail`; the message names the place.
        """
        if self.on_error == "fail":
            raise InputError(f"{self.path}: {place}: {damage}; repair the file, or continue with --on-error reject")
        return Broken(excerpt(text), doc_id, "broken")
