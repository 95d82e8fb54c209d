from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.facts.examples import match_in_order, matched_words, spans_of_findings, spans_of_words

OPTIONS = {"word_case": "keep", "word_max_gap": 4, "tag_max_gap": 2, "subtree_root": "keep", "punctuation": "drop"}
SENTENCE: dict[str, Any] = {
    "text": "See the old map, and see more.",
    "words": ["See", "the", "old", "map", ",", "and", "see", "more", "."],
    "tags": ["VB", "DT", "JJ", "NN", ",", "CC", "VB", "JJR", "."],
    "tree": "(ROOT (S (VP (VP (VB See) (NP (DT the) (JJ old) (NN map))) (, ,) (CC and) (VP (VB see) (NP (JJR more))))"
    " (. .)))",
}


def words(kind: str, pattern: str, items: list[str], **options: Any) -> list[str] | None:
    row = {"kind": kind, "pattern": pattern, "items": items}
    found = matched_words(SENTENCE, row, OPTIONS | options)
    return None if found is None else [SENTENCE["words"][i] for i in found]


@given(
    st.lists(st.sampled_from("abc"), max_size=8),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
    st.integers(-1, 3),
)
def test_a_match_is_found_where_there_is_one(items: list[str], pattern: list[str], gap: int) -> None:
    def fits(places: tuple[int, ...]) -> bool:
        near = all(gap < 0 or b - a <= gap + 1 for a, b in pairwise(places))
        return near and [items[i] for i in places] == pattern

    every = [places for places in combinations(range(len(items)), len(pattern)) if fits(places)]
    found = match_in_order(items, pattern, gap)
    assert (found is None) == (not every)
    assert found is None or (tuple(found) in every and found[-1] == min(places[-1] for places in every))


def test_words_are_matched_as_they_were_mined() -> None:
    assert words("word", "See map", ["See", "map"]) == ["See", "map"]
    assert words("word", "See map", ["See", "map"], word_max_gap=1) is None
    assert words("word", "map and", ["map", "and"], word_max_gap=0) == ["map", "and"]
    assert words("word", "the see", ["old", "see"], word_case="lower") == ["old", "see"]
    assert words("word", "see map", ["see", "map"], word_case="lower") == ["See", "map"]


def test_tags_are_matched_without_punctuation_unless_it_was_mined() -> None:
    assert words("tag", "NN CC", ["NN", "CC"], tag_max_gap=0) == ["map", "and"]
    assert words("tag", "CC NN", ["CC", "NN"]) is None
    assert words("tag", ", CC", [",", "CC"], tag_max_gap=0) is None
    assert words("tag", ", CC", [",", "CC"], tag_max_gap=0, punctuation="keep") == [",", "and"]
    assert words("word", "map and", ["map", "and"], word_max_gap=0, punctuation="keep") is None


@pytest.mark.parametrize(
    ("pattern", "collapse", "expected"),
    [
        ("(VP (VB) (NP))", False, ["See", "the", "old", "map"]),
        ("(VP (VB) (NP (JJR)))", False, ["see", "more"]),
        ("(NP (DT) (NN))", False, ["the", "map"]),
        ("(NP (NN) (DT))", False, None),
        ("(ROOT (S (VP (CC))))", False, ["and"]),
        ("(ROOT (S (VP (CC))))", True, None),
        ("(ROOT (VP (CC)))", True, ["and"]),
        ("(ROOT (VP (CC)))", False, None),
    ],
)
def test_subtrees_mark_the_words_below_their_own_leaves(
    pattern: str, collapse: bool, expected: list[str] | None
) -> None:
    assert words("subtree", pattern, [], subtree_root="collapse" if collapse else "keep") == expected


def test_a_sentence_that_was_not_annotated_has_no_match() -> None:
    bare = {**SENTENCE, "tags": None, "tree": None}
    assert matched_words(bare, {"kind": "word", "pattern": "See", "items": ["See"]}, OPTIONS) is None
    assert matched_words(bare, {"kind": "subtree", "pattern": "(NP (DT))", "items": []}, OPTIONS) is None


def test_neighbouring_words_are_one_span_and_words_that_are_not_in_the_text_have_none() -> None:
    text = SENTENCE["text"]
    spans = spans_of_words(text, SENTENCE["words"], [0, 2, 3, 7])
    assert [text[a:b] for a, b in spans] == ["See", "old map", "more"]
    assert spans_of_words("I can't go", ["I", "can", "not", "go"], [2, 3]) == [(8, 10)]
    assert spans_of_words("I can't go", ["I", "cannot", "go"], [1]) == []


NO_GAPS = {"punctuation": "drop", "word_case": "keep", "word_max_gap": 0, "tag_max_gap": 0, "subtree_root": "keep"}
FELL_WORDS = ["It", "fell", "by", "10", "pct", "and", "8", "pct"]
FELL = {"text": " ".join(FELL_WORDS), "words": FELL_WORDS, "tags": ["PRP", "VBD", "IN", "CD", "NN", "CC", "CD", "NN"]}


def finding(kind: str, *items: str, share: float = 0.01) -> dict[str, Any]:
    row = {"kind": kind, "items": list(items), "text": " ".join(items), "baseline_share": share}
    return row | ({"pattern": " ".join(items)} if kind in ("word", "tag") else {})


def test_words_of_the_first_findings_are_marked_wherever_they_are() -> None:
    spans = spans_of_findings(FELL, [finding("tag", "CD"), finding("word", "by")], NO_GAPS)
    assert [FELL["text"][start:end] for start, end in spans] == ["by 10", "8"]
    assert spans_of_findings(FELL, [finding("tag", "CD", share=0.9), finding("value", "news")], NO_GAPS) == []
    topic = spans_of_findings(FELL, [finding("word_class", "pct", "fell")], NO_GAPS)
    assert [FELL["text"][start:end] for start, end in topic] == ["fell", "pct", "pct"]
