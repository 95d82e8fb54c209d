"""A neuron's explanation as text: what it responds to, how far to believe it, and how many neurons are like it."""

from typing import Any

import pyarrow.compute as pc

from ops.facts.text import cell, enumerated, interval, number, wrap
from ops.storage.store import Store
from ops.storage.tables import read_rows

Row = dict[str, Any]

TABLES_READ = ("explanations", "explanation_terms", "families", "examples")
CAUTION = "Judge by the winners: nothing below was confirmed on held-out documents."
# What an F1 is held against, by its column.
_CONTROLS = {
    "random_f1": "a random set",
    "nuisance_f1": "length and source alone",
    "matched_f1": "a matched set",
}
_SHORT = {"random_f1": "random", "nuisance_f1": "length/source", "matched_f1": "matched"}
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
    """Return the lines that come first: the sentence, its evidence in a line, and its family.

    With any verdict other than `explained` a line warns that the findings below it are not confirmed.
    """
    said = [explanation["text"], f"Verdict: {evidence(explanation)}"]
    if explanation["verdict"] != "explained":
        said.append(CAUTION)
    lines = [line for one in said for line in wrap(one, width).split("\n")]
    leader, members = explanation["alike"]["leader"], explanation["alike"]["members"]
    if members > 1:
        is_own = all(leader[name] == explanation[name] for name in leader)
        led = "which it leads" if is_own else f"led by {leader['layer']}:{leader['unit']} {leader['pole']}"
        lines.append(f"One of {members:,} that go together, {led}")
    return lines


def lay_out_terms(explanation: Row, width: int) -> list[str]:
    """Return lines that list the literals of the score card and of the range model, with their weights and shares."""
    lines: list[str] = []
    for model, (title, had_by) in _MODELS.items():
        own = [term for term in explanation["terms"] if term["model"] == model]
        if not own:
            continue
        titles = f"{'weight':>10}{had_by:>10}{'others':>10}{'gain':>9}"
        room = max(width - len(titles) - 2, 16)
        lines += ["", f"{cell(title, room + 2)}{titles}"]
        for term in own:
            said = f"{term['kind'].replace('_', ' ')}: {'not ' * term['negated']}{term['pattern']}"
            lines.append(
                f"  {cell(said, room)}{number(term['weight'], '.3f', 10)}{number(term['share'], '.3f', 10)}"
                f"{number(term['baseline_share'], '.4f', 10)}{number(term['gain'], '.3f', 9)}"
            )
    return lines


def evidence(explanation: Row) -> str:
    """Return the verdict of a row of explanations/ with its held-out F1 and that of each control.

    >>> row = {"verdict": "weak", "f1": 0.3, "f1_low": None, "f1_high": None, "random_f1": 0.01, "nuisance_f1": None}
    >>> evidence({**row, "matched_f1": 0.1})
    'weak. Held-out F1 0.300 vs random 0.010, matched 0.100'
    """
    f1, low, high = (explanation[f"f1{end}"] for end in ("", "_low", "_high"))
    if f1 is None:
        return str(explanation["verdict"])
    controls = [
        f"{name} {number(explanation[key], '.3f')}" for key, name in _SHORT.items() if explanation[key] is not None
    ]
    compared = f" vs {', '.join(controls)}" if controls else ""
    return f"{explanation['verdict']}. Held-out F1 {number(f1, '.3f')}{interval(low, high, '.3f')}{compared}"


def said_verdict(explanation: Row) -> str:
    """Return the verdict of a row of explanations/ with the rule by which it fell, in numbers.

    A control counts as beaten if the lower end of the interval of F1 is above it (`ops.explain.verdict`).
    """
    f1, low, high = (explanation[f"f1{end}"] for end in ("", "_low", "_high"))
    said = str(explanation["verdict"])
    if said == "weak":
        said += ": too few held-out winners, or held-out documents with winners"
    elif not explanation["literals"]:
        said += ": nothing was found that sets them apart"
    if f1 is None:
        return said
    known = {name: explanation[key] for key, name in _CONTROLS.items() if explanation[key] is not None}
    above = {name for name, control in known.items() if low is not None and low > control}
    beaten, others = (
        [f"{n} ({number(known[n], '.3f')})" for n in known if (n in above) is wanted] for wanted in (True, False)
    )
    compared = [f"above {enumerated(beaten, 'and')}"] if beaten else []
    compared += [f"not surely above {enumerated(others, 'or')}"] if others else []
    single = explanation["single_f1"]
    alone = "" if single is None else f"; its best literal alone has {number(single, '.3f')}"
    own = number(f1, ".3f") + interval(low, high, ".3f")
    return f"{said}. Held-out F1 {own}{': ' * bool(compared)}{', but '.join(compared)}{alone}"
