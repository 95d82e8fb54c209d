"""What `show --compare` prints, read from the tables of the parts of `compare` that are done."""

from typing import Any

from jobs.stage.run import Run, RunReader
from jobs.stage.stages import STAGES
from ops.errors import InputError
from ops.show.comparison import lay_out_comparison
from ops.storage.tables import read_table

PARTS = [name for name in STAGES if name.startswith("compare/")]
# Large tables of which the findings need nothing.
LEFT_OUT = ("compare/neighbours", "compare/groups", "compare/joint_groups", "compare/sentence_groups")


def show_comparison(record: Run, rows: int, width: int) -> str:
    """Lay out what was compared.

    Raises:
        InputError: nothing was.
    """
    done = [part for part in PARTS if record.complete(part)]
    if not done:
        raise InputError(
            f"--out {record.store.uri}: nothing was compared yet; "
            f"run python -m jobs.compare --out {record.store.uri} first"
        )
    record.check_files(*done)
    text = lay_out_parts(record, done, rows, width)
    missing = [part.partition("/")[2] for part in PARTS if part not in done]
    return text + (f"\n\nNot compared: {', '.join(missing)}" if missing else "")


def lay_out_parts(record: RunReader, done: list[str], rows: int, width: int) -> str:
    """Lay out the findings of these parts of `compare`, each of them complete."""
    found: dict[str, list[dict[str, Any]]] = {}
    for part in done:
        for table in STAGES[part].tables:
            if "/figures/" not in table and table not in LEFT_OUT:
                found[table] = read_table(record.store, table).to_pylist()
    if "compare/shift_neurons" in found:
        found["compare/shift_neurons"].sort(key=lambda row: -row["shift"])
    return lay_out_comparison(found, rows, width)
