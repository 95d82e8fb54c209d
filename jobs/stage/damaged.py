"""Which table of a run cannot be read, asked where reading something has failed."""

import pyarrow as pa

from jobs.stage.run_reader import RunReader
from jobs.stage.stages import STAGES, made_anew
from ops.errors import InputError
from ops.storage.store import Store


def damaged_table(out: str) -> str:
    """Return which file of a run's finished tables cannot be read and what makes it anew, empty where all can.

    Every value is read, a row group at a time; a job looks at names, sizes and footers before it begins, which shows
    no damage between them.
    """
    try:
        run = RunReader(out, create=False)
    except (InputError, OSError, pa.ArrowException):
        return ""
    for stage, facts in STAGES.items():
        for table in facts.tables:
            for file in run.record["tables"].get(table, []):
                if file["rows"] is not None and not _readable(run.store, file["name"]):
                    return made_anew(out, stage, table, f"{file['name']} is damaged")
    return ""


def _readable(store: Store, name: str) -> bool:
    try:
        with store.parquet(name) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group)
    except (OSError, ValueError, pa.ArrowException):
        return False
    return True
