"""Reading of rows from one shard of a dataset on the Hugging Face hub, streamed with `datasets`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types

from ops.errors import InputError, one_line
from ops.sources.arrow_rows import batch_rows, check_schema, is_string, named_labels, read_columns, scalars, texts
from ops.sources.hub_spec import HubSpec, open_splits
from ops.sources.presets import PRESETS, Column, Preset
from ops.sources.rows import Broken, OnError, Row, broken

if TYPE_CHECKING:
    from datasets import Features, IterableDataset  # type: ignore[import-untyped]

_BATCH_ROWS = 256


def read_hub(
    spec: HubSpec,
    commit: str,
    split: str,
    shard: int,
    shards: int,
    *,
    text_column: str = "text",
    on_error: OnError = "fail",
    name: str,
) -> Iterator[Row | Broken]:
    """Yield the rows of one shard in order; `doc_id` is read from its column, or is `name:row` counted from 0.

    Args:
        spec: the dataset.
        commit: the commit of the dataset.
        split: the split that the shard belongs to.
        shard, shards: the index of the shard, counted from 0, and the number of shards of the split.
        text_column: the column of the text. Every other scalar column is metadata, and class labels become their names.
            A preset names its own columns.
        on_error: under `reject`, the rest of a shard that cannot be decoded is one `broken` row.
        name: the shard's name in `doc_id`.

    Raises:
        InputError: under `fail`, the data cannot be decoded.
        OSError: the connection breaks.
    """
    stream = open_splits(spec, commit)[split].shard(num_shards=shards, index=shard)
    preset = PRESETS.get(spec.preset)
    features = stream.features
    row = 0
    tables = iter(stream.with_format("arrow").iter(batch_size=_BATCH_ROWS))
    while True:
        try:
            table = next(tables, None)
            if table is None:
                return
            batch = preset_batch(table, features, preset) if preset else plain_batch(table, features, text_column)
        except Exception as error:
            if not _is_damage(error):
                raise
            place = f"{split}, shard {shard} of {shards}, after row {row}"
            yield broken(spec.shown, place, one_line(error), f"{name}:{row}", "", on_error)
            return
        yield from batch_rows(batch, "text" if preset else text_column, name, row)
        row += batch.num_rows


def column_types(spec: HubSpec, stream: IterableDataset) -> dict[str, pa.DataType]:
    """Return the columns of a split and their types, read from its first row if the dataset does not declare them.

    Raises:
        InputError: the first row cannot be read.
    """
    if stream.features is not None:
        return {field.name: field.type for field in stream.features.arrow_schema}
    try:
        table = next(iter(stream.with_format("arrow").iter(batch_size=1)), pa.table({}))
    except Exception as error:
        raise InputError(f"--corpus {spec.shown}: cannot be read ({one_line(error)}); check its files") from error
    return {field.name: field.type for field in table.schema}


def check_columns(spec: HubSpec, columns: dict[str, pa.DataType], text_column: str) -> None:
    """Refuse columns that lack the text column or another column that a preset reads.

    Raises:
        InputError: a column is missing or occurs twice, or the text column does not contain text.
    """
    preset = PRESETS.get(spec.preset)
    shown = f"--corpus {spec.shown}"
    if preset is not None:
        text_column = preset.text
        wanted = [column.name for column in (preset.doc_id, *preset.meta.values()) if column]
        missing = [column for column in wanted if column not in columns]
        if missing:
            raise InputError(f"{shown}: {spec.hub} has no column {missing[0]!r}, only {', '.join(columns)}")
    check_schema(shown, pa.schema(list(columns.items())), text_column)


def preset_batch(table: pa.Table, features: Features | None, preset: Preset) -> pa.RecordBatch:
    """Return the columns `text`, `doc_id` and metadata that a preset makes from a table's columns."""
    columns = {"text": _one_array(table[preset.text])}
    if preset.doc_id is not None:
        columns["doc_id"] = pa.array(_preset_values(table, features, preset.doc_id), pa.string())
    for key, column in preset.meta.items():
        columns[key] = pa.array(_preset_values(table, features, column), pa.string())
    return pa.RecordBatch.from_pydict(columns)


def plain_batch(table: pa.Table, features: Features | None, text_column: str) -> pa.RecordBatch:
    """Return a table's text and scalar columns, with class labels as their names; other columns are left out."""
    names = read_columns(table.schema, text_column)
    return pa.RecordBatch.from_pydict({name: _column(table, features, name) for name in names})


def _column(table: pa.Table, features: Features | None, name: str) -> pa.Array:
    """Return a column; class labels are replaced by their names."""
    column = _one_array(table[name])
    return named_labels(column, getattr((features or {}).get(name), "names", None))


def _preset_values(table: pa.Table, features: Features | None, column: Column) -> list[str | None]:
    values = _column(table, features, column.name)
    if types.is_list(values.type) or types.is_large_list(values.type):
        entries = [entry[0] if entry else None for entry in values.to_pylist()]
        values = pa.array(entries, values.type.value_type)
    found = texts(values) if is_string(values.type) else scalars(values)
    stripped = [None if value is None else value.strip(column.strip + " \t\r\n") for value in found]
    return [(column.values.get(value) if column.values else value) if value else None for value in stripped]


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def _is_damage(error: Exception) -> bool:
    """Return whether an error means damaged data, not a broken connection.

    pyarrow reports damaged bytes as an OSError without errno.
    """
    bare = type(error) is OSError and error.errno is None
    return bare or isinstance(error, ValueError | TypeError | KeyError | pa.ArrowException)
