import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ops import penn
from ops.literals import find as module
from ops.literals.find import Literals
from ops.literals.pool import SCHEMA, literal_rows
from ops.mine.pattern_kinds import pattern_kinds
from ops.patterns.occurrences import Occurrences
from ops.sentences.mining_view import MiningView
from ops.sentences.store import SentenceStore
from tests.unit.forms.plain_forms import plain_forms
from tests.unit.small_corpus import Sentence, open_corpus

OPTIONS: dict[str, Any] = {
    "engine": "compiled", "word_min_support": 0.1, "word_max_length": 3, "word_max_gap": 1, "tag_min_support": 0.1,
    "tag_max_length": 3, "tag_max_gap": 0, "subtree_min_support": 0.1, "subtree_max_nodes": 4,
}  # fmt: skip
# A word is a mark by its tag.
LEXICON = {"NN": ["cat", "Dog", "dog", "?"], "VBZ": ["runs", "Sees"], "JJ": ["old"], "DT": ["The", "a"]}
LEXICON |= {".": ["?", ".", "dog"]}
PATTERNS = {
    "word": ["dog", "the dog", "dog dog", "a old dog", "zebra", "the zebra", "?", "the ?"],
    "tag": ["NN", "DT NN", "NN NN VBZ", "NN XX", ".", "VBZ ."],
    "subtree": ["(NP (DT) (NN))", "(ROOT (S (NP)))", "(ROOT (NP))", "(S (NP) (VP))", "(NP (NP (NN)))", "(NP (QQ))"],
    "mark": ["?", ".", "!"],
    "word_class": ["cat, dog", "runs, sees", "zebra, lion", "old, zebra"],
    "value": ["dataset: docs", "author: ann", "author: eve", "colour: red", "author", "colour"],
    "length": ["1", "4", "7"],
    "form": ["form: question", "first_word: the", "first_word: zebra", "last_word: dog", "tense: present"],
}


def draw(seed: int, n: int) -> list[Sentence]:
    """Sentences with nested trees; some have no tags or tree, and some no words."""
    rng = np.random.default_rng(seed)

    def phrase(leaves: list[str]) -> str:
        if len(leaves) == 1 and rng.random() < 0.5:
            return leaves[0]
        cut = int(rng.integers(0, len(leaves) + 1))
        below = [phrase(part) for part in (leaves[:cut], leaves[cut:]) if part and len(part) < len(leaves)]
        return f"({rng.choice(['NP', 'VP', 'S'])} {' '.join(below or leaves)})"

    found = []
    for _ in range(n):
        tags = [str(tag) for tag in rng.choice(list(LEXICON), rng.integers(1, 9))]
        words = [str(rng.choice(LEXICON[tag])) for tag in tags]
        tree = f"(ROOT {phrase([f'({t} {w})' for t, w in zip(tags, words, strict=True)])})"
        given = {"author": str(rng.choice(["ann", "bo"]))} if rng.random() < 0.7 else {}
        place = {"dataset": str(rng.choice(["docs", "news"])), "doc_id": str(rng.integers(0, 9))}
        bare = rng.random() < 0.1
        found.append(Sentence(words, None if bare else tags, None if bare else tree, meta=given, **place))
    return found


def contains(sequence: list[str], pattern: list[str], gap: int) -> bool:
    ends = {place for place, item in enumerate(sequence) if item == pattern[0]}
    for item in pattern[1:]:
        ends = {
            place for place, other in enumerate(sequence)
            if other == item and any(end < place <= end + gap + 1 for end in ends)
        }  # fmt: skip
    return bool(ends)


def has_subtree(pattern: penn.Tree, tree: penn.Tree) -> bool:
    def at(wanted: penn.Tree, node: penn.Tree) -> bool:
        below = iter(child for child in node.children if child.label not in penn.PUNCTUATION_TAGS)
        return wanted.label == node.label and all(any(at(w, child) for child in below) for w in wanted.children)

    return at(pattern, tree) or any(has_subtree(pattern, child) for child in tree.children)


def subtree(brackets: str) -> penn.Tree:
    """A subtree of labels alone."""
    top = penn.Tree("")
    path = [top]
    for piece in re.findall(r"\((\w+)|\)", brackets):
        if piece:
            path[-1].children.append(penn.Tree(piece))
            path.append(path[-1].children[-1])
        else:
            path.pop()
    return top.children[0]


def collapsed(tree: penn.Tree) -> penn.Tree:
    below = [part for child in tree.children for part in (child.children if child.label == "S" else [child])]
    return penn.Tree(tree.label, below)


def holds(kind: str, items: list[str], pattern: str, s: Sentence, keeps_marks: bool, collapses: bool) -> bool:
    """Answer a literal about a sentence in plain Python."""
    tags = s.tags or [""] * len(s.words)
    is_mark = [t in penn.PUNCTUATION_TAGS if t else w in (".", "?") for w, t in zip(s.words, tags, strict=True)]
    lower = [word.lower() for word in s.words]
    kept = [word for word, mark in zip(lower, is_mark, strict=True) if keeps_marks or not mark]
    if kind == "word":
        return contains(kept, items, OPTIONS["word_max_gap"])
    if kind == "tag":
        own = [t for t in s.tags or [] if keeps_marks or t not in penn.PUNCTUATION_TAGS]
        return contains(own, items, OPTIONS["tag_max_gap"])
    if kind == "subtree":
        tree = penn.read(s.tree) if s.tree else penn.Tree("")
        return has_subtree(subtree(pattern), collapsed(tree) if collapses else tree)
    if kind == "mark":
        return any(mark and word == items[0] for word, mark in zip(lower, is_mark, strict=True))
    if kind == "word_class":
        return any(not mark and word in items for word, mark in zip(lower, is_mark, strict=True))
    if kind == "form":
        return items[1] in plain_forms(s.words, s.tags, "S").get(items[0], ())
    if kind == "value":
        values = {"dataset": s.dataset} | s.meta
        return items[0] in values if len(items) == 1 else values.get(items[0]) == items[1]
    return len(s.words) <= int(items[0])


def make_pool(kinds: list[str]) -> pa.Table:
    separators = {"word": " ", "tag": " ", "word_class": ", ", "value": ": ", "form": ": "}
    tables = []
    for kind in kinds:
        own = PATTERNS[kind]
        items = [p.strip("()").replace(")", "").replace("(", "").split() for p in own] if kind == "subtree" else (
            [p.split(separators[kind]) if kind in separators else [p] for p in own]
        )  # fmt: skip
        tables.append(literal_rows(kind, own, items))
    return pa.concat_tables([SCHEMA.empty_table(), *tables])


def make(
    store: SentenceStore, pool: pa.Table, punctuation: str = "drop", collapses: bool = False, nuisance: str = ""
) -> Literals:
    view = MiningView(store, "lower", collapses, punctuation)
    return Literals(pool, view, pattern_kinds(view, OPTIONS), [nuisance])


def as_lists(found: Occurrences) -> list[list[int]]:
    return [part.tolist() for part in np.split(found.sentences, found.offsets[1:-1])]


@pytest.mark.parametrize(("punctuation", "collapses"), [("drop", False), ("keep", True)])
@pytest.mark.parametrize("seed", [0, 1])
def test_every_literal_is_answered_as_in_plain_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, punctuation: str, collapses: bool
) -> None:
    sentences = draw(seed, 80)
    store = open_corpus(tmp_path, monkeypatch, sentences[:30], sentences[30:])
    rng = np.random.default_rng(seed)
    pool = make_pool(list(PATTERNS))
    pool = pool.take(rng.permutation(pool.num_rows))
    asked = make(store, pool, punctuation, collapses)
    rows = rng.permutation(80)[:50]

    def answers(which: list[int]) -> list[list[int]]:
        rules = punctuation == "keep", collapses
        return [[i for i, row in enumerate(rows) if holds(*literals[place], sentences[row], *rules)] for place in which]

    literals = [(own.kind, list(own.items), own.pattern) for own in asked.every]
    expected = answers(list(range(len(asked))))
    found = asked.find(rows)
    assert as_lists(found) == expected
    # Each kind has literals with some answers and, where it can, one with none.
    assert {kind for (kind, _, _), own in zip(literals, expected, strict=True) if 0 < len(own) < 50} == set(PATTERNS)
    some = rng.permutation(len(asked))[:9]
    assert as_lists(asked.find(rows, some)) == answers(some.tolist())
    monkeypatch.setattr(module, "_ROWS", 7)
    assert as_lists(asked.find(rows)) == expected
    assert as_lists(asked.find(rows, some)) == answers(some.tolist())


def test_without_tags_and_trees_their_literals_have_no_sentence_and_nobody_asked_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_corpus(tmp_path, monkeypatch, [Sentence(["the", "dog", "?"]), Sentence(["cat"])])
    asked = make(store, make_pool(["tag", "subtree", "word", "mark"]))
    patterns = [own.pattern for own in asked.every]
    found = dict(zip(patterns, as_lists(asked.find(np.arange(2))), strict=True))
    assert {pattern: rows for pattern, rows in found.items() if rows} == {"dog": [0], "the dog": [0], "?": [0]}
    none = np.zeros(0, np.int64)
    assert as_lists(asked.find(none)) == [[]] * len(asked)
    assert asked.find(np.arange(2), none).offsets.tolist() == [0]
    assert make(store, make_pool([])).find(np.arange(2)).offsets.tolist() == [0]


def test_what_a_literal_is_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = make(open_corpus(tmp_path, monkeypatch, draw(0, 20)), make_pool(["value", "word", "length", "word_class"]))
    nuisance = {own.pattern for own, is_nuisance in zip(asked.every, asked.nuisance, strict=True) if is_nuisance}
    assert nuisance == {"1", "4", "7", "dataset: docs", "author", "colour"}
    shown = [asked.every[i].pattern for i in np.argsort(asked.plainness)]
    assert shown[:3] == ["?", "dog", "zebra"]
    assert shown[-5:] == ["author", "colour", "1", "4", "7"]
    # A value is known where the sentence has the key; a data set, and what is no value, is known everywhere.
    known = {
        own.pattern: asked.every[base].pattern for own, base in zip(asked.every, asked.known, strict=True) if base >= 0
    }
    assert known == {"author: ann": "author", "author: eve": "author", "colour: red": "colour"}


def test_a_key_that_the_user_calls_nuisance_is_no_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, pool = open_corpus(tmp_path, monkeypatch, draw(0, 20)), make_pool(["value"])
    for key, expected in (("", {"author", "colour"}), ("author", {"author", "colour", "author: ann", "author: eve"})):
        found = make(store, pool, nuisance=key)
        assert {found.every[i].pattern for i in np.flatnonzero(found.nuisance)} == expected | {"dataset: docs"}
