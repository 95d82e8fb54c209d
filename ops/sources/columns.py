"""The check of a table's columns that every format with columns makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ops.errors import InputError


def require_columns(path: str, columns: Sequence[str], text_column: str) -> None:
    """Refuse columns without the text column, or with a name that stands twice.

    Args:
        path: what the user named, for the message.
        columns: the names of all columns.
        text_column: the name of the one that holds the text.

    Raises:
        InputError: naming the column.
    """
    twice = [column for column, count in Counter(columns).items() if count > 1]
    if twice:
        raise InputError(f"{path}: the column {twice[0]!r} occurs {columns.count(twice[0])} times; rename all but one")
    if text_column not in columns:
        found = ", ".join(repr(column) for column in columns[:20]) + (", ..." if len(columns) > 20 else "")
        raise InputError(
            f"{path}: no column {text_column!r}; it has {found or 'none'}; name the text column with --text-column"
        )
