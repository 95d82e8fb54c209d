"""Files that tests write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ops.sources.pieces import pieces
from ops.sources.rows import OnError
from ops.sources.source import Piece, Source, SourceFile
from ops.sources.source_format import Rows


def write(path: Path, content: str | bytes = "text\na\n") -> str:
    """Write a file, with the folders above it, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def read(
    reader: Callable[..., Rows],
    path: str,
    *,
    text_column: str = "text",
    on_error: OnError = "fail",
    name: str = "",
    **part: Any,
) -> Rows:
    """Return the rows that a reader finds in a file."""
    return reader(SourceFile(path, text_column, on_error, name), **part)


def pieces_of(source: Source, range_bytes: int) -> list[Piece]:
    """Return the pieces of a source, each of about this size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ops.sources.source_format.RANGE_BYTES", range_bytes)
        return pieces(source)
