"""A neuron's explanation as text: what it responds to, how far to believe it, and how many neurons are like it."""

from typing import Any

import pyarrow.compute as pc

from ops.show.text import number, shorten, wrap
from ops.storage.store import Store
from ops.storage.tables import read_rows

Row = dict[str, Any]

TABLES_READ = ("explanations", "explanation_terms", "families")
# What an F1 is held against, by its column.
_BESIDE = {
    "single_f1": "best literal",
    "nuisance_f1": "length and source",
    "matched_f1": "matched set",
    "random_f1": "random set",
}
_MODELS = {
    "winners": ("Literals of its winners", "winners"),
    "range": ("Literals of its whole range", "top 10 %"),
}


def read_explanation(store: Store, layer: int, unit: int, pole: str) -> Row | None:
    """Return a neuron and pole's row of explanations/, None where it has none.

    It has besides `terms`, its rows of explanation_terms/ with those of the neuron's whole range, and `alike`: the
    `leader` of its family (`layer`, `unit`, `pole`), and `members`, how many are in it.
    """
    here = (pc.field("layer") == layer) & (pc.field("unit") == unit)
    rows = read_rows(store, "explanations", here & (pc.field("pole") == pole))
    if not rows:
        return None
    terms = read_rows(store, "explanation_terms", here)
    family = read_rows(store, "families", pc.field("family") == rows[0]["family"])
    return joined(rows[0], terms, family)


def joined(row: Row, terms: list[Row], families: list[Row]) -> Row:
    """Return a row of explanations/ with what `read_explanation` adds to it.

    Args:
        row: the row.
        terms: rows of explanation_terms/ of its neuron.
        families: rows of families/, those of its family among them.
    """
    own = [member for member in families if member["family"] == row["family"]]
    led = next((member for member in own if member["is_leader"]), row)  # a run may lack families/
    leader = {name: led[name] for name in ("layer", "unit", "pole")}
    return row | {
        "terms": [term for term in terms if term["pole"] in (None, row["pole"])],
        "alike": {"leader": leader, "members": max(len(own), 1)},
    }


def lay_out_explanation(explanation: Row, width: int) -> list[str]:
    """Return the lines that come first: the sentence, its verdict and scores, and its family."""
    lines = [*wrap(explanation["text"], width).split("\n"), *wrap(_verdict(explanation), width).split("\n")]
    leader, members = explanation["alike"]["leader"], explanation["alike"]["members"]
    if members > 1:
        is_own = all(leader[name] == explanation[name] for name in leader)
        led = "which it leads" if is_own else f"led by {leader['layer']}:{leader['unit']} {leader['pole']}"
        lines.append(f"One of {members:,} that go together, {led}")
    return lines


def lay_out_terms(explanation: Row, width: int) -> list[str]:
    """Return the literals of both models, with measures."""
    lines: list[str] = []
    for model, (title, had_by) in _MODELS.items():
        own = [term for term in explanation["terms"] if term["model"] == model]
        if not own:
            continue
        titles = f"{'weight':>10}{had_by:>10}{'others':>10}{'gain':>9}"
        room = max(width - len(titles) - 2, 16)
        lines += ["", f"{shorten(title, room + 2):<{room + 2}}{titles}"]
        for term in own:
            said = f"{term['kind']}: {'not ' * term['negated']}{term['pattern']}"
            lines.append(
                f"  {shorten(said, room):<{room}}{term['weight']:>10.3f}{term['share']:>10.3f}"
                f"{number(term['baseline_share'], 10, 4)}{number(term['gain'], 9, 3)}"
            )
    return lines


def _verdict(explanation: Row) -> str:
    f1, low, high = (explanation[f"f1{end}"] for end in ("", "_low", "_high"))
    said = "not known" if f1 is None else f"{f1:.3f}"
    interval = "" if f1 is None or low is None else f" ({low:.3f} to {high:.3f})"
    beside = [f"{name} {explanation[key]:.3f}" for key, name in _BESIDE.items() if explanation[key] is not None]
    return "; ".join(
        [f"Verdict: {explanation['verdict']}", f"held-out F1 {said}{interval}", *([", ".join(beside)] * bool(beside))]
    )
