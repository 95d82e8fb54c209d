"""What the audit says about a neuron and pole, from made-up rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from ops.facts.audited import joined, lay_out_lifts, lay_out_where, read_audited_neuron, said_lifts, said_numbers
from tests.unit.facts.made_up_audit import audited, literal, pairs
from tests.unit.facts.made_up_rows import write_tables

NAMES = ["a", "b", "c", "d"]


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
        ("none", [], [], NAMES, "its winners cannot be distinguished in any data set"),
        ("local", [], ["a"], ["a"], "has enough winners to tell in only one data set"),
        ("none", [], [], [], "has too few winners to tell"),
    ],
)
def test_where_it_holds_is_one_line(
    verdict: str, holds: list[str], found: list[str], known: list[str], said: str
) -> None:
    row = audited(1, 0, verdict, ported=len(holds), holds_in=holds, found_in=found, datasets=len(known))
    audit = joined(row, [], own_pairs(known, NAMES))
    assert (audit["said"], audit["known_in"]) == (said, known)
    assert lay_out_where(audit) == f"Across data sets: {said}"
    assert lay_out_lifts(audit, 90) == []
    names = [f"set {i:02}" for i in range(20)]
    row = audited(1, 0, "local", ported=8, holds_in=names[:8])
    assert joined(row, [], own_pairs(names, names))["said"] == "holds in 8 of 20 data sets", "they are too many to name"


def test_only_its_own_literals_are_taken_in_their_order() -> None:
    row = audited(1, 0, "local", 0.25, found_in=["books"], eta_squared=0.031)
    rows = [
        literal(1, 0, 2, [0.0, None, 2.0], negated=True),
        literal(1, 0, 1, [1.0, -1.0, 0.0]),
        literal(1, 0, 1, [9.0, 9.0, 9.0], pole=None, model="range"),
        literal(1, 0, 1, [9.0, 9.0, 9.0], pole="bottom"),
    ]
    audit = joined(row, rows, own_pairs(["a", "b"], NAMES))
    assert [(p["rank"], p["negated"]) for p in audit["literals"]] == [(1, False), (2, True)]
    assert lay_out_where(audit).endswith("only in books; transfer 0.75 (0.75 to 0.75)")
    assert lay_out_where({**audit, "transfer_high": 4.36}).endswith("transfer cannot be told"), (
        "the interval is too wide"
    )
    assert said_numbers(audit).endswith("illusion 0.25 (0.25 to 0.25); variance between data sets 0.03")
    lines = lay_out_lifts(audit, 60)
    assert max(map(len, lines)) <= 60
    assert [line.strip() for line in lines if line.startswith("  word")] == [
        "word: word 1 (local)",
        "word: not word 2 (local)",
    ]
    assert "books 1.00 (0.37 to 2.72), news not known, tweets 7.39 (2.72 to 20.1)" in " ".join(map(str.strip, lines))
    assert said_lifts(literal(1, 0, 1, [2_000.0, None, 0.0])).startswith("books ")


def test_a_neuron_is_read_from_its_tables_as_json(tmp_path: Path) -> None:
    tables = {
        "audit/neurons": [audited(1, 0, "none"), audited(1, 1, "local", 0.5, holds_in=["news"], ported=1)],
        "audit/patterns": [literal(1, unit, 1, [0.0, 1.0, None]) for unit in (0, 1)],
        "audit/portability": pairs(["books", "news"], 2, 0, 0.0),
    }
    store = write_tables(tmp_path, {name: [{**row, "layer": 1} for row in rows] for name, rows in tables.items()})
    audit = read_audited_neuron(store, 1, 1, "top")
    assert audit is not None
    assert audit["said"] == "holds in 1 of 2 data sets (not in books)"
    assert [row["unit"] for row in audit["literals"]] == [1]
    assert json.loads(json.dumps(audit)) == audit
    assert read_audited_neuron(store, 1, 1, "bottom") is None
