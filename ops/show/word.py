"""One word as text: how often it occurs, what stands near it, and its neighbours in every space."""

from typing import Any

from ops.show.text import shorten

Rows = list[dict[str, Any]]


def lay_out_word(facts: dict[str, Any], rows: int, width: int) -> str:
    """Return a word as text.

    Args:
        facts: `word`, `count`, `dimensions`; `contexts`, its rows of `meaning/contexts`, the highest PPMI first;
            `neighbours`, by space its rows of `meaning/neighbours`, the nearest first.
        rows: lines of each list.
        width: characters of a line.
    """
    contexts = facts["contexts"]
    lines = [
        f"{facts['word']}: {facts['count']:,} occurrences, {facts['n_contexts']:,} context words near it",
        "",
        f"{'ppmi':>8}{'count':>9}  context word",
    ]
    lines += [
        f"{c['ppmi']:>8.2f}{c['count']:>9,}  {shorten(c['context'], max(width - 19, 8))}" for c in contexts[:rows]
    ]
    if not contexts:
        lines.append("       -        -  none")
    for space, found in facts["neighbours"].items():
        lines += ["", f"{'cosine':>8}{'inner':>9}  nearest in {space}"]
        lines += [
            f"{n['cosine']:>8.3f}{n['inner']:>9.3g}  {shorten(n['other'], max(width - 19, 8))}" for n in found[:rows]
        ]
    return "\n".join(lines)
