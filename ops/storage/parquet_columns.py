"""The columns that Parquet stores for a table: the leaves of its nested types, by the paths that Parquet names."""

from collections.abc import Iterator

import pyarrow as pa


def leaf_columns(schema: pa.Schema) -> Iterator[tuple[str, pa.DataType]]:
    """Return the path and the type of every column that Parquet stores for a table: `sample.list.element`, float."""
    for field in schema:
        yield from _leaves(field.name, field.type)


def float_columns(schema: pa.Schema) -> list[str]:
    """Return the paths of the columns of float numbers."""
    return [path for path, kind in leaf_columns(schema) if pa.types.is_floating(kind)]


def dictionary_columns(schema: pa.Schema) -> list[str]:
    """Return the paths of the columns that a dictionary may help: all but the floats, which seldom repeat.

    Trying a dictionary on floats took eight times the writing of activations/, and its file was half as large again.
    """
    return [path for path, kind in leaf_columns(schema) if not pa.types.is_floating(kind)]


def _leaves(path: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    if pa.types.is_map(kind):
        yield from _leaves(f"{path}.key_value.key", kind.key_type)
        yield from _leaves(f"{path}.key_value.value", kind.item_type)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            yield from _leaves(f"{path}.{kind.field(i).name}", kind.field(i).type)
    else:
        yield path, kind
