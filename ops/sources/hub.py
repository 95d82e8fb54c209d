"""Datasets of the Hugging Face hub, streamed with `datasets`, as a format of sources; each shard is a piece."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pyarrow as pa
from pyarrow import types

from ops.errors import InputError, StorageError, one_line
from ops.sources.arrow_rows import (
    check_schema,
    is_string,
    named_labels,
    read_columns,
    rows_until_damage,
    scalars,
    texts,
)
from ops.sources.presets import PRESETS, Column, Preset
from ops.sources.rows import OnError
from ops.sources.source import HubSpec, Part, Piece, Source, SourceFile
from ops.sources.source_format import Rows, SourceFormat

if TYPE_CHECKING:
    from datasets import Features, IterableDataset  # type: ignore[import-untyped]

FORM = "hf:ORG/NAME[:CONFIG][:SPLIT]"
_SPEC = re.compile(r"hf:([\w.-]+/[\w.-]+)(?:@([\w./-]+))?(?::([^:]*))?(?::([^:]*))?")
_SECONDS = 8  # maximum time for the hub to answer
# After a broken connection a request is repeated, with a pause in seconds, both to open a dataset and to read it.
TRIES, PAUSE_S = 10, 5
Answer = TypeVar("Answer")
_HELP = "check the name and the connection, or download its files and name them"
_BATCH_ROWS = 256


def parse_hub(spec: str, path: str) -> HubSpec | None:
    """Return the dataset that a value of `--corpus` names as a preset or with `hf:`; None for any other value.

    Args:
        spec: the complete value, for the error message.
        path: the value without `NAME=`; `@REVISION` may follow the dataset's id.

    Raises:
        InputError: the value begins with `hf:` but does not have the form `hf:ORG/NAME[:CONFIG][:SPLIT]`.
    """
    if path in PRESETS:
        return HubSpec(PRESETS[path].hub, PRESETS[path].revision, preset=path)
    if not path.startswith("hf:"):
        return None
    match = _SPEC.fullmatch(path)
    if match is None:
        raise InputError(f"--corpus {spec}: is not of the form {FORM}")
    return HubSpec(*(part or "" for part in match.groups()))


def _patiently(ask: Callable[[], Answer]) -> Answer:
    """Return the hub's answer to a request, which is repeated after a broken connection.

    A hub that cannot be reached at all, or does not answer in time, is not asked again.
    """
    for _ in range(TRIES - 1):
        try:
            return ask()
        except Exception as error:
            if not _is_broken_connection(error):
                raise
            why = one_line(error, 120)
            print(f"the connection to the Hugging Face hub broke ({why}); asks again in {PAUSE_S} s", file=sys.stderr)
            time.sleep(PAUSE_S)
    return ask()


def _is_broken_connection(error: BaseException) -> bool:
    from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]  # the hub's own: httpx or, since 2.4, httpx2

    # `datasets` reports a connection that breaks while it opens a dataset as one of the last two.
    broken = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError, LocalEntryNotFoundError, ConnectionError)
    return isinstance(error, broken) and not isinstance(error, OfflineModeIsEnabled)


@contextmanager
def _opened_by_patiently() -> Iterator[None]:
    """Keep `datasets` from retrying by itself inside the `with`, and let it retry as often as here afterwards."""
    from datasets import config

    for name in ("OPEN", "READ"):
        setattr(config, f"STREAMING_{name}_MAX_RETRIES", 1)
        setattr(config, f"STREAMING_{name}_RETRY_INTERVAL", 0)
    try:
        yield
    finally:
        for name in ("OPEN", "READ"):
            setattr(config, f"STREAMING_{name}_MAX_RETRIES", TRIES)
            setattr(config, f"STREAMING_{name}_RETRY_INTERVAL", PAUSE_S)


@lru_cache
def commit_of(spec: HubSpec) -> str:
    """Return the current commit of the spec's revision, waiting at most 8 seconds for each answer of the hub.

    Raises:
        InputError: the dataset or the revision does not exist, or the hub cannot be reached.
    """
    import huggingface_hub
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    try:
        api, revision = huggingface_hub.HfApi(), spec.revision or None
        info = _patiently(lambda: api.dataset_info(spec.hub, revision=revision, timeout=_SECONDS))
    except RevisionNotFoundError as error:
        raise InputError(f"--corpus {spec.shown}: {spec.hub} has no revision {spec.revision!r}; {_HELP}") from error
    except RepositoryNotFoundError as error:
        raise InputError(f"--corpus {spec.shown}: the Hugging Face hub has no dataset {spec.hub}; {_HELP}") from error
    except Exception as error:
        found = one_line(error, 120)
        raise InputError(f"--corpus {spec.shown}: the Hugging Face hub cannot be reached ({found}); {_HELP}") from error
    return str(info.sha)


@lru_cache
def open_splits(spec: HubSpec, commit: str) -> dict[str, IterableDataset]:
    """Return the streams of a dataset's splits at a commit, in order; only one split if the spec names a split.

    Raises:
        InputError: `datasets` cannot load the dataset, or the configuration or split does not exist. The message lists
            the splits that exist.
    """
    import datasets

    datasets.disable_progress_bars()
    options: dict[str, Any] = {"name": spec.config or None}
    if spec.preset:
        preset = PRESETS[spec.preset]
        options = {"data_files": preset.files} | ({"batch_size": preset.batch_rows} if preset.batch_rows else {})
    try:
        with _opened_by_patiently():
            splits = _patiently(lambda: datasets.load_dataset(spec.hub, revision=commit, streaming=True, **options))
    except Exception as error:
        raise StorageError(f"--corpus {spec.shown}: cannot be loaded ({one_line(error)}); {_HELP}") from error
    if spec.split and spec.split not in splits:
        names = ", ".join(map(str, splits))
        raise InputError(f"--corpus {spec.shown}: has no split {spec.split!r}; it has {names}")
    return {str(split): stream for split, stream in splits.items() if spec.split in ("", split)}


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
    for key, column in {"doc_id": preset.doc_id, **preset.meta}.items():
        if column is not None:
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
        hub = cast(HubSpec, source.hub)
        for stream in open_splits(hub, commit_of(hub)).values():
            check_columns(hub, column_types(hub, stream), text_column)

    def identity(self, source: Source) -> list[str]:
        """Return one line with the dataset, its commit and, for a preset, the use of its columns."""
        hub = cast(HubSpec, source.hub)
        return [f"{hub.hub} {commit_of(hub)} {hub.config} {hub.split} {PRESETS.get(hub.preset)}"]

    def columns(self, source: Source, text_column: str) -> list[None]:
        """Return None, because the columns of a hub dataset are converted and known only after reading."""
        return [None]

    def split(self, source: Source) -> Iterator[tuple[str, str, Part]]:
        hub = cast(HubSpec, source.hub)
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


def _spec_of_piece(piece: Piece) -> HubSpec:
    return HubSpec(piece.file, **{name: piece.part[name] for name in ("revision", "config", "split", "preset")})


HUB = _Hub(kind="hub")
