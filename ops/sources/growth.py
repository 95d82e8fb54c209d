"""Detection of compressed files with almost no usable text, which would take hours to unpack, only to be rejected."""

from ops.errors import InputError, counted
from ops.sources.file_names import compression
from ops.sources.pieces import format_of
from ops.sources.source import Piece
from ops.sources.source_format import TextFormat
from ops.storage.streams import file_size

MOST_GROWTH = 50  # maximum growth, as a multiple of a compressed file's size; text grows 2 to 20 times
LEAST_CHARACTERS = 1 << 21
MOST_ROWS = 1_000_000
# One usable sentence in this many rows does not count, because a decompression bomb may begin with a good line.
ROWS_OF_A_SENTENCE = 100_000


class Growth:
    """Stops reading a compressed file that has grown past a bound with almost no usable sentence.

    Args:
        piece: the file, or a part of it or of another source.
    """

    def __init__(self, piece: Piece) -> None:
        self.file = piece.file
        is_compressed = isinstance(format_of(piece.kind), TextFormat) and compression(piece.file)
        self.bound = max(MOST_GROWTH * file_size(piece.file), LEAST_CHARACTERS) if is_compressed else None

    def check(self, rows: int, characters: int, sentences: int) -> None:
        """Check the counts so far; nothing happens as long as there are enough sentences, or little was read.

        Raises:
            InputError: the file is past its bound, with at most one usable sentence in 100,000 rows.
        """
        if self.bound is None or sentences * ROWS_OF_A_SENTENCE > rows:
            return
        if characters > self.bound or rows > MOST_ROWS:
            few = counted(sentences, "sentence") if sentences else "no sentence"
            raise InputError(
                f"{self.file}: gave {few} that can be used in {rows:,} rows of {characters:,} characters (a "
                f"compressed file is given up at {MOST_GROWTH} times its size, or {MOST_ROWS:,} rows); check the "
                "file, or leave it out"
            )
