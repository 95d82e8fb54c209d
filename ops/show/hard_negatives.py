"""Hard negatives: sentences that an explanation says are winners although they do not activate the neuron."""

from typing import Any

import pyarrow.compute as pc

from ops.facts.text import activation, shorten
from ops.storage.store import Store
from ops.storage.tables import read_rows

Rows = list[dict[str, Any]]

TITLE = "Look like winners, but do not activate it"


def has_hard_negatives(store: Store) -> bool:
    """Return whether `examples/` has hard negatives. Earlier versions did not write any."""
    files = store.table_files("examples")
    if not files:
        return False
    with store.parquet(files[0]) as file:
        return "pole" in file.schema_arrow.names


def read_hard_negatives(store: Store, layer: int, unit: int, pole: str) -> Rows:
    """Return the hard negatives of a neuron and pole by rank: `rank`, `activation`, `sent_id`, `text`, `dataset`."""
    if not has_hard_negatives(store):
        return []
    own = (pc.field("layer") == layer) & (pc.field("unit") == unit) & (pc.field("pole") == pole)
    rows = read_rows(store, "examples", own, ["layer", "unit", "pole", "rank", "activation", "sent_id"])
    wanted = pc.field("sent_id").isin([row["sent_id"] for row in rows])
    read = read_rows(store, "sentences", wanted, ["sent_id", "text", "dataset"]) if rows else []
    sentences = {row["sent_id"]: row for row in read}
    found = [
        {name: row[name] for name in ("rank", "activation", "sent_id")}
        | {name: sentences[row["sent_id"]][name] for name in ("text", "dataset")}
        for row in rows
    ]
    return sorted(found, key=lambda row: row["rank"])


def lay_out_hard_negatives(rows: Rows, width: int) -> list[str]:
    """Return the lines that list hard negatives, or [] if there are none."""
    lines = ["", TITLE] if rows else []
    for row in rows:
        head = f"{row['rank']:>5}  {activation(row['activation']):>8}  "
        source = f"  [{shorten(row['dataset'], width // 3)}]"
        lines.append(head + shorten(row["text"], width - len(head) - len(source)) + source)
    return lines
