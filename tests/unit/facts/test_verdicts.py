"""Verdicts in words, from made-up rows."""

from typing import Any

import pytest

from ops.facts.neuron_facts import where_it_holds
from ops.facts.verdicts import evidence, said_lifts, said_measure, said_numbers
from tests.unit.facts.made_up_audit import audited, literal
from tests.unit.facts.made_up_rows import explained

NAMES = ["a", "b", "c", "d"]
ROW = explained(5, "top", 0.41, 0.12, 0.05, 0.01, f1_low=0.35, f1_high=0.47, single_f1=0.3)


def own_pairs(known: list[str], names: list[str]) -> list[dict[str, Any]]:
    """Return the pairs of each data set with itself, of which some are known."""
    return [
        {
            "layer": 1, "unit": 0, "pole": "top", "dataset_from": name, "dataset_to": name,
            "average_precision": 0.5 if name in known else None, "random_precision": 0.1,
        }
        for name in names
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "holds", "found", "known", "said"),
    [
        ("global", NAMES, ["a"], NAMES, "holds in all 4 data sets"),
        ("local", NAMES[:2], NAMES, NAMES, "holds in 2 of 4 data sets (not in c or d)"),
        ("local", ["b"], ["b"], NAMES, "holds in 1 of 4 data sets (b)"),
        ("local", ["a"], ["a"], ["a", "b", "c"], "holds in 1 of 3 data sets (not in b or c)"),
        ("local", [], ["d"], NAMES, "only in d"),
        ("local", [], ["a", "d"], NAMES, "found in 2 of 4 data sets (a and d), but carries over to none"),
        ("dataset_detector", ["a"], ["a"], NAMES, "follows the data set rather than language"),
        ("none", [], [], NAMES, "within no single data set, where winners are fewer, was it confirmed"),
        ("local", [], ["a"], ["a"], "has enough winners to tell in only one data set"),
        ("none", [], [], [], "has too few winners to tell"),
    ],
)
def test_where_it_holds_is_one_line(
    verdict: str, holds: list[str], found: list[str], known: list[str], said: str
) -> None:
    row = audited(1, 0, verdict, ported=len(holds), holds_in=holds, found_in=found, datasets=len(known))
    audit = where_it_holds(row, [], own_pairs(known, NAMES))
    assert (audit["said"], audit["known_in"]) == (said, known)
    names = [f"set {i:02}" for i in range(20)]
    row = audited(1, 0, "local", ported=8, holds_in=names[:8])
    assert where_it_holds(row, [], own_pairs(names, names))["said"] == "holds in 8 of 20 data sets", (
        "they are too many to name"
    )


def test_only_its_own_literals_are_taken_in_their_order() -> None:
    row = audited(1, 0, "local", 0.25, found_in=["books"], eta_squared=0.031)
    rows = [
        literal(1, 0, 2, [0.0, None, 2.0], negated=True),
        literal(1, 0, 1, [1.0, -1.0, 0.0]),
        literal(1, 0, 1, [9.0, 9.0, 9.0], pole=None, model="activation"),
    ]
    audit = where_it_holds(row, rows, own_pairs(["a", "b"], NAMES))
    assert [(p["rank"], p["negated"]) for p in audit["literals"]] == [(1, False), (2, True)]
    assert audit["said"] == "only in books"
    assert said_measure(audit, "transfer", "transfer") == "transfer 0.75 (0.75 to 0.75)"
    assert said_measure({**audit, "transfer_high": 4.36}, "transfer", "transfer") == "transfer cannot be told"
    assert said_numbers(audit).endswith("illusion 0.25 (0.25 to 0.25); variance between data sets 0.03")
    assert said_lifts(rows[0]) == "books 1.00 (0.37 to 2.72), news not known, tweets 7.39 (2.72 to 20.1)"
    assert said_lifts(literal(1, 0, 1, [2_000.0, None, 0.0])).startswith("books ")


def test_the_verdict_comes_with_the_controls_that_are_known() -> None:
    said = evidence(ROW | {"verdict": "source", "nuisance_f1": 0.35, "matched_f1": None})
    assert said.startswith("source. Held-out F1 ")
    assert said.endswith(" vs chance 0.010, length/source 0.350")
