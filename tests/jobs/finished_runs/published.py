"""What holds for every table of a finished run."""

import json
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from ops.schema import TABLES, meta_keys, schema


def published(out: Path) -> Path:
    """Check that each table has its schema, one footer for all its files, and its rows for who reads it by a glob."""
    tables = json.loads((out / "run.json").read_text())["tables"]
    for table in tables.keys() & (TABLES.keys() | {"activations"}):
        files = sorted((out / table).glob("*.parquet"))
        footers = [pq.read_metadata(file) for file in files]
        for key in (b"atlas.fingerprint", b"atlas.schema_version"):
            assert len({footer.metadata[key] for footer in footers}) == 1, table
        stored = pq.read_schema(files[0])
        if table in TABLES:
            keys = meta_keys(stored)
            assert not keys or table in ("corpus", "sentences"), table
            assert stored.remove_metadata().equals(schema(table, keys)), table
        rows = duckdb.sql(f"select * from '{out}/{table}/*.parquet'")
        assert (rows.columns, len(rows)) == (stored.names, sum(footer.num_rows for footer in footers)), table
    return out
