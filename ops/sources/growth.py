"""Detection of compressed files with almost no usable text, which would take hours to unpack, only to be rejected."""

from ops.errors import InputError, counted
from ops.sources.file_names import compression
from ops.storage.streams import file_size

MOST_GROWTH = 50  # maximum growth, as a multiple of a compressed file's size; text grows 2 to 20 times
LEAST_CHARACTERS = 1 << 21
MOST_ROWS = 1_000_000
# One usable sentence in this many rows does not count, because a decompression bomb may begin with a good line.
ROWS_OF_A_SENTENCE = 100_000


class Growth:
    """Stops reading a compressed file that has grown past a bound with almost no usable sentence.

    Args:
        file: the file, or another source from which a piece is read.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.bound = max(MOST_GROWTH * file_size(file), LEAST_CHARACTERS) if compression(file) else None

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
