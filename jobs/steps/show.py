"""What `show` prints, read from the tables of a finished run: one neuron, or one attention head."""

from typing import Any

import pyarrow.compute as pc

from jobs.stage.record import Run
from ops.errors import InputError
from ops.show.head import lay_out_head
from ops.show.neuron import lay_out_neuron
from ops.storage.store import Store
from ops.storage.tables import read_rows

LEAST = 10  # occurrences of a token whose mean psi is shown


def show_neuron(record: Run, which: str, pole: str, rows: int, width: int) -> str:
    """Lay out the neuron LAYER:UNIT of a run.

    Raises:
        InputError: the tables are missing, or there is no such neuron.
    """
    layer, unit = parse_pair("--neuron", which, "LAYER:UNIT, such as 3:17 (layers from 1, units from 0)")
    for stage in ("topk", "annotate", "mine"):
        record.require(stage)
    store = record.store
    here = (pc.field("layer") == layer) & (pc.field("unit") == unit)
    neuron = read_rows(store, "neurons", here)
    if not neuron:
        raise InputError(f"--neuron {which}: there is no such neuron; {known(store)}")
    own = here & (pc.field("pole") == pole)
    winners = read_rows(store, "topk", own)
    if not winners:
        raise InputError(f"--pole {pole}: this run kept only the other pole")
    shown = {w["sent_id"] for w in winners[:rows]}
    texts = {
        s["sent_id"]: s
        for s in read_rows(store, "sentences", pc.field("sent_id").isin(shown), ["sent_id", "text", "dataset"])
    }
    winners = [{**w, **texts.get(w["sent_id"], {})} for w in winners]
    patterns, profiles, means = (read_rows(store, table, own) for table in ("patterns", "profiles", "means"))
    return lay_out_neuron(neuron[0], pole, winners, patterns, profiles, means, rows, width)


def known(store: Store) -> str:
    """Say which neurons a run has."""
    rows = read_rows(store, "neurons", pc.scalar(True), ["layer", "unit"])
    layers = sorted({r["layer"] for r in rows})
    return f"layers run from 1 to {layers[-1]}, units from 0 to {max(r['unit'] for r in rows)}"


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
    clusters = read_rows(store, "psi/clusters", here)
    contextual = read_contextual(store, here, rows) if record.complete("psi/contextual") else []
    return lay_out_head(layer, head, clusters, contextual, rows, width)


def read_contextual(store: Store, here: pc.Expression, rows: int) -> list[dict[str, Any]]:
    """Return the head's tokens of highest mean psi_qkv among those that occur often enough, with their strings."""
    columns = ["token_id", "n", "psi_qkv_mean", "psi_qkv_std"]
    found = read_rows(store, "psi/contextual", here & (pc.field("n") >= LEAST), columns)
    best = sorted(found, key=lambda t: (-t["psi_qkv_mean"], t["token_id"]))[:rows]
    names = read_rows(
        store, "psi/vocabulary", pc.field("token_id").isin([t["token_id"] for t in best]), ["token_id", "token"]
    )
    tokens = {n["token_id"]: n["token"] for n in names}
    return [{**t, "token": tokens[t["token_id"]]} for t in best]


def parse_pair(flag: str, text: str, expected: str) -> tuple[int, int]:
    """Read two whole numbers with a colon between them.

    Raises:
        InputError: it is something else; `expected` says what was.
    """
    first, colon, second = text.partition(":")
    if not (colon and first.isdecimal() and second.isdecimal()):
        raise InputError(f"{flag} {text!r}: expected {expected}")
    return int(first), int(second)
