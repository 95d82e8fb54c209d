"""The tokens that a unit promotes and suppresses."""

from typing import Any

from ops.outputs.names import SIDES, with_spaces

Rows = list[dict[str, Any]]


def by_side(rows: Rows) -> dict[str, Rows]:
    """Return one unit's rows of outputs/tokens by side, sorted by rank."""
    return {side: sorted((r for r in rows if r["side"] == side), key=lambda r: r["rank"]) for side in SIDES}


def token_text(token: str) -> str:
    """Return a token as a reader sees it: in quotation marks, and with a space where the vocabulary marks one."""
    return f'"{with_spaces(token)}"'
