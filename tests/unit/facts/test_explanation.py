"""A neuron's explanation, read from its tables and laid out."""

import re
from pathlib import Path
from typing import Any

import pytest

from ops.facts.explanation import evidence, lay_out_explanation, lay_out_terms, read_explanation, said_verdict
from ops.storage.store import Store
from tests.unit.facts.made_up_rows import explained, member, term, write_tables

ROW = explained(5, "top", 0.41, 0.12, 0.05, 0.01, f1_low=0.35, f1_high=0.47, single_f1=0.3, family=7)
TABLES = {
    "explanations": [explained(5, "bottom", None, None, None, None, verdict="weak", family=8), ROW],
    "explanation_terms": [
        term("range", None, "the", weight=-0.5, negated=True),
        term("winners", "bottom", "other"),
        term("winners", "top", "see"),
    ],
    "families": [
        member(4, "top", 7, is_leader=True),
        member(5, "bottom", 8, is_leader=True),
        member(5, "top", 7, correlation=0.75),
        member(6, "bottom", 7, correlation=-0.625),
    ],
}


def read(folder: Path, unit: int = 5, pole: str = "top") -> dict[str, Any]:
    found = read_explanation(write_tables(folder, TABLES), 1, unit, pole)
    assert found is not None
    return found


def test_an_explanation_is_read_and_laid_out_with_its_literals_and_its_family(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found["text"] == ROW["text"]
    assert [(t["model"], t["pattern"]) for t in found["terms"]] == [("range", "the"), ("winners", "see")]
    assert found["alike"] == {"leader": {"layer": 1, "unit": 4, "pole": "top"}, "members": 3}
    assert read_explanation(Store(str(tmp_path)), 1, 6, "top") is None
    assert lay_out_explanation(found, 300) == [
        ROW["text"],
        f"Verdict: {evidence(ROW)}",
        "One of 3 that go together, led by 1:4 top",
    ]
    assert max(map(len, lay_out_explanation({**found, "text": "so long " * 30}, 60))) <= 60
    own = {"leader": {"layer": 1, "unit": 5, "pole": "top"}, "members": 1_200}
    assert lay_out_explanation({**found, "alike": own}, 90)[-1] == "One of 1,200 that go together, which it leads"
    assert [line.split() for line in lay_out_terms(found, 90) if line.startswith("  ")] == [
        ["word:", "see", "2.000", "0.640", "0.0300", "0.250"],
        ["word:", "not", "the", "-0.500", "0.640", "0.0300", "0.250"],
    ]
    assert lay_out_terms({**found, "terms": []}, 90) == []


def test_winners_without_a_confirmed_rule_are_to_be_judged_by(tmp_path: Path) -> None:
    _, verdict, advice = lay_out_explanation(read(tmp_path, pole="bottom"), 90)
    assert verdict == "Verdict: weak"
    assert advice.startswith("Judge by the winners")


@pytest.mark.parametrize(
    ("changed", "beaten", "others", "numbers"),
    [
        ({"verdict": "nuisance", "nuisance_f1": 0.35, "matched_f1": None}, ["0.010"], ["0.350"], 6),
        ({"verdict": "none", "literals": 0, "f1_low": 0.0}, [], ["0.010", "0.120", "0.050"], 7),
        ({"verdict": "weak", "f1_low": None, "single_f1": None, "nuisance_f1": None}, [], ["0.010", "0.050"], 3),
    ],
)
def test_the_verdict_says_which_controls_the_interval_is_above(
    changed: dict[str, Any], beaten: list[str], others: list[str], numbers: int
) -> None:
    said = said_verdict(ROW | changed)
    before, _, after = said.partition("not surely above")
    assert before.startswith(changed["verdict"])
    assert re.findall(r"set \((0\.\d+)\)", before) == beaten
    assert re.findall(r"\((0\.\d+)\)", after) == others
    assert len(re.findall(r"0\.\d{3}", said)) == numbers
