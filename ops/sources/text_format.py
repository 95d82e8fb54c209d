"""The common base of text formats: encoding, compression, and the division of files at line ends."""

import codecs
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from ops.errors import InputError
from ops.sources.chat import records_in
from ops.sources.file_names import compression, folder_keys
from ops.sources.lines import BrokenStream, expansion, read_head, read_lines
from ops.sources.rows import Broken, Row, values_of
from ops.sources.source import Part, Piece, SourceFile
from ops.sources.source_format import FileFormat, piece_bytes
from ops.storage.streams import BLOCK, file_size, read_blocks

_CHECKED_ROWS = 200
_HEAD = 4_096  # bytes from which an encoding is recognised


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
    cuts, lines, place = [(0, 0)], 0, 0
    for block in read_blocks(path, block_bytes):
        counted = 0
        while end := block.find(b"\n", max(cuts[-1][0] + range_bytes - 1 - place, 0)) + 1:
            lines += block.count(b"\n", counted, end)
            cuts.append((place + end, lines))
            counted = end
        lines += block.count(b"\n", counted)
        place += len(block)
    if len(cuts) > 1 and cuts[-1][0] == place:
        cuts.pop()
    stops = [*(first for first, _ in cuts[1:]), None]
    return [
        {"first_byte": first, "stop_byte": stop, "first_row": row}
        for (first, row), stop in zip(cuts, stops, strict=True)
    ]
