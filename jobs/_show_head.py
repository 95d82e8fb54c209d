"""What `show --psi` prints: one attention head, from the tables of `psi`."""

from typing import Any

import pyarrow.compute as pc

from jobs._record import Run
from jobs._show import parse_pair, read
from ops.errors import InputError
from ops.show import lay_out_head
from ops.storage.store import Store

LEAST = 10


def show_head(record: Run, which: str, rows: int, width: int) -> str:
    """Lay out the head LAYER:HEAD.

    Raises:
        InputError: the tables are missing, or there is no such head.
    """
    layer, head = parse_pair("--psi", which, "LAYER:HEAD, such as 4:2 (layers from 1, heads from 0)")
    counts = record.require("psi")["counts"]
    if not (1 <= layer <= counts["layers"] and head < counts["heads"]):
        raise InputError(
            f"--psi {which}: there is no such head; layers run from 1 to {counts['layers']}, "
            f"heads from 0 to {counts['heads'] - 1}"
        )
    store = record.store
    here = (pc.field("layer") == layer) & (pc.field("head") == head)
    clusters = read(store, "psi/clusters", here)
    contextual = read_contextual(store, here, rows) if record.complete("psi/contextual") else []
    return lay_out_head(layer, head, clusters, contextual, rows, width)


def read_contextual(store: Store, here: pc.Expression, rows: int) -> list[dict[str, Any]]:
    """Return the head's tokens of highest mean psi_qkv among those that occur often enough, with their strings."""
    columns = ["token_id", "n", "psi_qkv_mean", "psi_qkv_std"]
    found = read(store, "psi/contextual", here & (pc.field("n") >= LEAST), columns)
    best = sorted(found, key=lambda t: (-t["psi_qkv_mean"], t["token_id"]))[:rows]
    names = read(
        store, "psi/vocabulary", pc.field("token_id").isin([t["token_id"] for t in best]), ["token_id", "token"]
    )
    tokens = {n["token_id"]: n["token"] for n in names}
    return [{**t, "token": tokens[t["token_id"]]} for t in best]
