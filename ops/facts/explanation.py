"""A neuron's explanation: its literals, its family, and its verdict with the evidence in words."""

from typing import Any

from ops.facts.text import enumerated, interval, number

Row = dict[str, Any]

CAUTION = "Judge by the winners: nothing below was confirmed on held-out documents."
# What an F1 is held against, by its column.
_CONTROLS = {
    "random_f1": "a random set",
    "nuisance_f1": "length and source alone",
    "matched_f1": "a matched set",
}
_SHORT = {"random_f1": "random", "nuisance_f1": "length/source", "matched_f1": "matched"}


def joined(row: Row, terms: list[Row], families: list[Row]) -> Row:
    """Return a row of explanations/, extended with data from the other tables.

    Args:
        row: the row.
        terms: rows of explanation_terms/ of its neuron.
        families: rows of families/, those of its family among them.

    Returns:
        The row with `terms`, its rows of explanation_terms/ with those of the neuron's whole range, and `alike`: the
        `leader` of its family (`layer`, `unit`, `pole`), and `members`, the number of neurons and poles in it.
    """
    family = [member for member in families if member["family"] == row["family"]]
    led = next(member for member in family if member["is_leader"])
    return row | {
        "terms": [term for term in terms if term["pole"] in (None, row["pole"])],
        "alike": {"leader": {name: led[name] for name in ("layer", "unit", "pole")}, "members": len(family)},
    }


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
