"""A side job's page: its title and finding, its figures, and its tables with what their rows and columns mean."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ops.facts.audit_findings import read_audit_findings
from ops.facts.comparison import comparisons, read_findings
from ops.facts.contrasts import read_contrasts
from ops.facts.listing import Listing
from ops.facts.rows import Row
from ops.report.side_jobs import SIDE_JOBS, caption, finding
from ops.schema import TABLES
from ops.schema.columns import STRINGS, Column, TableSpec
from ops.storage.store import Store

MOST_ROWS = 200  # maximum number of a table's rows on a page
FINDINGS_ROWS = 8
CONTRAST_ROWS = 20
# Tables with one of these columns in their key are too long for a page; most of them are drawn.
MANY = {"unit", "sent_id", "token_id", "word", "position", "length"}
# The rows that are shown of some of them and of other long tables; None for all rows.
SELECTED: dict[str, pc.Expression | None] = {
    "audit/neurons": pc.field("verdict").isin(["global", "dataset_detector"]),
    "audit/patterns": pc.field("verdict") == "global",
    "psi/clusters": pc.field("rank") <= 3,
    "outputs/checks": None,
}


def side_jobs(run: Row) -> list[str]:
    """Return the side jobs with results in a run, in the order of their pages; `run` is the content of run.json."""
    complete = {name.partition("/")[0] for name, entry in run["stages"].items() if entry["complete"]}
    return [job for job in SIDE_JOBS if job in complete]


def figures(run: Row, job: str) -> list[Row]:
    """Return a side job's figures: `name`, the path in the run, `file`, the path in a site, and `caption`, in words."""
    named = [file["name"] for files in run["tables"].values() for file in files]
    paths = [name for name in named if name.startswith(f"{job}/") and name.endswith(".svg")]
    files = [f"figures/{name.replace('/figures/', '-', 1).replace('/', '-')}" for name in paths]
    return [{"name": name, "file": file, "caption": caption(name)} for name, file in zip(paths, files, strict=True)]


def side_context(store: Store, run: Row, job: str) -> Row:
    """Return the variables for the template of a side job's page, without those that all pages share."""
    sentences, verdicts = [finding(store, run["tables"], job)], {}
    findings: list[Listing] = []
    if job == "compare":
        findings = comparisons(read_findings(store, run["tables"]), FINDINGS_ROWS)
    elif job == "audit":
        audit = read_audit_findings(store)
        sentences, verdicts = audit["sentences"], audit["verdicts"]
    elif job == "contrast":
        contrasts = read_contrasts(store, CONTRAST_ROWS)
        sentences, findings = contrasts["sentences"], contrasts["lists"]
    tables = [name for name in TABLES if name.startswith(f"{job}/") and run["tables"].get(name)]
    shown = [
        name for name in tables if name in SELECTED or (TABLES[name].order and MANY.isdisjoint(TABLES[name].order))
    ]
    return {
        "side": SIDE_JOBS[job],
        "figures": figures(run, job),
        "findings": findings,
        "verdicts": verdicts,
        "sentences": [sentence for sentence in sentences if sentence],
        "tables": [_read(store, name) for name in shown],
        "others": [
            {"name": name, "row": TABLES[name].row, "total": sum(file["rows"] for file in run["tables"][name])}
            for name in tables
            if name not in shown
        ],
    }


def _read(store: Store, name: str) -> Row:
    """Return a table for the template: what it describes, its cells as text, and the number of its rows."""
    data, where, columns = store.dataset(name), SELECTED.get(name), _shown_columns(TABLES[name])
    rows = data.head(MOST_ROWS, filter=where, columns=[column.name for column in columns]).to_pylist()
    return {
        "name": name,
        "row": TABLES[name].row,
        "columns": columns,
        "rows": [[cell(value) for value in row.values()] for row in rows],
        "total": data.count_rows(filter=where),
    }


def _shown_columns(spec: TableSpec) -> list[Column]:
    """Return the columns of a page, without lists of numbers and without a key that is the model's name or path."""
    return [
        column
        for column in spec.columns
        if (column.type == STRINGS or not pa.types.is_list(column.type))
        and (column.name, *spec.order[:1]) != ("model", "model")
    ]


def cell(value: Any) -> str:
    """Return a cell's text.

    >>> cell(0.123456), cell(12345), cell(None), cell(["a", "b"]), cell(True), cell(123456.7)
    ('0.123', '12,345', '-', 'a, b', 'yes', '123,457')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
