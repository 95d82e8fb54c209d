from pathlib import Path
from typing import Any

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.schema import TABLES, activations_schema, group_rows, meta_keys, row_bytes, schema
from ops.schema import table as as_table
from ops.schema.columns import tables


def test_every_column_says_what_it_means_and_is_in_the_arrow_schema() -> None:
    for table, spec in TABLES.items():
        assert spec.row.startswith(("a ", "one ", "something ")), table
        silent = [c.name for c in spec.columns if c.meaning.strip() != c.meaning or c.meaning in ("", c.name)]
        assert (table, silent) == (table, [])
        assert len({c.name for c in spec.columns}) == len(spec.columns), table
        columns = [(c.name, c.type, c.nullable) for c in spec.columns if c.name != "meta"]
        assert [(f.name, f.type, f.nullable) for f in schema(table)] == columns


@pytest.mark.parametrize("line", ["n int64 sentences", "n int99: sentences", "n: sentences", "int64: sentences", "n"])
def test_a_line_that_describes_no_column_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"is not the line|No type alias"):
        tables(f"\ntable counts: a count\n    {line}\n")


def test_a_table_is_sorted_by_its_own_columns() -> None:
    # The range model's literals have no pole; they sort on their own, as the column before says which model. Rows of
    # all layers together have no layer where features may be of layer 0. Of examples, only hard negatives have a pole
    # and a rank, and only the others a tenth. Probes of words have no layer, and those of complete layers no k.
    for table, spec in TABLES.items():
        columns = {c.name: c for c in spec.columns}
        assert set(spec.order) <= set(columns), table
        nullable = [name for name in spec.order if columns[name].nullable]
        assert nullable in ([], ["layer"], ["pole"], ["quantile", "pole", "rank"], ["layer", "k"]), table
        assert nullable != ["pole"] or spec.order[spec.order.index("pole") - 1] == "model", table
        assert 0 < spec.rows_per_group <= 65_536, table


@pytest.mark.parametrize("table", ["corpus", "sentences"])
def test_meta_has_a_field_for_each_key_in_order_of_name(table: str) -> None:
    found = schema(table, ["b", "a", ""])
    assert [c.name for c in TABLES[table].columns] == found.names
    assert found.field("meta").type == pa.struct([("", pa.string()), ("a", pa.string()), ("b", pa.string())])
    assert not found.field("meta").nullable
    assert meta_keys(found) == ["", "a", "b"]
    assert meta_keys(schema(table)) == []
    assert schema("topk", ["a"]) == schema("topk")


def test_rows_and_columns_become_a_sorted_table_with_null_for_nan() -> None:
    names = ("layer", "threshold", "n", "share", "correlated", "rotated")
    values = [(None, 0.5, 7, float("nan"), 0.5, None), (2, 0.5, 3, 0.25, 0.5, 1.0), (2, 0.1, 3, 0.5, 0.5, 1.0)]
    found = as_table("compare/universal", [{**dict(zip(names, row, strict=True)), "further": 1} for row in values])
    assert found.schema == schema("compare/universal")
    assert found.to_pydict() == {
        "layer": [2, 2, None], "threshold": [0.1, 0.5, 0.5], "n": [3, 3, 7],
        "share": [0.5, 0.25, None], "correlated": [0.5] * 3, "rotated": [1.0, 1.0, None],
    }  # fmt: skip
    columns = {name: list(column) for name, column in zip(names, zip(*values, strict=True), strict=True)}
    columns["share"] = np.array(columns["share"])
    assert as_table("compare/universal", columns).equals(found)
    assert as_table("compare/universal", found.select(sorted(names))).equals(found)
    assert as_table(found.schema, [{"layer": 2}, {"layer": 1}])["layer"].to_pylist() == [2, 1]


def test_one_name_has_one_type_everywhere() -> None:
    seen: dict[str, pa.DataType] = {}
    for spec in TABLES.values():
        for column in spec.columns:
            # A group of neurons has a number, and a contrast of groups of sentences a name.
            if column.name not in ("mean", "std", "precision", "f1", "family", "group"):
                assert seen.setdefault(column.name, column.type) == column.type


def test_activations_have_a_vector_of_fixed_size_for_each_layer() -> None:
    found = activations_schema({1: 4, 2: 2})
    assert [f.type for f in found] == [pa.int64(), pa.list_(pa.float32(), 4), pa.list_(pa.float32(), 2)]
    assert not any(f.nullable for f in found)
    assert group_rows("activations") == 1024
    assert group_rows("sentences") == 512


def _example(type_: pa.DataType) -> Any:
    if pa.types.is_struct(type_):
        return {field.name: _example(field.type) for field in type_}
    if pa.types.is_fixed_size_list(type_):
        return [_example(type_.value_type)] * type_.list_size
    if pa.types.is_list(type_):
        return [_example(type_.value_type)]
    return {"string": "a", "bool": True}.get(str(type_), 1)


def test_a_row_of_every_table_opens_in_duckdb_polars_pandas_and_datasets(tmp_path: Path) -> None:
    schemas = {name: schema(name, ["topic"]) for name in TABLES} | {"activations": activations_schema({1: 4})}
    for name, columns in schemas.items():
        path = tmp_path / name.replace("/", "-")
        row = {field.name: _example(field.type) for field in columns}
        pq.write_table(pa.Table.from_pylist([row], columns), path)
        read = {
            "duckdb": duckdb.sql(f"select * from read_parquet('{path}')").to_arrow_table().to_pylist(),
            "polars": pl.read_parquet(path).to_dicts(),
            "datasets": datasets.Dataset.from_parquet(str(path), cache_dir=str(tmp_path / "cache")).to_list(),
        }
        assert all(rows == [row] for rows in read.values()), (name, read)
        in_pandas = pd.read_parquet(path)
        assert (list(in_pandas.columns), len(in_pandas)) == (columns.names, 1), name


def test_the_bytes_of_a_row_follow_from_its_columns() -> None:
    # layer, unit, pole, rank, activation, sent_id
    assert row_bytes("topk") == 2 + 4 + 16 + 4 + 4 + 8
    assert all(row_bytes(table) > 0 for table in TABLES)
    assert row_bytes("sentences") > 15 * 16 + 219
    assert row_bytes("activations") == activations_schema({1: 1}).field("layer_1").type.value_type.bit_width / 8
