"""The rows of an Arrow batch."""

from __future__ import annotations

import pyarrow as pa

from ops.sources.arrow_text import is_bytes, scalars, texts
from ops.sources.rows import Broken, Row, printable, to_row


def batch_rows(batch: pa.RecordBatch, text_column: str, name: str, first: int) -> list[Row | Broken]:
    """The rows of a batch of a column of text and scalar columns, which are metadata without their nulls.

    `doc_id` is the column of that name, or `name:row` where it is null or not there, the rows counted from
    `first`.
    """
    numbers = range(first, first + batch.num_rows)
    values = {field.name: batch.column(place) for place, field in enumerate(batch.schema)}
    text = texts(values.pop(text_column))
    own: list[str | None] = [None] * batch.num_rows
    if "doc_id" in values:
        column = values.pop("doc_id")
        own = texts(column) if is_bytes(column.type) else scalars(column)
    meta: list[dict[str, str]] = [{} for _ in numbers]
    for key, column in values.items():
        for record, value in zip(meta, scalars(column), strict=True):
            if value is not None:
                record[printable(key)] = value
    ids = [
        f"{name}:{number}" if given is None else printable(given) for given, number in zip(own, numbers, strict=True)
    ]
    return [to_row(*row) for row in zip(text, ids, meta, strict=True)]
