"""The tokens that a unit promotes and suppresses, as text."""

from typing import Any

import pyarrow.compute as pc

from ops.facts.text import wrap
from ops.outputs.names import SIDES, with_spaces
from ops.storage.store import Store
from ops.storage.tables import read_rows

TABLES_READ = ("outputs/tokens",)
LISTED = 8  # tokens listed per side

Outputs = dict[str, list[dict[str, Any]]]


def read_outputs(store: Store, layer: int, unit: int) -> Outputs | None:
    """Return a unit's rows of outputs/tokens by side, the most changed tokens first. None if it has no rows."""
    rows = read_rows(store, "outputs/tokens", (pc.field("layer") == layer) & (pc.field("unit") == unit))
    return by_side(rows) if rows else None


def by_side(rows: list[dict[str, Any]]) -> Outputs:
    """Return one unit's rows of outputs/tokens by side, sorted by rank."""
    return {side: sorted((r for r in rows if r["side"] == side), key=lambda r: r["rank"]) for side in SIDES}


def lay_out_outputs(outputs: Outputs | None, pole: str, width: int) -> list[str]:
    """Return the lines that say which tokens a unit promotes and suppresses, or [] without outputs.

    Args:
        outputs: the rows that `read_outputs` returns.
        pole: the pole that is shown. A low activation has the opposite effect of a high one.
        width: characters per line.
    """
    if outputs is None:
        return []
    promoted, suppressed = (", ".join(token_text(row["token"]) for row in outputs[side][:LISTED]) for side in SIDES)
    opposite = "" if pole == "top" else " (when its activation is high; a low activation has the opposite effect)"
    return wrap(f"Promotes: {promoted}; suppresses: {suppressed}{opposite}", width).split("\n")


def token_text(token: str) -> str:
    """Return a token as a reader sees it: in quotation marks, and with a space where the vocabulary marks one."""
    return f'"{with_spaces(token)}"'
