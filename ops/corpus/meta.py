"""Metadata of sentences: a map as long as not all sources are read; then a struct, whose fields are all their keys."""

from collections.abc import Iterable
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc

from ops.errors import InputError

MAX_KEYS = 200
META_MAP = pa.map_(pa.string(), pa.string())


def check_keys(keys: Iterable[str], sources: str) -> None:
    """Refuse metadata keys that cannot be the fields of the column `meta`.

    Args:
        keys: what the sources have, each once.
        sources: they, as the user named them, for the message.

    Raises:
        InputError: there are more than 200, or two differ in case alone, which SQL takes for one column.
    """
    found = sorted(keys)
    if len(found) > MAX_KEYS:
        names = ", ".join(found[:5])
        raise InputError(
            f"{sources}: has more than {MAX_KEYS} metadata keys ({names}, ...), one for every column or key beside the "
            "text; leave out columns, or put them into a nested one, which is no metadata"
        )
    seen: dict[str, str] = {}
    for key in found:
        other = seen.setdefault(key.lower(), key)
        if other != key:
            raise InputError(
                f"{sources}: the metadata keys {other!r} and {key!r} differ in case alone, and SQL could not tell them "
                "apart; rename one of the columns"
            )


def meta_maps(metas: list[dict[str, str]]) -> pa.Array:
    """Return metadata as an Array of `META_MAP`, `[sentences]`."""
    offsets = pa.array([0, *accumulate(len(meta) for meta in metas)], pa.int32())
    keys = pa.array([key for meta in metas for key in meta], pa.string())
    values = pa.array([value for meta in metas for value in meta.values()], pa.string())
    return pa.MapArray.from_arrays(offsets, keys, values).cast(META_MAP)


def meta_structs(maps: pa.ChunkedArray, keys: list[str]) -> pa.ChunkedArray:
    """Return metadata, `[sentences]` of `META_MAP`, as structs with these fields (one or more)."""
    fields = [pa.field(key, pa.string()) for key in keys]
    chunks = [
        pa.StructArray.from_arrays([pc.map_lookup(chunk, key, "first") for key in keys], fields=fields)
        for chunk in maps.chunks
    ]
    return pa.chunked_array(chunks, pa.struct(fields))
