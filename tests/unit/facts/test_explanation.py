"""A neuron's explanation: what it is joined with, and its verdict in words."""

import re
from typing import Any

import pytest

from ops.facts.neuron_facts import with_family
from ops.facts.verdicts import said_verdict
from tests.unit.facts.made_up_rows import explained, member, term

ROW = explained(5, "top", 0.41, 0.12, 0.05, 0.01, f1_low=0.35, f1_high=0.47, single_f1=0.3, family=7)


def test_an_explanation_has_its_literals_and_its_family() -> None:
    terms = [term("range", None, "the"), term("winners", "bottom", "other"), term("winners", "top", "see")]
    families = [member(4, "top", 7, is_leader=True), member(5, "bottom", 8, is_leader=True), member(5, "top", 7)]
    found = with_family(ROW, terms, families)
    assert found["text"] == ROW["text"]
    assert [(t["model"], t["pattern"]) for t in found["terms"]] == [("range", "the"), ("winners", "see")]
    assert found["alike"] == {"leader": {"layer": 1, "unit": 4, "pole": "top"}, "members": 2}


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
