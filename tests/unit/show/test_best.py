"""Which neurons are listed as the best, and which pole of a neuron comes first."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from ops.facts.best import said_in_brief
from ops.facts.run_facts import RunFacts, better_pole
from ops.show.best import lay_out_best, read_best, with_words
from tests.unit.facts.made_up_rows import explained, member, pattern, run_facts, value, write_tables


def score(unit: int, pole: str, excess: float | None) -> dict[str, Any]:
    row = {"layer": 1, "unit": unit, "pole": pole, "auc": 0.7, "matched_auc": 0.5, "auc_excess": excess}
    return row | {"n_winners": 9, "n_baseline": 9}


def run(folder: Path, **tables: list[dict[str, Any]]) -> RunFacts:
    return run_facts(write_tables(folder, tables), silent={(1, 4)})


def won(unit: int, pole: str, sentences: range) -> list[dict[str, Any]]:
    here = {"layer": 1, "unit": unit, "pole": pole, "activation": 1.0}
    return [here | {"rank": rank, "sent_id": sent_id} for rank, sent_id in enumerate(sentences, 1)]


def test_leaders_that_are_one_finding_are_listed_once_by_what_is_beyond_their_controls(tmp_path: Path) -> None:
    """Unit 5 has most of unit 1's winners, and unit 0 not quite half.

    Unit 6 has the main word of unit 0 half as often, beyond the corpus, and unit 0 has the form of unit 6 half as
    often. Unit 7 has it too, but its own word is rarer in unit 0. No table lists the first entry of unit 6.
    """
    typical = {0: [("word", "a")], 6: [("word_class", "b, c"), ("form", "first word: you")], 7: [("word", "d")]}
    rows = [
        explained(0, "top", 0.4, 0.38, 0.1, 0.05, family=0),
        explained(1, "bottom", 0.3, 0.05, 0.1, 0.0, family=1),
        explained(2, "top", 0.29, 0.0, 0.0, 0.0, family=1),
        explained(3, "top", 0.9, 0.0, 0.0, 0.0, family=2, verdict="source"),
        explained(4, "top", 0.8, 0.0, 0.0, 0.0, family=3),
        *(
            explained(unit, "top", 0.2, 0.2 - margin, 0.0, 0.0, family=unit)
            for unit, margin in ((5, 0.019), (6, 0.018), (7, 0.017))
        ),
    ]
    leaders = {0: 0, 3: 2, 4: 3, 5: 5, 6: 6, 7: 7}
    members = [member(unit, "top", family, True) for unit, family in leaders.items()]
    members += [member(1, "bottom", 1, True), member(2, "top", 1, correlation=0.7)]
    wins = [won(0, "top", range(21, 51)), won(1, "bottom", range(10, 40)), won(5, "top", range(16, 40))]
    wins += [won(unit, "top", range(100 * unit, 100 * unit + 30)) for unit in (2, 3, 4, 6, 7)]
    entry = {"winners": 9, "expected": 1.0, "q": 0.01, "docs": 9, "words": []}
    for row in rows:
        row["typical"] = [entry | {"kind": kind, "pattern": text} for kind, text in typical.get(row["unit"], ())]
    # The corpus's share is 10 %.
    words = [(0, "a", 30), (0, "A", 50), (6, "A", 31), (7, "a", 90), (0, "d", 29), (7, "d", 50)]
    patterns = [
        pattern("word", text, count, 100, layer=1, unit=unit, pole="top", rank=1, size=1) for unit, text, count in words
    ]
    profiles = [
        value("first_word", "You", count, 100, layer=1, unit=unit, pole="top", rank=1)
        for unit, count in ((6, 30), (0, 21), (7, 21))
    ]
    tables = {"explanations": rows, "families": members, "patterns": patterns, "profiles": profiles}
    facts = run(tmp_path, topk=[row for own in wins for row in own], **tables)
    facts.tables._sets["explanations"] = ds.dataset(pa.Table.from_pylist(rows))
    found = read_best(facts)
    listed = [(row["unit"], row["pole"], row["members"], [one["unit"] for one in row["also"]]) for row in found]
    assert listed == [(1, "bottom", 3, [5, 2]), (0, "top", 2, [6]), (7, "top", 1, [])]
    assert [row["margin_low"] for row in found] == pytest.approx([0.2, 0.02, 0.017])
    lines = lay_out_best(facts, with_words(facts, found[:1]), len(found), None, 90).splitlines()
    assert lines[0] == "6 of 7 neurons and poles have a rule, and 0 a tendency."
    assert lines[1].startswith("1 of 3 distinct rules, best first")
    assert next(line for line in lines if "1:1" in line).split()[:11] == [
        "1:1", "bottom", "0.300", "0.200", "1:5", "and", "1:2", "Rule:", "sentences", "with", "*w1*",
    ]  # fmt: skip
    assert max(map(len, lines)) <= 90


@pytest.mark.parametrize(
    ("own", "rotated", "end"),
    [
        (0.25, 0.25, "25 % of neurons and 25 % of randomly rotated axes have a rule, so neurons do no better than "),
        (0.30, 0.25, "have a rule, a difference that chance can explain."),
        (0.50, 0.25, "50 % of neurons and 25 % of randomly rotated axes have a rule."),
    ],
)
def test_the_first_line_compares_neurons_with_rotated_axes(
    tmp_path: Path, own: float, rotated: float, end: str
) -> None:
    shares = {"neurons": (own - 0.05, own + 0.05), "rotated": (rotated, rotated), "shuffled": (0.9, 0.9)}
    named = {"model": "winners", "measure": "found", "n": 100}
    rows = [
        named | {"layer": layer, "basis": basis, "mean": mean}
        for basis, means in shares.items()
        for layer, mean in enumerate(means, 1)
    ]
    rows.append(named | {"layer": 1, "basis": "rotated", "measure": "f1", "mean": 0.99})
    explained_rows = [explained(unit, "top", 0.4, 0.1, 0.1, 0.1, verdict=v) for unit, v in enumerate(("rule", "none"))]
    facts = run(tmp_path, explanations=explained_rows, **{"explain/controls": rows})
    said = said_in_brief(facts)
    assert said.startswith("1 of 2 neurons and poles have a rule, and 0 a tendency; asked alike ")
    assert end in said


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
    line = next(x for x in lay_out_best(facts, rows, 2, None, 80).splitlines() if "1:2" in x)
    assert line.split() == ["1:2", "top", "0.700", "0.300", "see,", "see", "more"]
    assert read_best(run_facts()) == []
    for pole, here in ((None, ""), ("top", " at the pole top")):
        assert lay_out_best(facts, [], 0, pole, 80).startswith(f"No neuron stands out{here}:")


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
