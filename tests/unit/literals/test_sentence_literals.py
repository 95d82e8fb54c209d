from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from ops.literals.sentence_literals import form_literals, length_literals, value_literals, value_properties
from ops.mine.properties import Profiler
from ops.sentences.mining_view import MiningView
from ops.sentences.store import SentenceStore
from tests.unit.small_corpus import Sentence, open_corpus, random_sentences


def profiler_of(store: SentenceStore) -> Profiler:
    return Profiler(MiningView(store, "lower"))


def test_lengths_are_cut_at_quantiles_of_the_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [1, 1, 1, 2, 3, 3, 4, 8, 8, 9]
    sentences = [Sentence(["a"] * n) for n in sizes] + [Sentence(["a"] * 50, baseline=False)]
    found = length_literals(open_corpus(tmp_path, monkeypatch, sentences))
    # Of ten sentences the k-th shortest ends the k-th decile; 9 words is what all have at most.
    assert found["items"].to_pylist() == [["1"], ["2"], ["3"], ["4"], ["8"]]
    assert found["pattern"].to_pylist()[-1] == "at most 8 words"
    assert set(found["kind"].to_pylist()) == {"length"}


def test_the_cuts_are_the_deciles_and_four_quantiles_in_the_tails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths = np.random.default_rng(0).integers(1, 80, 500)
    found = length_literals(open_corpus(tmp_path, monkeypatch, [Sentence(["a"] * int(n)) for n in lengths]))
    ends = [int(n) for (n,) in found["items"].to_pylist()]
    shares = [0.02, 0.05, *(decile / 10 for decile in range(1, 10)), 0.95, 0.98]
    for share, end in zip(shares, ends, strict=True):
        assert (lengths <= end).mean() >= share > (lengths <= end - 1).mean()


@pytest.mark.parametrize("sizes", [[], [4, 4, 4]])
def test_one_length_is_no_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: list[int]) -> None:
    sentences = [Sentence(["a"] * n) for n in sizes] or [Sentence(["a"], baseline=False)]
    assert length_literals(open_corpus(tmp_path, monkeypatch, sentences)).num_rows == 0


def recount(sentences: list[Sentence], least: float) -> dict[tuple[str, str], int]:
    """Return the count of each frequent value, in plain Python."""
    own = [s for s in sentences if s.baseline]
    counts: dict[tuple[str, str], int] = defaultdict(int)
    documents = defaultdict(set)
    for s in own:
        for pair in [("dataset", s.dataset), *s.meta.items()]:
            counts[pair] += 1
            documents[pair].add(s.document)
    return {pair: n for pair, n in counts.items() if least * len(own) <= n < len(own) and len(documents[pair]) > 1}


@pytest.mark.parametrize("seed", [0, 1])
def test_frequent_values_are_those_of_a_recount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    sentences = random_sentences(seed, 60)
    profiler = profiler_of(open_corpus(tmp_path, monkeypatch, sentences[:25], sentences[25:]))
    for least in (0.0, 0.25, 0.3, 0.5):
        expected = recount(sentences, least)
        monkeypatch.setattr("ops.literals.sentence_literals.LEAST_SHARE", least)
        found = value_literals(profiler)
        pairs = sorted(expected, key=lambda pair: (-expected[pair], *pair))
        partly = [key for key in ("author", "topic") if any(name == key for name, _ in pairs)]
        assert found["items"].to_pylist() == [*map(list, pairs), *([key] for key in sorted(partly))]
        texts = [f"{name}: {value}" for name, value in pairs] + [f"has {key}" for key in sorted(partly)]
        assert found["pattern"].to_pylist() == texts
        with monkeypatch.context() as patch:
            patch.setattr("ops.literals.sentence_literals.MOST_VALUES", 1)
            first = value_literals(profiler)["items"].to_pylist()
        assert first[:1] == [list(pair) for pair in pairs[:1]]
        assert all(own == [pairs[0][0]] for own in first[1:])


def test_frequent_forms_are_those_of_a_recount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["Is it ?", "It is not", "I was", "Did I ?", "He is", "It was not", "I do", "We do"]
    tags = {"is": "VBZ", "was": "VBD", "did": "VBD", "do": "VBP", "not": "RB", "?": "."}
    words = [text.split() for text in texts]
    sentences = [
        Sentence(own, [tags.get(word.lower(), "PRP") for word in own], doc_id=str(i % 3), baseline=own[0] != "We")
        for i, own in enumerate(words)
    ]
    monkeypatch.setattr("ops.literals.sentence_literals.LEAST_SHARE", 0.25)
    profiler = profiler_of(open_corpus(tmp_path, monkeypatch, sentences))
    found = form_literals(profiler)
    assert set(found["kind"].to_pylist()) == {"form"}
    # Of 7 sentences at least 2, from two documents: both questions are of one document, and one sentence has "he".
    assert dict(zip(found["pattern"].to_pylist(), found["items"].to_pylist(), strict=True)) == {
        "pronoun: third singular": ["pronoun", "third singular"],
        "pronoun: first singular": ["pronoun", "first singular"],
        "tense: past": ["tense", "past"],
        "tense: present": ["tense", "present"],
        "first word: i": ["first_word", "i"],
        "last word: not": ["last_word", "not"],
        "negation": ["form", "negation"],
        "first word: it": ["first_word", "it"],
    }
    monkeypatch.setattr("ops.literals.sentence_literals.MOST_VALUES", 2)
    assert form_literals(profiler)["pattern"].to_pylist() == ["pronoun: third singular", "tense: present"]


def test_what_all_or_one_document_has_is_no_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [
        Sentence(["a"], doc_id="1", meta={"one": "x", "two": "y"}),
        Sentence(["b"], doc_id="1", meta={"one": "x", "two": "y"}),
        Sentence(["c"], doc_id="2", meta={"two": "y"}),
        Sentence(["d"], doc_id="3"),
        Sentence(["e"], doc_id="3", baseline=False, meta={"one": "x"}),
    ]
    found = value_literals(profiler_of(open_corpus(tmp_path, monkeypatch, sentences)))
    assert found["pattern"].to_pylist() == ["two: y", "has two"]


def test_a_key_named_as_a_property_keeps_its_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [Sentence([w], doc_id=w, meta={"dataset": "x" if w in "ab" else "z"}) for w in "abc"]
    profiler = profiler_of(open_corpus(tmp_path, monkeypatch, sentences))
    assert list(value_properties(profiler)) == ["dataset", "meta:dataset"]
    assert value_literals(profiler)["items"].to_pylist() == [["meta:dataset", "x"]]
