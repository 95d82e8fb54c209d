"""Whether a Parquet file is a part of the table in whose folder it is."""

import pyarrow as pa

from ops.errors import InputError
from ops.schema import SCHEMA_VERSION, TABLES


def check_layout(path: str, name: str, found: pa.Schema) -> None:
    """Check that a file has no column that its table lacks, and its keys if a job of this version wrote it.

    Args:
        path: the file's full path, for the message.
        name: its path below the run's folder, such as `topk/part-00000.parquet`; only files of tables are checked.

    Raises:
        InputError: the file belongs to another table.
    """
    table = name.rpartition("/")[0]
    columns, is_ours = set(found.names), (found.metadata or {}).get(b"atlas.schema_version") == SCHEMA_VERSION.encode()
    if table == "activations":
        is_part = "sent_id" in columns and all(name.startswith("layer_") for name in columns - {"sent_id"})
    elif table in TABLES:
        spec = TABLES[table]
        is_part = columns <= {column.name for column in spec.columns} and (not is_ours or columns >= set(spec.order))
    else:
        return
    if not is_part:
        raise InputError(
            f"{path}: is not a part of {table}/ (its columns are {', '.join(found.names)}); restore the file, or give "
            "the command that writes this table again with --redo"
        )
