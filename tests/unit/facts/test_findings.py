"""One list of what sets winners apart: it says nothing twice, and nothing depends on only one or two sentences."""

import random
from itertools import combinations
from typing import Any

import pytest

from ops.facts.findings import avoidances, findings, shared_words, strongest, times, winners_with
from ops.facts.neuron_lists import label
from ops.statistics.association import measures
from tests.unit.facts.made_up_rows import OTHERS, WINNERS, pattern, value

OPTIONS = {
    "subtree_root": "keep", "punctuation": "drop", "word_case": "keep",
    "word_max_gap": 4, "tag_max_gap": 2,
}  # fmt: skip


def topic(count: int, **more: Any) -> dict[str, Any]:
    row = {"model": "winners", "kind": "word_class", "pattern": "exam, school, work", "negated": False}
    return row | {"items": ["exam", "school", "work", "lesson"], "share": count / 100, "baseline_share": 0.01, **more}


def texts(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(row["kind"], row["text"]) for row in rows]


def variants(row: dict[str, Any]) -> list[str]:
    return [other["text"] for other in row["variants"]]


def test_all_kinds_are_in_one_list_the_strongest_first() -> None:
    patterns = [pattern("word", "see", 30), pattern("tag", "WP VBZ", 40), pattern("subtree", "(SBARQ (WHNP))", 50)]
    profiles = [value("punctuation", "?", 60), value("dataset", "faq", 20), value("author", "Doe", 10)]
    found = findings(patterns, profiles, [topic(25)])
    assert texts(found) == [
        ("mark", "?"), ("subtree", "(SBARQ (WHNP))"), ("tag", "WP VBZ"), ("word", "see"),
        ("word_class", "exam/school/work"), ("value", "faq"), ("value", "Doe"),
    ]  # fmt: skip
    assert [row["name"] for row in found[-2:]] == ["dataset", "author"]
    assert {row["n"] for row in found} == {WINNERS}
    by_hand = measures(25, WINNERS, 10, OTHERS)
    assert found[4]["g2"] == pytest.approx(by_hand.g2[0])
    assert found[4]["lift_high"] == pytest.approx(by_hand.lift[0] ** 2 / by_hand.lift_low[0])


def test_one_or_two_winners_are_no_finding_and_topics_are_those_of_the_winners_score_card() -> None:
    patterns = [pattern("word", f"w{count}", count, 0) for count in (1, 2, 3)]
    found = findings(patterns, [value("punctuation", "!", 2, 0)], [topic(2, baseline_share=0.0)])
    assert texts(found) == [("word", "w3")]
    others = [topic(25, negated=True), topic(25, model="activation"), topic(25, kind="word")]
    found = findings([], [value("dataset", "faq", 20)], [*others, topic(25, pole="top")])
    assert texts(found) == [("word_class", "exam/school/work"), ("value", "faq")]


def test_what_contains_an_earlier_one_or_is_contained_in_it_is_a_variant() -> None:
    rows = [
        pattern("word", "of the", 50), pattern("word", "the of the", 30), pattern("word", "Of", 40, 20),
        pattern("word", "OF THE", 10), pattern("word", "a", 20), pattern("tag", "IN DT", 49), pattern("tag", "DT", 42),
        pattern("subtree", "(NP (NP) (PP (IN)))", 44), pattern("subtree", "(PP (IN))", 43),
        pattern("subtree", "(PP (NP))", 42),
    ]  # fmt: skip
    found = findings(rows, [value("noun", "A", 19)])
    assert [(row["text"], variants(row)) for row in found] == [
        ("of the", ["Of", "the of the", "OF THE"]),
        ("IN DT", ["DT"]),
        ("(PP (IN))", ["(NP (NP) (PP (IN)))"]),
        ("(PP (NP))", []),
        ("a", ["A"]),
    ]


def test_of_near_copies_the_plainest_is_shown_with_its_own_numbers() -> None:
    rows = [pattern("word", "see also", 50), pattern("word", "see", 48)]
    (found,) = findings(rows, [])
    assert (found["text"], found["count"], variants(found)) == ("see", 48, ["see also"])
    (found,) = findings([pattern("word", "see also", 50), pattern("word", "see", 60, 200)], [])
    assert found["text"] == "see also", "see alone is far more frequent elsewhere"
    # A longer form that says clearly more stays.
    rows = [pattern("word", "be", 80, 250), pattern("word", "not be", 25, 2), pattern("word", "to be", 30, 60)]
    assert [(row["text"], variants(row)) for row in findings(rows, [])] == [("be", ["to be"]), ("not be", [])]


def test_no_two_that_are_shown_contain_each_other_unless_the_longer_says_more() -> None:
    rng = random.Random(1)
    words = ["of", "the", "Of", "in", "a"]
    rows = {" ".join(rng.choices(words, k=rng.randint(1, 3))) for _ in range(200)}
    found = findings([pattern("word", text, rng.randint(20, 90), rng.randint(5, 60)) for text in sorted(rows)], [])
    assert len(rows) == sum(1 + len(row["variants"]) for row in found), "none is lost"
    assert [row["g2"] for row in found] == sorted((row["g2"] for row in found), reverse=True)
    for one, other in combinations(found, 2):
        short, long = sorted((one, other), key=lambda row: len(row["items"]))
        places = iter(item.lower() for item in long["items"])
        if all(item.lower() in places for item in short["items"]):
            assert long["lift_low"] >= 2 * short["lift"]


def test_kinds_that_hold_for_the_same_winners_are_one_finding() -> None:
    rows = [pattern("subtree", "(SBARQ (WHNP))", 60), pattern("word", "What", 50), pattern("word", "a", 55, 400)]
    profiles = [value("punctuation", "?", 58), value("dataset", "faq", 58)]
    have = {"(SBARQ (WHNP))": range(20), "What": range(10), "?": range(1, 20), "faq": range(20), "a": range(20)}
    found = findings(rows, profiles, holds=lambda row: frozenset(have[row["text"]]))
    assert texts(found) == [("mark", "?"), ("value", "faq"), ("word", "What"), ("word", "a")]
    assert variants(found[0]) == ["(SBARQ (WHNP))"]


def test_syntax_that_holds_within_an_earlier_one_s_winners_stays_only_if_it_says_more() -> None:
    rows = [
        pattern("word", "see", 60, 50), pattern("word", "also", 20, 20), pattern("tag", "VB IN", 30, 40),
        pattern("subtree", "(S (VP))", 25, 2), pattern("tag", "NN", 20, 10),
    ]  # fmt: skip
    have = {"see": range(20), "also": range(9), "VB IN": range(9), "(S (VP))": range(9), "NN": range(12, 30)}
    found = findings(rows, [], holds=lambda row: frozenset(have[row["text"]]))
    assert {row["text"]: variants(row) for row in found} == {"see": ["VB IN"], "(S (VP))": [], "NN": [], "also": []}


def test_what_winners_avoid_is_folded_too() -> None:
    rows = [pattern("word", "of", 1, 400), pattern("word", "of the", 0, 300), pattern("word", "see", 50)]
    (found,) = avoidances(rows, [value("punctuation", "?", 50)])
    assert (found["text"], variants(found), found["count"]) == ("of", ["of the"], 1)


def test_without_a_baseline_no_other_sentence_has_it() -> None:
    (row,) = findings([pattern("word", "see", 5, 0)], [])
    assert times(row) == "no other"
    assert times({**row, "baseline_share": None, "lift": None}) == "-"


def test_winners_with_a_finding_of_any_kind() -> None:
    sentences = [
        {
            "words": ["See", "Work", "?"],
            "tags": ["VB", "NN", "."],
            "tree": None,
            "dataset": "faq",
            "meta": {"by": "X", "tag": "NN"},
        },
        {"words": ["?", "see"], "tags": ["NN", "VB"], "tree": "(ROOT (NP (NN ?)))", "dataset": "d", "meta": None},
        {"words": None, "tags": None, "tree": None, "dataset": "faq"},
    ]
    rows = findings(
        [pattern("word", "see", 9), pattern("tag", "VB NN", 9), pattern("subtree", "(ROOT (NP))", 9)],
        [
            value("punctuation", "?", 9),
            value("dataset", "faq", 9),
            value("by", "X", 9),
            value("meta:tag", "NN", 9),
            value("noun", "Work", 9),
        ],
        [topic(9)],
    )
    found = {row["text"]: sorted(winners_with(row, sentences, OPTIONS)) for row in rows}
    assert found == {
        "see": [1], "VB NN": [0], "(ROOT (NP))": [1], "?": [0], "faq": [0, 2], "X": [0], "NN": [0], "Work": [0],
        "exam/school/work": [0],
    }  # fmt: skip


def test_a_form_is_one_finding_with_the_words_and_marks_that_say_the_same() -> None:
    sentences = [{"words": ["Who", "came", mark], "tags": ["WP", "VBD", "."], "tree": None} for mark in "??????...."]
    profiles = [value("form", "question", 6, 1), value("first_word", "who", 10, 5), value("punctuation", "?", 6, 1)]
    found = findings([], profiles, holds=lambda row: winners_with(row, sentences, OPTIONS))
    assert texts(found) == [("form", "who"), ("mark", "?")]
    assert [label(row) for row in found] == ["first word: who", "mark: ?"]
    assert variants(found[1]) == ["question"]
    assert winners_with(found[0], sentences, OPTIONS) == set(range(10))


def test_only_what_is_significant_and_preferred_is_listed() -> None:
    rows = [
        pattern("word", "sure"),
        pattern("word", "unsure", q_value=0.05),
        pattern("word", "avoided", g2=-10.0, lift=0.5),
        pattern("word", "nothing to compare with", q_value=None, lift=None, g2=0.0),
        pattern("tag", "NN NN"),
    ]
    found = strongest(rows, [value("topic", "space"), value("topic", "cars", q_value=0.9)], True)
    assert texts(found) == [("word", "sure"), ("tag", "NN NN"), ("value", "space")]
    assert texts(strongest(rows, [], False)) == [("word", "avoided")]


def test_the_strongest_comes_first() -> None:
    rows = [pattern("word", "b", g2=5.0), pattern("word", "a", g2=50.0), pattern("tag", "c", g2=-7.0)]
    assert texts(strongest(rows, [], True)) == [("word", "a"), ("word", "b")]
    more = [*rows, pattern("word", "d", g2=-9.0), pattern("word", "e", g2=-8.0)]
    assert texts(strongest(more[::-1], [], False)) == [("word", "d"), ("word", "e"), ("tag", "c")]


def test_values_that_count_tokens_or_are_shown_as_words_are_left_out() -> None:
    profiles = [value("tag", "NN"), value("words_per_sentence", "7"), value("noun", "map"), value("noun", "sea")]
    found = strongest([pattern("word", "map")], profiles, True)
    assert [(row["name"], row["text"]) for row in found] == [("word", "map"), ("noun", "sea")]


def test_a_value_that_two_properties_have_for_the_same_sentences_is_listed_once() -> None:
    profiles = [value("domain", "books"), value("dataset", "books"), value("topic", "books", count=29)]
    found = strongest([], profiles, True)
    assert [(row["name"], row["same_as"], row["count"]) for row in found] == [
        ("dataset", ["domain"], 30),
        ("topic", [], 29),
    ]
    avoided = strongest([], [value("a", "x", g2=-9.0), value("b", "x", g2=-9.0)], False)
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
