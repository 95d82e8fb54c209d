"""The columns that Parquet stores for a table: the leaves of its nested types, identified by Parquet's paths."""

from collections.abc import Iterator

import pyarrow as pa


def leaf_columns(schema: pa.Schema) -> Iterator[tuple[str, pa.DataType]]:
    """Yield the path and type of every column that Parquet stores for a table, such as `sample.list.element`, float."""
    for field in schema:
        yield from _leaves(field.name, field.type)


def float_columns(schema: pa.Schema) -> list[str]:
    """Return the paths of the columns of floating-point numbers."""
    return [path for path, kind in leaf_columns(schema) if pa.types.is_floating(kind)]


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
