"""What the rest of the code needs from a format of sources, and the bases of formats of files and of text files."""

import codecs
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from urllib.parse import unquote

from ops.errors import InputError
from ops.sources.chat import records_in, text_or_chat
from ops.sources.file_names import compression, folder_keys
from ops.sources.lines import BrokenStream, expansion, read_head, read_lines
from ops.sources.rows import Broken, OnError, Row, values_of
from ops.sources.source import Part, Piece, Reading, Source, SourceFile
from ops.storage.side_by_side import side_by_side
from ops.storage.streams import BLOCK, file_size, read_blocks

_HASHED_AT_A_TIME = 8  # files
# The minimum number of pieces of a source, provided that each has at least LEAST_BYTES of text (about 3 s of a core).
FEWEST, LEAST_BYTES = 32, 1 << 21
RANGE_BYTES = 1 << 24  # about 125,000 short rows: many more pieces than workers, so that all workers finish together
_CHECKED_ROWS = 200
_HEAD = 4_096  # bytes from which an encoding is recognised
Rows = Iterator[Row | Broken]


@dataclass(frozen=True, kw_only=True)
class SourceFormat(ABC):
    """A format of sources: of files, or of another origin of text.

    Attributes:
        kind: the format's name, which is part of a source's fingerprint.
    """

    kind: str

    def options(self, reading: Reading, files: Sequence[str]) -> Part:
        """Return the options of a source with these files, which its readers take as keywords."""
        return {}

    @abstractmethod
    def check(self, source: Source, text_column: str) -> None:
        """Refuse a source that cannot be read, after reading only the beginning or the footer of each file.

        Raises:
            InputError: a file cannot be opened, is not UTF-8 or has no text column; a package is not installed; or the
                hub cannot be reached.
        """

    @abstractmethod
    def identity(self, source: Source) -> Iterable[str]:
        """Return the lines from which a source's fingerprint is computed."""

    @abstractmethod
    def columns(self, source: Source, text_column: str) -> Iterable[list[str] | None]:
        """Return the metadata columns of each of a source's files; None if they are known only after reading."""

    @abstractmethod
    def split(self, source: Source) -> Iterable[tuple[str, str, Part]]:
        """Return the file, the name and the part of each piece of a source, in order."""

    @abstractmethod
    def read(self, piece: Piece, text_column: str, on_error: OnError) -> Rows:
        """Return the rows of a piece in their order."""

    @abstractmethod
    def extent(self, piece: Piece) -> float | None:
        """Return the length of a piece, in the format's unit; None if it is unknown before reading.

        Raises:
            InputError: the piece cannot be opened.
        """

    def extent_of(self, piece: Piece, rows: Sequence[Row | Broken]) -> float:
        """Return the length of a piece's first rows, in the same unit as `extent`: by default their number."""
        return float(records_in(rows))


@dataclass(frozen=True, kw_only=True)
class FileFormat(SourceFormat):
    """A format of files, each with a name, contents and pieces.

    Attributes:
        reader: returns the rows of a file. Its arguments are a `SourceFile` and the entries of a piece's `part` as
            keywords.
    """

    reader: Callable[..., Rows]

    @abstractmethod
    def file_columns(self, path: str, text_column: str, options: Part) -> list[str] | None:
        """Return the columns of a file, including the text column; None if each row may have different columns."""

    def check_file(self, path: str, text_column: str, options: Part) -> None:
        """Refuse a file that cannot be read, after reading only its beginning or its footer."""
        self.file_columns(path, text_column, options)

    def split_file(self, path: str, fewest: int) -> list[Part]:
        """Return the parts of a file, each of `piece_bytes` bytes for one worker; an empty part is the whole file."""
        return [{}]

    def check(self, source: Source, text_column: str) -> None:
        """Refuse a source if one of its files cannot be read."""
        for _ in side_by_side(lambda path: self.check_file(path, text_column, source.options), source.files):
            pass

    def identity(self, source: Source) -> Iterator[str]:
        """Return the digest, the name and the keys of the folders of each file."""
        names = named_files(source.files)
        contents = side_by_side(_file_digest, source.files, _HASHED_AT_A_TIME)
        for path, content, name in zip(source.files, contents, names, strict=True):
            yield " ".join([content, name, *(f"{key}={value}" for key, value in folder_keys(path).items())])

    def columns(self, source: Source, text_column: str) -> Iterator[list[str] | None]:
        """Return the columns of each file other than the text and `doc_id`, and the keys of its folders."""
        for path in source.files:
            columns = self.file_columns(path, text_column, source.options)
            if columns is not None:
                taken = text_or_chat(columns, text_column), "doc_id"
                named = dict.fromkeys([*columns, *_folder_meta(path, text_column)])
                columns = [name for name in named if name not in taken]
            yield columns

    def split(self, source: Source) -> Iterator[tuple[str, str, Part]]:
        """Return the parts of each file."""
        fewest = -(-FEWEST // len(source.files))
        parts_of_files = side_by_side(lambda path: self.split_file(path, fewest), source.files)
        for path, name, parts in zip(source.files, named_files(source.files), parts_of_files, strict=True):
            yield from ((path, name, {**source.options, **part}) for part in parts)

    def read(self, piece: Piece, text_column: str, on_error: OnError) -> Rows:
        """Return the rows of a file, or of a part of it; a row's own values precede those of its folders."""
        keys = _folder_meta(piece.file, text_column)
        file = SourceFile(piece.file, text_column, on_error, piece.name, keys.pop("doc_id", ""))
        rows = self.reader(file, **piece.part)
        return (r._replace(meta={**keys, **r.meta}) if isinstance(r, Row) else r for r in rows) if keys else rows


@dataclass(frozen=True, kw_only=True)
class TextFormat(FileFormat):
    """A format of text files, which may be compressed; their length is measured in bytes.

    Attributes:
        in_ranges: whether every line is a row, so that large files are read in ranges; the reader then takes
            `first_byte`, `stop_byte` and `first_row`.
        around: about how many bytes surround each value, if rows do not consist of lines; None if they do.
    """

    in_ranges: bool = False
    around: int | None = None

    def lines_of(self, rows: Sequence[Row | Broken]) -> int:
        """Return the number of lines of the first rows of a file."""
        return records_in(rows)

    def check_file(self, path: str, text_column: str, options: Part) -> None:
        """Refuse a file whose encoding uses several bytes for every letter, or whose first rows the reader refuses."""
        encoding = wide_encoding(read_head(path, _HEAD))
        if encoding:
            raise InputError(f"{path}: the text is {encoding}, expected UTF-8; convert it, as with iconv")
        for _ in islice(self.reader(SourceFile(path, text_column, "reject"), **options), _CHECKED_ROWS):
            pass

    def file_columns(self, path: str, text_column: str, options: Part) -> list[str] | None:
        """Return None, because each row may have different columns."""
        return None

    def split_file(self, path: str, fewest: int) -> list[Part]:
        """Divide a large uncompressed file into ranges of lines."""
        if not self.in_ranges or compression(path):
            return [{}]
        size = file_size(path)
        each = piece_bytes(size, fewest)
        if size < 2 * each:
            return [{}]
        return line_ranges(path, each)

    def extent(self, piece: Piece) -> float:
        """Return the number of decompressed bytes of a piece, estimated for a compressed file."""
        first, stop = piece.part.get("first_byte", 0), piece.part.get("stop_byte")
        return float(stop - first) if stop is not None else (file_size(piece.file) - first) * expansion(piece.file)

    def extent_of(self, piece: Piece, rows: Sequence[Row | Broken]) -> float:
        """Return the number of bytes of these rows, of which the last may be the rest after damage."""
        if self.around is not None:
            folders = folder_keys(piece.file)  # their values are in every row, but not in the file
            return float(sum(len(value.encode()) + self.around for row in rows for value in values_of(row, folders)))
        size = 0
        with suppress(BrokenStream):
            for line in islice(read_lines(piece.file, piece.part.get("first_byte", 0)), self.lines_of(rows)):
                size += len(line)
        return float(size)


def piece_bytes(size: int, fewest: int) -> int:
    """Return the size in bytes of a file's pieces; it depends on the file's size but not on the number of workers.

    Args:
        size: number of bytes of the complete file's text.
        fewest: minimum number of pieces of the file, provided that each has at least `LEAST_BYTES`.

    >>> [piece_bytes(size << 20, 32) >> 20 for size in (1, 59, 128, 10_000)]
    [2, 2, 4, 16]
    """
    return min(RANGE_BYTES, max(size // fewest, LEAST_BYTES))


def named_files(files: Sequence[str]) -> list[str]:
    """Return the path of each file relative to the folder that all files share.

    >>> named_files(["/in/a/1.txt", "/in/b/1.txt"])
    ['a/1.txt', 'b/1.txt']
    """
    paths = [file.replace(os.sep, "/").split("/") for file in files]
    steps = zip(*(path[:-1] for path in paths), strict=False)
    shared = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, steps))
    names = ("/".join(path[shared:]) for path in paths)
    return [unquote(n.partition("?")[0]) if "://" in file else n for n, file in zip(names, files, strict=True)]


def _folder_meta(path: str, text_column: str) -> dict[str, str]:
    return {key: value for key, value in folder_keys(path).items() if key != text_column}


def _file_digest(path: str) -> str:
    digest = hashlib.sha256()
    for block in read_blocks(path):
        digest.update(block)
    return digest.hexdigest()


def wide_encoding(head: bytes) -> str:
    """Return UTF-16 or UTF-32 if the beginning of a text shows this encoding; empty for another encoding.

    >>> wide_encoding("Grüße".encode("utf-16")), wide_encoding(b"plain")
    ('UTF-16', '')
    """
    # Without a byte-order mark: in these encodings most letters of most languages contain a zero byte, which text in
    # other encodings never contains.
    zeros = head.count(0) / max(len(head), 1)
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)) or zeros > 0.6:
        return "UTF-32"
    return "UTF-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or zeros > 0.2 else ""


def line_ranges(path: str, range_bytes: int, block_bytes: int = BLOCK) -> list[Part]:
    """Divide an uncompressed file into ranges of about `range_bytes` bytes that end at line ends.

    In plain text and JSON Lines every line end separates rows, because neither format quotes line ends. A cell of CSV
    may contain a quoted line end, so a CSV file cannot be divided without reading everything before the cut.

    Args:
        path: the file.
        range_bytes: approximate number of bytes of a range.
        block_bytes: number of bytes that are read at a time.

    Returns:
        For each range `first_byte`, `stop_byte` (the byte after its last byte; None for the end of the file) and
        `first_row` (the number of lines before it).

    Raises:
        InputError: the file cannot be opened.
    """
    cuts, lines, offset = [(0, 0)], 0, 0
    for block in read_blocks(path, block_bytes):
        counted = 0
        while end := block.find(b"\n", max(cuts[-1][0] + range_bytes - 1 - offset, 0)) + 1:
            lines += block.count(b"\n", counted, end)
            cuts.append((offset + end, lines))
            counted = end
        lines += block.count(b"\n", counted)
        offset += len(block)
    if len(cuts) > 1 and cuts[-1][0] == offset:
        cuts.pop()
    stops = [*(first for first, _ in cuts[1:]), None]
    return [
        {"first_byte": first, "stop_byte": stop, "first_row": row}
        for (first, row), stop in zip(cuts, stops, strict=True)
    ]
