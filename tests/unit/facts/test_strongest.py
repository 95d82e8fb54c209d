"""The strongest findings about a neuron, and the content words that its winners share."""

from typing import Any

from ops.facts.strongest import shared_words, strongest
from tests.unit.facts.made_up_rows import pattern, value


def test_only_what_is_significant_and_preferred_is_listed() -> None:
    rows = [
        pattern("word", "sure"),
        pattern("word", "unsure", q_value=0.05),
        pattern("word", "avoided", g2=-10.0, lift=0.5),
        pattern("word", "nothing to compare with", q_value=None, lift=None, g2=0.0),
        pattern("tag", "NN NN"),
    ]
    found = strongest(rows, [value("topic", "space"), value("topic", "cars", q_value=0.9)], True)
    assert {kind: [row["text"] for row in own] for kind, own in found.items()} == {
        "word": ["sure"],
        "tag": ["NN NN"],
        "subtree": [],
        "value": ["space"],
    }
    assert [row["text"] for row in strongest(rows, [], False)["word"]] == ["avoided"]


def test_the_strongest_comes_first() -> None:
    rows = [pattern("word", "b", g2=5.0), pattern("word", "a", g2=50.0), pattern("tag", "c", g2=-7.0)]
    assert [row["text"] for row in strongest(rows, [], True)["word"]] == ["a", "b"]
    more = [*rows, pattern("word", "d", g2=-9.0), pattern("word", "e", g2=-8.0)]
    assert [row["text"] for row in strongest(more[::-1], [], False)["word"]] == ["d", "e"]


def test_values_that_count_tokens_or_are_shown_as_words_are_left_out() -> None:
    profiles = [value("tag", "NN"), value("words_per_sentence", "7"), value("noun", "map"), value("noun", "sea")]
    found = strongest([pattern("word", "map")], profiles, True)
    assert [(row["name"], row["text"]) for row in found["value"]] == [("noun", "sea")]


def test_a_value_that_two_properties_have_for_the_same_sentences_is_listed_once() -> None:
    profiles = [value("domain", "books"), value("dataset", "books"), value("topic", "books", count=29)]
    found = strongest([], profiles, True)["value"]
    assert [(row["name"], row["same_as"], row["count"]) for row in found] == [
        ("dataset", ["domain"], 30),
        ("topic", [], 29),
    ]
    avoided = strongest([], [value("a", "x", g2=-9.0), value("b", "x", g2=-9.0)], False)["value"]
    assert [row["same_as"] for row in avoided] == [["b"]]


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
    found = shared_words(profiles, [], 100)
    assert [(w["word"], w["count"], w["is_sure"]) for w in found] == [("dlrs", 20, True), ("net", 30, False)]
    patterns = [{"kind": "word", "pattern": "dlrs", "support": 24}, {"kind": "tag", "pattern": "net", "support": 90}]
    assert [w["count"] for w in shared_words(profiles, patterns, 100)] == [24, 30], "also as another class"
