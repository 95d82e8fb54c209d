"""The tokens that a unit promotes and suppresses, as text."""

from typing import Any

import pyarrow.compute as pc

from ops.outputs.names import SIDES
from ops.show.text import wrap
from ops.storage.store import Store
from ops.storage.tables import read_rows

TABLES_READ = ("outputs/tokens",)
LISTED = 8  # tokens of a side

Outputs = dict[str, list[dict[str, Any]]]


def read_outputs(store: Store, layer: int, unit: int) -> Outputs | None:
    """Return a unit's rows of outputs/tokens by side, the most changed first; None where it has none."""
    rows = read_rows(store, "outputs/tokens", (pc.field("layer") == layer) & (pc.field("unit") == unit))
    return by_side(rows) if rows else None


def by_side(rows: list[dict[str, Any]]) -> Outputs:
    """Return rows of outputs/tokens of one unit by side, each by rank."""
    return {side: sorted((r for r in rows if r["side"] == side), key=lambda r: r["rank"]) for side in SIDES}


def lay_out_outputs(outputs: Outputs | None, pole: str, width: int) -> list[str]:
    """Return the lines that say which tokens a unit promotes and suppresses; none without.

    Args:
        outputs: as `read_outputs` returns them.
        pole: the one that is shown; a low activation does the reverse of a high one.
        width: characters of a line.
    """
    if outputs is None:
        return []
    promoted, suppressed = (", ".join(token_text(row["token"]) for row in outputs[side][:LISTED]) for side in SIDES)
    reverse = "" if pole == "top" else " (when its activation is high; a low one does the reverse)"
    return wrap(f"Promotes: {promoted}; suppresses: {suppressed}{reverse}", width).split("\n")


def token_text(token: str) -> str:
    """Return a token as a reader sees it: in quotation marks, with a space where its vocabulary marks one.

    >>> token_text("Ġthe"), token_text("▁the"), token_text("##ing")
    ('" the"', '" the"', '"##ing"')
    """
    return f'"{token.replace(chr(0x120), " ").replace(chr(0x2581), " ")}"'
