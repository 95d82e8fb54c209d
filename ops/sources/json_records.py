"""Rows from the objects of a JSON file, and the check that they have a text."""

from __future__ import annotations

from ops.sources.chat import text_or_chat, text_rows
from ops.sources.columns import require_columns
from ops.sources.rows import Broken, OnError, Row, broken, printable, scalar_text

# After this many objects without it, the text column counts as missing; keys with null values are often omitted.
_OBJECTS_WITHOUT_TEXT = 100


class JsonRecords:
    """Turns the objects of a file into rows.

    Args:
        path: the file.
        text_column: the key of the text.
        on_error: under `reject`, a value that is not an object is `broken`.
        checks: whether the first 100 objects must have the text column.
    """

    def __init__(self, path: str, text_column: str, on_error: OnError, checks: bool) -> None:
        self.path, self.text_column, self.on_error = path, text_column, on_error
        self.objects = 0
        self.columns: dict[str, None] | None = {} if checks else None

    def rows(self, record: object, doc_id: str, place: str, text: str) -> list[Row | Broken]:
        """Return the rows of a value, which are several if its text is a conversation.

        `doc_id` is the value of the key `doc_id`, or else the given one. Other scalar values are metadata. A null text
        is rejected as `empty`.

        Args:
            record: the value.
            doc_id: the document of an object that names none.
            place: the place in the file.
            text: the value as it is written in the file.

        Raises:
            InputError: none of the first 100 objects has the text column; or, under `fail`, the value is no object.
        """
        if not isinstance(record, dict):
            found = f"a JSON {type(record).__name__}, expected an object"
            return [broken(self.path, place, found, doc_id, text, self.on_error)]
        text_column = text_or_chat(record, self.text_column)
        if self.columns is not None:
            self.objects += 1
            self.columns.update(dict.fromkeys(map(printable, record)))
            if text_column in record:
                self.columns = None
            elif self.objects == _OBJECTS_WITHOUT_TEXT:
                self.finish()
        return _rows(record, text_column, doc_id)

    def finish(self) -> None:
        """Refuse the file if none of its objects so far has the text column.

        Raises:
            InputError: there are objects, and none has it.
        """
        if self.columns is not None and self.objects:
            require_columns(self.path, list(self.columns), self.text_column)


def _rows(record: dict[str, object], text_column: str, doc_id: str) -> list[Row | Broken]:
    text = record.pop(text_column, None)
    own = scalar_text(record.pop("doc_id", None))
    values = {key: scalar_text(value) for key, value in record.items()}
    return text_rows(
        text,
        doc_id if own is None else own,
        {key: value for key, value in values.items() if value is not None},
    )
