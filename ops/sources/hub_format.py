"""Datasets of the Hugging Face hub (a preset or `hf:ORG/NAME`) as a format of sources; each shard is a piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ops.sources.chat import records_in
from ops.sources.hub_spec import HubSpec, commit_of, open_splits
from ops.sources.presets import PRESETS
from ops.sources.rows import Broken, OnError, Row
from ops.sources.source_format import Part, Piece, Source, SourceFormat


class _Hub(SourceFormat):
    def check(self, source: Source, text_column: str) -> None:
        from ops.sources.hub import check_columns, column_types

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

    def split(self, source: Source, range_bytes: int) -> Iterator[tuple[str, str, Part]]:
        hub = _spec(source)
        commit = commit_of(hub)
        for split, stream in open_splits(hub, commit).items():
            place = {"preset": hub.preset, "revision": commit, "config": hub.config, "split": split}
            for shard in range(stream.num_shards):
                yield hub.hub, f"{hub.name}:{split}:{shard}", {**place, "shard": shard, "shards": stream.num_shards}

    def read(self, piece: Piece, text_column: str, on_error: OnError) -> Iterator[Row | Broken]:
        from ops.sources.hub import read_hub

        hub = _spec_of_piece(piece)
        place = (hub.revision, hub.split, piece.part["shard"], piece.part["shards"])
        return read_hub(hub, *place, text_column=text_column, on_error=on_error, name=piece.name)

    def extent(self, piece: Piece) -> float | None:
        """Return the approximate number of rows of a shard; None if the hub does not report it."""
        hub = _spec_of_piece(piece)
        split = (open_splits(hub, hub.revision)[hub.split].info.splits or {}).get(hub.split)
        return split.num_examples / piece.part["shards"] if split is not None and split.num_examples else None

    def extent_of(self, piece: Piece, rows: Sequence[Row | Broken]) -> float:
        return float(records_in(rows))


def _spec(source: Source) -> HubSpec:
    if source.hub is None:
        raise ValueError(f"{source.spec} names no dataset of the hub")
    return source.hub


def _spec_of_piece(piece: Piece) -> HubSpec:
    return HubSpec(piece.file, **{name: piece.part[name] for name in ("revision", "config", "split", "preset")})


HUB = _Hub(kind="hub", told_by="the hub's counts")
