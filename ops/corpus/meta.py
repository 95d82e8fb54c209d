"""Metadata of sentences, stored as a map until all sources are read, then as a struct with a field for every key."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from ops.errors import InputError

MAX_KEYS = 200
META_MAP = pa.map_(pa.string(), pa.string())


def check_keys(keys: Iterable[str], sources: str) -> None:
    """Refuse metadata keys that cannot be the fields of the column `meta`.

    Args:
        keys: the distinct keys of the sources.
        sources: the sources as the user named them, for the error message.

    Raises:
        InputError: there are more than 200 keys, or two keys differ only in case, which SQL treats as one column.
    """
    ordered = sorted(keys)
    if len(ordered) > MAX_KEYS:
        names = ", ".join(ordered[:5])
        raise InputError(
            f"{sources}: has more than {MAX_KEYS} metadata keys ({names}, ...), one for every column or key "
            "other than the text; remove columns, or put them into a nested one, which is not read as metadata"
        )
    seen: dict[str, str] = {}
    for key in ordered:
        other = seen.setdefault(key.lower(), key)
        if other != key:
            raise InputError(
                f"{sources}: the metadata keys {other!r} and {key!r} differ only in case, which SQL "
                "ignores; rename one of the columns"
            )


def meta_structs(maps: pa.ChunkedArray, keys: list[str]) -> pa.ChunkedArray:
    """Return metadata, `[sentences]` of `META_MAP`, as structs with one or more keys as their fields."""
    fields = [pa.field(key, pa.string()) for key in keys]
    chunks = [
        pa.StructArray.from_arrays([pc.map_lookup(chunk, key, "first") for key in keys], fields=fields)
        for chunk in maps.chunks
    ]
    return pa.chunked_array(chunks, pa.struct(fields))
