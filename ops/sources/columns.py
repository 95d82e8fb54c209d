"""The check of a table's columns, which all formats with columns share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ops.errors import InputError


def require_columns(path: str, columns: Sequence[str], text_column: str, delimiter: str = "") -> None:
    """Refuse columns that lack the text column or contain a name more than once.

    Args:
        path: the source that the user named, for the error message.
        columns: the names of all columns.
        text_column: the name of the column that contains the text.
        delimiter: the character by which the columns of a text were separated, for the error message; may be empty.

    Raises:
        InputError: the text column is missing, or a name occurs more than once; the message names the column.
    """
    twice = [column for column, count in Counter(columns).items() if count > 1]
    if twice:
        raise InputError(f"{path}: the column {twice[0]!r} occurs {columns.count(twice[0])} times; rename all but one")
    if text_column not in columns:
        found = ", ".join(repr(column) for column in columns[:20]) + (", ..." if len(columns) > 20 else "")
        how = f" (between {delimiter!r}; --delimiter names another)" if delimiter else ""
        raise InputError(
            f"{path}: no column {text_column!r}; it has {found or 'none'}{how}; name the text column with --text-column"
        )
