"""Reading of files of text, one row per line, per paragraph or per file, and the recognition of hard line breaks."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ops.sources.lines import BrokenStream, decode_line, read_head, read_lines, read_text
from ops.sources.rows import to_row
from ops.sources.source import Part, Reading, Source, SourceFile
from ops.sources.source_format import Rows, TextFormat

FILES = 20  # from this number of files on, a file is the document of its paragraphs
BLOCK = 40  # paragraphs of a document where there are fewer files
_MOST_CHARACTERS = 1 << 20  # a longer paragraph or document is cut at a line end, so that memory does not grow with it
_HEAD = 1 << 16  # bytes of a file from which hard line breaks are recognised
_PAIRS = 20  # of neighbouring lines, the minimum
_WIDEST, _BAND, _CONTINUED = 120, 5, 0.4  # characters; a fifth of a line; share of lines


def read_txt(file: SourceFile, first_byte: int = 0, stop_byte: int | None = None, first_row: int = 0) -> Rows:
    """Yield every line of a text file as a separate document, with `doc_id` = `name:line` counted from 0.

    Args:
        file: the file; a line that is not UTF-8 is `invalid_text`, and the rest after damaged compression is `broken`.
        first_byte, stop_byte: the range of the file that is read, as `read_lines` takes it.
        first_row: number of lines of the file before the range.

    Raises:
        InputError: the file cannot be opened; or, under `fail`, the rest of the file cannot be read.
    """
    number = first_row
    try:
        for line in read_lines(file.path, first_byte, stop_byte):
            yield to_row(decode_line(line).rstrip("\r\n"), file.doc_id(number), {})
            number += 1
    except BrokenStream as error:
        yield file.broken(f"after line {number}", str(error), file.doc_id(number))


def read_paragraphs(file: SourceFile, of_file: bool = False) -> Rows:
    """Yield the paragraphs of a text file, which blank lines separate; their line ends become spaces.

    Args:
        file: the file, read as by `read_txt`.
        of_file: whether `doc_id` is `name`; otherwise it is `name:block` with blocks of 40 paragraphs counted from 0.

    Raises:
        InputError: the file cannot be opened; or, under `fail`, the rest of the file cannot be read.
    """
    number = 0

    def doc_id() -> str:
        return file.document if of_file else file.doc_id(number // BLOCK)

    try:
        for text in _paragraphs(file.path):
            yield to_row(text, doc_id(), {})
            number += 1
    except BrokenStream as error:
        yield file.broken(f"after paragraph {number}", str(error), doc_id())


def _paragraphs(path: str) -> Iterator[str]:
    lines: list[str] = []
    characters, damage = 0, None
    try:
        for raw in read_lines(path):
            line = decode_line(raw).strip()
            if lines and (not line or characters > _MOST_CHARACTERS):
                yield " ".join(lines)
                lines, characters = [], 0
            if line:
                lines.append(line)
                characters += len(line)
    except BrokenStream as error:
        damage = error
    if lines:
        yield " ".join(lines)
    if damage is not None:
        raise damage


def read_document(file: SourceFile) -> Rows:
    """Yield the text of a file as it is, with `doc_id` = `name`; a text of over a million characters is several rows.

    Args:
        file: the file, read as by `read_txt`.

    Raises:
        InputError: the file cannot be opened; or, under `fail`, the rest of the file cannot be read.
    """
    name, text = file.document, ""
    try:
        for block in read_text(file.path):
            text += block
            while len(text) > _MOST_CHARACTERS:
                cut = text.rfind("\n", 0, _MOST_CHARACTERS) + 1 or _MOST_CHARACTERS
                yield to_row(text[:cut], name, {})
                text = text[cut:]
    except BrokenStream as error:
        yield to_row(text, name, {})
        yield file.broken("at its end", str(error), name)
    else:
        if text:
            yield to_row(text, name, {})


def hard_broken(source: Source) -> bool:
    """Return whether the lines of a source's first file look as if they were broken within sentences."""
    return source.kind == "txt" and has_hard_breaks(read_head(source.files[0], _HEAD).decode("utf-8", "ignore"))


def has_hard_breaks(text: str) -> bool:
    r"""Return whether most lines of a text end within a narrow band of length and go on in lower case in the next line.

    >>> has_hard_breaks("He walked along the river until the\nsun was low and the first lamps were\n" * 15)
    True
    """
    pairs = [(a, b) for a, b in pairwise(map(str.strip, text.splitlines())) if a and b]
    if len(pairs) < _PAIRS:
        return False
    longest = sorted(len(a) for a, _ in pairs)[int(len(pairs) * 0.9)]
    if longest > _WIDEST:
        return False
    full = [b for a, b in pairs if longest - longest // _BAND <= len(a) <= longest + longest // (4 * _BAND)]
    return 2 * len(full) > len(pairs) and sum(b[0].islower() for b in full) > _CONTINUED * len(full)


class _Text(TextFormat):
    def file_columns(self, path: str, text_column: str, options: Part) -> list[str]:
        return []


class _Paragraphs(_Text):
    def options(self, reading: Reading, files: Sequence[str]) -> Part:
        return {"of_file": len(files) >= FILES}


class _Documents(_Text):
    def check_file(self, path: str, text_column: str, options: Part) -> None:
        """Refuse a file that cannot be opened. One that is not text is a reject, because a glob may match some."""
        read_head(path, 1)


TXT = _Text(kind="txt", reader=read_txt, in_ranges=True)
PARAGRAPHS = _Paragraphs(kind="paragraphs", reader=read_paragraphs, around=len("\n\n"))
DOCUMENTS = _Documents(kind="document", reader=read_document, around=0)
