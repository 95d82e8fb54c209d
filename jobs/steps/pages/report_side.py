"""The pages of the side jobs that a run has: their figures and the first rows of their tables."""

from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds

from jobs.stage.run import RunReader
from jobs.steps.show.comparison import PARTS, lay_out_parts
from ops.errors import visible
from ops.report.side_pages import MOST_ROWS, SIDE_JOBS, ShownTable, shown

FINDINGS_ROWS, FINDINGS_WIDTH = 8, 120


def side_jobs(record: RunReader) -> list[str]:
    """Return the side jobs that a run has results of, in the order of their pages."""
    complete = {name.partition("/")[0] for name, entry in record.record["stages"].items() if entry["complete"]}
    return [job for job in SIDE_JOBS if job in complete]


def figure_files(record: RunReader) -> dict[str, list[str]]:
    """Return the SVG and PNG files of the figures of each side job that has any, by their paths in the run."""
    named = [f["name"] for files in record.record["tables"].values() for f in files]
    found = {
        job: [n for n in named if n.startswith(f"{job}/") and n.endswith((".svg", ".png"))] for job in side_jobs(record)
    }
    return {job: names for job, names in found.items() if names}


def drawings(record: RunReader, job: str) -> list[str]:
    """Return a side job's figures as SVG."""
    return [name for name in figure_files(record).get(job, []) if name.endswith(".svg")]


def side_context(record: RunReader, job: str) -> dict[str, Any]:
    """Return what the template of a side job's page takes, but for what all pages share."""
    side = SIDE_JOBS[job]
    done = [part for part in PARTS if record.complete(part)] if job == "compare" else []
    return {
        "side": side,
        "figures": drawings(record, job),
        "findings": visible_lines(lay_out_parts(record, done, FINDINGS_ROWS, FINDINGS_WIDTH)) if done else "",
        "tables": [_read(record, table) for table in side.tables if record.record["tables"].get(table.table)],
    }


def visible_lines(text: str) -> str:
    """Return lines of which some are the corpus's words, with what is not printable spelled out."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _read(record: RunReader, table: ShownTable) -> dict[str, Any]:
    store = record.store
    files = [store.path(name) for name in store.table_files(table.table)]
    opened = ds.dataset(files, filesystem=store.filesystem, format="parquet")
    where = pc.field(table.up_to[0]) <= table.up_to[1] if table.up_to else None
    rows = opened.head(MOST_ROWS, filter=where, columns=list(table.columns)).to_pylist()
    return shown(table, rows, opened.count_rows(filter=where))
