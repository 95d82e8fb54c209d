from typing import Any

import pytest

from ops.respond.said import lay_out_common, lay_out_text, legend, said_of_common, said_of_text
from ops.topk.unit_names import NEURONS, UnitNames

ROW: dict[str, Any] = {
    "layer": 3, "unit": 77, "pole": "top", "activation": 0.4321, "z": 3.94, "tail": 0.00041, "tail_like": 0.002,
    "rank": 12, "alike": 6, "peak": "storm", "span": (4, 9), "tokens": [], "verdict": "rule",
    "explanation": "Typically *storm* (9 % of its winners, 1 % expected).",
}  # fmt: skip
BARE = ROW | {"layer": 1, "unit": 2, "pole": "bottom", "z": None, "tail_like": 0.5, "rank": None, "alike": 0}
FACTS: dict[str, Any] = {
    "text": "The storm left.", "notes": ["It is cut."], "sent_id": None, "dataset": None, "units": 2301, "outer": 71,
    "reference": 1000, "outer_q05": 6.0, "outer_q50": 22.0, "outer_q95": 70.9, "share_with_more": 0.0477,
    "fewest_tokens": 9, "most_tokens": 14,
    "rows": [ROW, BARE | {"peak": None, "explanation": None, "verdict": None}],
}  # fmt: skip


def test_the_head_says_whether_the_text_is_unusual() -> None:
    said = said_of_text(FACTS, NEURONS)
    assert said == [
        "It is cut.",
        "71 of 2,301 neurons are in the outer 1 % of the corpus: unusually many. Of 1,000 sentences of the corpus that "
        "are about as long (9 to 14 tokens), 4.8 % have more; the median has 22, and 90 % have 6 to 71.",
    ]
    of_corpus = said_of_text(FACTS | {"sent_id": 40, "dataset": "news"}, NEURONS)
    assert of_corpus[0] == "It is sentence 40 of the corpus (news), left out of all counts."


@pytest.mark.parametrize(
    ("outer", "verdict"), [(70, "not unusual"), (6, "not unusual"), (5, "unusually few"), (71, "unusually many")]
)
def test_only_what_few_sentences_exceed_is_unusual(outer: int, verdict: str) -> None:
    assert f": {verdict}. " in said_of_text(FACTS | {"outer": outer}, NEURONS)[1]


def test_without_a_reference_nothing_is_compared() -> None:
    said = said_of_text(FACTS | {"reference": 0, "notes": []}, NEURONS)
    assert len(said) == 1
    assert said[0].endswith("about as long, so it is compared with none.")
    lines = lay_out_text(FACTS | {"reference": 0}, 100, NEURONS, 110)
    assert not any(" like " in line for line in lines)
    assert "like:" not in legend(FACTS | {"reference": 0}, NEURONS)


def test_the_list_has_a_line_of_numbers_and_the_explanation_below() -> None:
    lines = lay_out_text(FACTS, 100, NEURONS, 110, layer=3)
    assert lines[0] == '"The storm left."'
    at = lines.index("Its most unusual neurons of layer 3")
    assert [line.split() for line in lines[at + 1 :]] == [
        ["neuron", "activation", "z", "tail", "like", "winner", "peak", "family"],
        ["3:77", "top", "0.4321", "+3.9", "0.00041", "0.002", "12", "of", "100", "storm", "+6"],
        ["rule:", "Typically", "*storm*."],
        ["1:2", "bottom", "0.4321", "-", "0.00041", "0.5", "-", "-"],
    ]
    assert all(len(line) <= 60 for line in lay_out_text(FACTS, 100, NEURONS, 60))


AXES, FEATURES = UnitNames("rotated axis", "rotated axes", {1: "a"}), UnitNames("feature", "features", {1: "a"})


def test_units_have_their_own_plural_and_tails() -> None:
    assert said_of_text(FACTS, AXES)[1].startswith("71 of 2,301 rotated axes are")
    assert "at both ends together" in legend(FACTS, AXES)
    assert "with at least this activation" in legend(FACTS, FEATURES)


def test_control_characters_of_a_text_are_spelled_out() -> None:
    assert lay_out_text(FACTS | {"text": "a\x1b[31mb", "rows": []}, 100, NEURONS, 80)[0] == '"a\\x1b[31mb"'


def test_what_texts_have_in_common() -> None:
    facts = {"texts": 10, "units": 3, "draws": 100, "draws_q50": 1.0, "draws_q95": 2.0, "rows": [ROW | {"texts": 7}]}
    said = said_of_common(facts, NEURONS)
    assert said.startswith(
        "In common: 3 neurons are in the outer 1 % of the corpus, at one end, for most of the 10 texts."
    )
    assert said.endswith("the median has 1 in common, and 95 % have at most 2.")
    lines = lay_out_common(facts, NEURONS, 110)
    assert [line.split() for line in lines[-4:]] == [
        ["neuron", "texts"], ["3:77", "top", "7", "of", "10"], ["rule:", "Typically", "*storm*."], ["and", "2", "more"],
    ]  # fmt: skip
    assert "nothing to compare" in said_of_common(facts | {"draws": 0}, NEURONS)
