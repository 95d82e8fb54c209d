"""The leaves of nested Arrow types, by the names that Parquet gives them."""

from collections.abc import Iterator

import pyarrow as pa


def leaves(schema: pa.Schema) -> Iterator[tuple[str, pa.DataType]]:
    """Return the path and the type of every column that Parquet stores for a table: `sample.list.element`, float."""
    for field in schema:
        yield from _below(field.name, field.type)


def floats(schema: pa.Schema) -> list[str]:
    """Return the paths of the columns of float numbers."""
    return [path for path, kind in leaves(schema) if pa.types.is_floating(kind)]


def coded(schema: pa.Schema) -> list[str]:
    """Return the paths of the columns that a dictionary may help: all but the floats, which seldom repeat.

    Trying a dictionary on floats took eight times the writing of activations/, and its file was half as large again.
    """
    return [path for path, kind in leaves(schema) if not pa.types.is_floating(kind)]


def _below(path: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    if pa.types.is_map(kind):
        yield from _below(f"{path}.key_value.key", kind.key_type)
        yield from _below(f"{path}.key_value.value", kind.item_type)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _below(f"{path}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            yield from _below(f"{path}.{kind.field(i).name}", kind.field(i).type)
    else:
        yield path, kind
