"""The columns of metadata that a source can have, as far as its files say before they are read."""

from collections.abc import Iterable, Iterator

from ops.sources.arrow_rows import read_columns
from ops.sources.csv import read_header
from ops.sources.docstrings.packages import META
from ops.sources.parquet import open_parquet
from ops.sources.spec import Source


def missing_column(sources: Iterable[Source], column: str, text_column: str = "text") -> list[str] | None:
    """Return the columns that sources can have instead of one that none has; None where one has it, or may have it.

    Every line of a .jsonl file may have keys of its own, and of a dataset of the hub columns become others: whether
    these have the column is known once they are read.

    Args:
        sources: all that are to be read; only the beginnings of their files are.
        column: the column that is looked for.
        text_column: the one that holds the text.

    Raises:
        InputError: as the files' readers raise it.
    """
    found: dict[str, None] = {}
    for columns in (columns for source in sources for columns in _of_files(source, text_column)):
        if columns is None or column in columns:
            return None
        found |= dict.fromkeys(columns)
    return list(found)


def _of_files(source: Source, text_column: str) -> Iterator[list[str] | None]:
    """Return the columns of metadata of a source's files, one file after another; None where they are not known."""
    if source.kind == "pydocs":
        yield list(META)
    elif source.hub is not None or source.kind == "jsonl":
        yield None
    for path in source.files if source.kind in ("csv", "parquet") else ():
        if source.kind == "csv":
            columns = read_header(path, text_column)
        else:
            file, _ = open_parquet(path, text_column)
            with file:
                columns = read_columns(file.schema_arrow, text_column)
        yield [name for name in columns if name not in (text_column, "doc_id")]
