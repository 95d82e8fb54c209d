"""Which neurons are listed as the best, and which pole of a neuron comes first."""

from pathlib import Path
from typing import Any

import pytest

from ops.facts.run_facts import RunFacts, better_pole
from ops.show.best import lay_out_best, read_best, with_words
from tests.unit.facts.made_up_rows import explained, member, pattern, run_facts, write_tables


def score(unit: int, pole: str, excess: float | None) -> dict[str, Any]:
    row = {"layer": 1, "unit": unit, "pole": pole, "auc": 0.7, "matched_auc": 0.5, "auc_excess": excess}
    return row | {"n_winners": 9, "n_baseline": 9}


def run(folder: Path, **tables: list[dict[str, Any]]) -> RunFacts:
    return run_facts(write_tables(folder, tables), silent={(1, 4)})


def test_leaders_of_families_with_a_rule_come_by_what_is_beyond_their_controls(tmp_path: Path) -> None:
    rows = [
        explained(0, "top", 0.4, 0.38, 0.1, 0.05, family=0),
        explained(1, "bottom", 0.3, 0.05, 0.1, 0.0, family=1),
        explained(2, "top", 0.29, 0.0, 0.0, 0.0, family=1),
        explained(3, "top", 0.9, 0.0, 0.0, 0.0, family=2, verdict="source"),
        explained(4, "top", 0.8, 0.0, 0.0, 0.0, family=3),
    ]
    members = [member(0, "top", 0, True), member(1, "bottom", 1, True), member(2, "top", 1), member(3, "top", 2, True)]
    facts = run(tmp_path, explanations=rows, families=[*members, member(4, "top", 3, True)])
    found = read_best(facts)
    assert [(row["unit"], row["pole"], row["members"]) for row in found] == [(1, "bottom", 2), (0, "top", 1)]
    assert [row["margin_low"] for row in found] == pytest.approx([0.2, 0.02])
    lines = lay_out_best(facts, with_words(facts, found[:1]), len(found), 90).splitlines()
    assert lines[0].startswith("1 of 2 families of neurons with a rule, best first")
    assert next(line for line in lines if "1:1" in line).split() == [
        "1:1", "bottom", "0.300", "0.200", "2", "with", "*w1*", "and", "of", "at", "most", "9", "words",
    ]  # fmt: skip
    assert max(map(len, lines)) <= 90


def test_where_nothing_is_explained_scores_decide_and_words_are_said(tmp_path: Path) -> None:
    patterns = [
        pattern("word", word, layer=1, unit=2, pole="top", rank=rank, size=1, g2=g2)
        for rank, (word, g2) in enumerate((("see", 90.0), ("see more", 40.0), ("the", -5.0)), 1)
    ]
    scores = [score(0, "top", 0.1), score(1, "top", None), score(2, "top", 0.3), score(3, "top", -0.2)]
    facts = run(tmp_path, scores=scores, patterns=patterns)
    found = read_best(facts)
    assert [row["unit"] for row in found] == [2, 0]
    rows = with_words(facts, found)
    assert [row["text"] for row in rows] == ["see, see more", ""]
    line = next(x for x in lay_out_best(facts, rows, 2, 80).splitlines() if "1:2" in x)
    assert line.split() == ["1:2", "top", "0.700", "0.300", "see,", "see", "more"]
    assert read_best(run_facts()) == []
    assert lay_out_best(facts, [], 0, 80).startswith("No neuron stands out")


def test_the_better_pole_is_the_explained_one_then_by_f1_by_excess_and_by_score() -> None:
    both = ("bottom", "top")
    weak, strong = explained(0, "bottom", 0.9, 0.0, 0.0, 0.0, verdict="none"), explained(0, "top", 0.2, 0.1, 0.1, 0.1)
    assert better_pole(both, [weak, strong], []) == "top"
    assert better_pole(both, [{**weak, "verdict": "rule"}, strong], []) == "bottom"
    unknown = [explained(0, pole, None, None, None, None, verdict="none") for pole in both]
    assert better_pole(both, unknown, [score(0, "bottom", 0.2), score(0, "top", 0.1)]) == "bottom"
    assert better_pole(both, [], [score(0, "bottom", None), score(0, "top", 0.1)]) == "top"
    assert better_pole(both, unknown, [{**score(0, "bottom", None), "auc": 0.9}, score(0, "top", None)]) == "bottom"
    assert better_pole(both, unknown, []) == better_pole(both, [], []) == "top"
    assert better_pole(["bottom"], [strong], []) == "bottom"
