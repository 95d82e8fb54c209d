"""The content words that winners share."""

from typing import Any

from ops.facts.strongest import shared_words


def word(value: str, count: int, q: float | None, lift: float = 10.0, name: str = "noun") -> dict[str, Any]:
    return {"property": name, "value": value, "count": count, "q_value": q, "lift": lift, "g2": float(count)}


def test_certain_words_come_first_and_others_are_called_less_certain() -> None:
    profiles = [
        word("net", 30, 0.5),
        word("dlrs", 20, 0.001),
        word("Dlrs", 3, 0.01),
        word("news", 90, 0.0, name="dataset"),
    ]
    profiles += [word("of", 40, 0.5, lift=1.2), word("rare", 3, 0.5), word("said", 2, 0.001, name="verb")]
    found = shared_words(profiles, [], [], 100)
    assert [(w["word"], w["count"], w["is_sure"]) for w in found] == [("dlrs", 20, True), ("net", 30, False)]


def test_words_of_a_topic_count_where_winners_have_them() -> None:
    sentences = [{"words": ["The", "Exam"]}] * 4 + [{"words": ["school"]}] * 3 + [{"words": None}]
    found = shared_words([], [{"items": ["exam", "school", "pupil"]}], sentences, 8)
    assert [(row["word"], row["count"], row["is_sure"]) for row in found] == [("exam", 4, False)]
