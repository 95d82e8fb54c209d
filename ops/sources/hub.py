"""Datasets of the Hugging Face hub, streamed with `datasets`, as a format of sources; each shard is a piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types

from ops.errors import InputError, one_line
from ops.sources.arrow_rows import (
    check_schema,
    is_string,
    named_labels,
    read_columns,
    rows_until_damage,
    scalars,
    texts,
)
from ops.sources.hub_spec import HubSpec, commit_of, open_splits
from ops.sources.presets import PRESETS, Column, Preset
from ops.sources.rows import OnError
from ops.sources.source import Part, Piece, Source, SourceFile
from ops.sources.source_format import Rows, SourceFormat

if TYPE_CHECKING:
    from datasets import Features, IterableDataset  # type: ignore[import-untyped]

_BATCH_ROWS = 256


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
    columns = {"text": table[preset.text].combine_chunks()}
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
    return named_labels(table[name].combine_chunks(), getattr((features or {}).get(name), "names", None))


def _preset_values(table: pa.Table, features: Features | None, column: Column) -> list[str | None]:
    values = _column(table, features, column.name)
    if types.is_list(values.type) or types.is_large_list(values.type):
        entries = [entry[0] if entry else None for entry in values.to_pylist()]
        values = pa.array(entries, values.type.value_type)
    found = texts(values) if is_string(values.type) else scalars(values)
    stripped = [None if value is None else value.strip(column.strip + " \t\r\n") for value in found]
    return [(column.values.get(value) if column.values else value) if value else None for value in stripped]


def _is_damage(error: Exception) -> bool:
    """Return whether an error means damaged data, not a broken connection.

    pyarrow reports damaged bytes as an OSError without errno.
    """
    bare = type(error) is OSError and error.errno is None
    return bare or isinstance(error, ValueError | TypeError | KeyError | pa.ArrowException)


class _Hub(SourceFormat):
    def check(self, source: Source, text_column: str) -> None:
        hub = _spec(source)
        for stream in open_splits(hub, commit_of(hub)).values():
            check_columns(hub, column_types(hub, stream), text_column)

    def identity(self, source: Source) -> list[str]:
        """Return one line with the dataset, its commit and, for a preset, the use of its columns."""
        hub = _spec(source)
        return [f"{hub.hub} {commit_of(hub)} {hub.config} {hub.split} {PRESETS.get(hub.preset)}"]

    def columns(self, source: Source, text_column: str) -> list[None]:
        """Return None, because the columns of a hub dataset are converted and known only after reading."""
        return [None]

    def split(self, source: Source) -> Iterator[tuple[str, str, Part]]:
        hub = _spec(source)
        commit = commit_of(hub)
        for split, stream in open_splits(hub, commit).items():
            place = {"preset": hub.preset, "revision": commit, "config": hub.config, "split": split}
            for shard in range(stream.num_shards):
                yield hub.hub, f"{hub.name}:{split}:{shard}", {**place, "shard": shard, "shards": stream.num_shards}

    def read(self, piece: Piece, text_column: str, on_error: OnError) -> Rows:
        """Yield the rows of a shard; `doc_id` is read from its column, or is `name:row` counted from 0.

        A preset names its own columns. Otherwise every scalar column but the text is metadata, and class labels become
        their names. The rest of a shard that cannot be decoded is one `broken` row. A connection that breaks is an
        OSError.
        """
        hub, shard, shards = _spec_of_piece(piece), piece.part["shard"], piece.part["shards"]
        stream = open_splits(hub, hub.revision)[hub.split].shard(num_shards=shards, index=shard)
        preset, features = PRESETS.get(hub.preset), stream.features
        file = SourceFile(hub.shown, "text" if preset else text_column, on_error, piece.name)
        batches = (
            preset_batch(table, features, preset) if preset else plain_batch(table, features, text_column)
            for table in stream.with_format("arrow").iter(batch_size=_BATCH_ROWS)
        )
        yield from rows_until_damage(file, batches, _is_damage, f"{hub.split}, shard {shard} of {shards}, ")

    def extent(self, piece: Piece) -> float | None:
        """Return the approximate number of rows of a shard; None if the hub does not report it."""
        hub = _spec_of_piece(piece)
        split = (open_splits(hub, hub.revision)[hub.split].info.splits or {}).get(hub.split)
        return split.num_examples / piece.part["shards"] if split is not None and split.num_examples else None


def _spec(source: Source) -> HubSpec:
    if source.hub is None:
        raise ValueError(f"{source.spec} names no dataset of the hub")
    return source.hub


def _spec_of_piece(piece: Piece) -> HubSpec:
    return HubSpec(piece.file, **{name: piece.part[name] for name in ("revision", "config", "split", "preset")})


HUB = _Hub(kind="hub")
