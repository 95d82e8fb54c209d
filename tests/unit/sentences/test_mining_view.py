from pathlib import Path

import numpy as np
import pytest

from ops.penn import PUNCTUATION_TAGS, ROOT, read, read_labels_and_sizes, write
from ops.sentences.mining_view import NO_TAG, MiningView
from tests.unit.small_corpus import Sentence, open_corpus

ALL = np.arange(3)
TAGGED = [
    Sentence(["The", "%", "-", "THE", "."], ["DT", "NN", "NN", "DT", "."]),
    Sentence(["``", "lol", "''", "--"], ["``", "UH", "''", ":"]),
    Sentence([".", ","], [".", ","]),
]
UNTAGGED = [Sentence(s.words) for s in TAGGED]


def words_of(text: MiningView, rows: np.ndarray = ALL) -> list[list[str]]:
    return [[text.word_names[c] for c in row] for row in text.words(rows).to_lists()]


def trees_of(text: MiningView, rows: np.ndarray) -> list[tuple[list[str], list[int]]]:
    forest = text.forest(rows)
    cuts = [slice(int(a), int(b)) for a, b in zip(forest.offsets[:-1], forest.offsets[1:], strict=True)]
    return [([text.label_names[c] for c in forest.label[s]], forest.size[s].tolist()) for s in cuts]


def merged(tree: str) -> tuple[list[str], list[int]]:
    """Labels and sizes of a tree whose S right under ROOT have gone, by way of the tree itself."""
    top = read(tree)
    if top.label == ROOT:
        top.children = [n for c in top.children for n in (c.children if c.label == "S" else [c])]
    return read_labels_and_sizes(write(top))


def test_punctuation_goes_by_its_tag_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = MiningView(open_corpus(tmp_path, monkeypatch, TAGGED))
    assert words_of(text) == [["The", "%", "-", "THE"], ["lol"], []]
    tags = [[text.tag_names[c] for c in row] for row in text.tags(ALL).to_lists()]
    assert tags == [["DT", "NN", "NN", "DT"], ["UH"], []]
    words, beside, is_mark = text.items(ALL)
    assert [text.word_names[c] for c in words.items] == [w for s in TAGGED for w in s.words]
    assert [text.tag_names[c] for c in beside.items] == [t for s in TAGGED for t in s.tags or []]
    assert beside.where(~is_mark).to_lists() == text.tags(ALL).to_lists()
    assert words.where(~is_mark).to_lists() == text.words(ALL).to_lists()


def test_punctuation_is_kept_in_words_and_tags_and_left_out_of_trees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = "(ROOT (NP (DT The) (NN cat)) (. !))"
    tagged = Sentence(["The", "cat", "!"], ["DT", "NN", "."], tree)
    store = open_corpus(tmp_path, monkeypatch, [tagged, UNTAGGED[1], TAGGED[2]])
    text = MiningView(store, punctuation="keep")
    assert words_of(text) == [["The", "cat", "!"], ["``", "lol", "''", "--"], [".", ","]]
    assert [[text.tag_names[c] for c in row] for row in text.tags(ALL).to_lists()] == [
        ["DT", "NN", "."],
        [],
        [".", ","],
    ]
    assert trees_of(text, ALL[:1]) == [read_labels_and_sizes(tree)]
    for ours, theirs in zip(text.items(ALL), MiningView(store).items(ALL), strict=True):
        assert np.array_equal(getattr(ours, "items", ours), getattr(theirs, "items", theirs))


def test_every_punctuation_tag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [Sentence(["a", "b"], [tag, "NN"]) for tag in sorted(PUNCTUATION_TAGS)]
    text = MiningView(open_corpus(tmp_path, monkeypatch, sentences))
    assert words_of(text, np.arange(len(sentences))) == [["b"]] * len(sentences)


def test_without_tags_punctuation_goes_by_sight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = MiningView(open_corpus(tmp_path, monkeypatch, UNTAGGED))
    assert words_of(text) == [["The", "%", "THE"], ["lol"], []]
    assert text.tags(ALL).to_lists() == [[], [], []]
    words, tags, is_mark = text.items(ALL)
    assert tags.lengths.tolist() == words.lengths.tolist()
    assert set(tags.items.tolist()) == {NO_TAG}
    assert words.where(~is_mark).to_lists() == text.words(ALL).to_lists()


def test_symbols_and_words_are_no_punctuation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = ["...", "\u2026", "\u2014", "\u201c", "?!", "(", "''", ":)"]
    words = ["%", "$", "a.", "C++", "U.S."]
    sentences = [Sentence([mark, word]) for mark in marks for word in words]
    text = MiningView(open_corpus(tmp_path, monkeypatch, sentences))
    assert words_of(text, np.arange(len(sentences))) == [[word] for _ in marks for word in words]


def test_a_sentence_without_tags_does_not_change_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = MiningView(open_corpus(tmp_path, monkeypatch, [TAGGED[0], UNTAGGED[1], TAGGED[2]]))
    alone = [words_of(text, np.array([row]))[0] for row in ALL]
    assert words_of(text) == alone


def test_folded_words_share_a_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = MiningView(open_corpus(tmp_path, monkeypatch, TAGGED), word_case="lower")
    assert words_of(text) == [["the", "%", "-", "the"], ["lol"], []]
    assert list(text.word_names) == sorted({w.lower() for s in TAGGED for w in s.words})


def test_an_s_right_under_root_is_merged_into_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = [
        "(ROOT (S (NP (NN a)) (S (VP (VB b)))))",
        "(ROOT (FRAG (S (NN a))))",
        "(ROOT (S (NN a)) (S (S (NN b)) (NN c)) (NP (NN d)))",
        "(ROOT (NN a))",
        "(S (S (NN a)))",
        "(ROOT (S (. .)) (NN a))",
    ]
    sentences = [Sentence(["a"], ["NN"], tree) for tree in trees] + [Sentence(["a"], ["NN"], None)]
    store, rows = open_corpus(tmp_path, monkeypatch, sentences), np.arange(len(sentences))
    for collapse, nodes in ((False, read_labels_and_sizes), (True, merged)):
        expected = [nodes(tree) for tree in trees] + [([], [])]
        assert trees_of(MiningView(store, collapse_root=collapse), rows) == expected
