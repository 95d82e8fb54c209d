"""How much tokens take from others: the mean mixing ratios of `mixing` by stage, layer and class of tokens."""

from typing import Any

from ops.facts.listing import Listing
from ops.facts.text import number

Row = dict[str, Any]

STAGES = {"attn": "attention alone", "attn_res": "with the residual", "attn_res_ln": "after LayerNorm"}
CLASSES = ("all", "cls", "sep", "mask", "punct", "other")


def mixing_ratios(ratios: list[Row]) -> Listing:
    """Return the mean ratios: a row for each stage and layer, and a column for each class of tokens.

    Args:
        ratios: the rows of `mixing/ratios`.
    """
    means = {(row["stage"], row["layer"], row["token_class"]): row["mean"] for row in ratios}
    counts = {row["token_class"]: row["n"] for row in ratios}
    classes = [name for name in CLASSES if name in counts]
    rows = dict.fromkeys((stage, layer) for stage in STAGES for by, layer, _ in means if by == stage)
    return Listing(
        "Mean mixing ratio: the share of a token's new vector that comes from the other tokens of its sequence.",
        ("stage", "layer", *classes),
        [(STAGES[s], str(layer), *(number(means.get((s, layer, c)), ".3f") for c in classes)) for s, layer in rows],
        [f"Tokens: {', '.join(f'{name} {counts[name]:,}' for name in classes)}. punct: period or comma."],
    )
