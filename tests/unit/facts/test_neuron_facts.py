"""What a neuron's facts are joined from."""

from ops.facts.neuron_facts import is_hub, with_family
from ops.sentences.selection import most_wins
from tests.unit.facts.made_up_rows import explained, member, term


def test_a_hub_wins_ten_times_as_often_as_by_chance_beyond_its_family() -> None:
    most = most_wins(100, 5_000, 4_608)
    assert not is_hub({"wins": 922}, most), "its own win is one of them"
    assert is_hub({"wins": 923}, most)
    assert not is_hub({"wins": 1_000}, most, family=79)
    assert is_hub({"wins": 1_001}, most, family=79)


def test_an_explanation_has_its_literals_and_its_family() -> None:
    row = explained(5, "top", 0.41, 0.12, 0.05, 0.01, family=7)
    terms = [term("activation", None, "the"), term("winners", "bottom", "other"), term("winners", "top", "see")]
    families = [member(4, "top", 7, is_leader=True), member(5, "bottom", 8, is_leader=True), member(5, "top", 7)]
    found = with_family(row, terms, families)
    assert found["text"] == row["text"]
    assert [(t["model"], t["pattern"]) for t in found["terms"]] == [("activation", "the"), ("winners", "see")]
    assert found["alike"] == {"leader": {"layer": 1, "unit": 4, "pole": "top"}, "members": 2}
