from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ops.literals.pool import SCHEMA
from ops.literals.word_classes import CorpusWords, classes_of, corpus_words, token_vectors, topic_literals
from ops.model.load import read_facts
from ops.sentences.mining_view import MiningView
from tests.unit.small_corpus import Sentence, open_corpus

SPELLINGS = ["cat", "Cat", "CAT", "dog", "Dog", "the", "The", "sun"]


def sentences_of(seed: int, n: int) -> list[Sentence]:
    rng = np.random.default_rng(seed)
    share = np.array([5, 9, 1, 6, 3, 9, 9, 1]) / 43
    return [
        Sentence(
            [*map(str, rng.choice(SPELLINGS, rng.integers(1, 5), p=share)), "!"], baseline=bool(rng.random() < 0.8)
        )
        for _ in range(n)
    ]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_words_are_counted_without_regard_to_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    sentences = sentences_of(seed, 60)
    monkeypatch.setattr("ops.literals.word_classes._ROWS", 11)
    store = open_corpus(tmp_path, monkeypatch, sentences[:20], sentences[20:])
    found = corpus_words(MiningView(store, "lower"), np.flatnonzero(store.baseline))
    own = [s.words[:-1] for s in sentences if s.baseline]
    containing = Counter(word for words in own for word in {w.lower() for w in words})
    written = Counter(word for words in own for word in words)
    expected = sorted(word for word, n in containing.items() if n >= 5)
    assert found.words == expected
    assert found.sentences.tolist() == [containing[word] for word in expected]
    assert found.spellings == [
        min((s for s in SPELLINGS if s.lower() == word), key=lambda s: (-written[s], s)) for word in expected
    ]


def planted(seed: int, classes: int, each: int) -> tuple[CorpusWords, np.ndarray]:
    """Words around a direction of each class, which all share a large part; in each class `each`-1 is rare."""
    rng = np.random.default_rng(seed)
    centres = np.linalg.qr(rng.normal(size=(32, classes)))[0].T
    vectors = 10 * rng.normal(size=32) + np.repeat(centres, each, axis=0) + 0.05 * rng.normal(size=(classes * each, 32))
    words = [f"{chr(97 + c)}{i}" for c in range(classes) for i in range(each)]
    sentences = np.tile([*[100] * (each - 1), 5], classes)
    return CorpusWords(words, words, sentences), vectors.astype(np.float32)


def test_classes_that_lie_apart_are_found_and_named_by_typical_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.literals.word_classes._FEWEST_WORDS", 6)
    words, vectors = planted(0, 8, 6)
    found = topic_literals(words, vectors, 0)
    assert found.schema == SCHEMA
    assert sorted(sorted(own) for own in found["items"].to_pylist()) == [
        [f"{letter}{i}" for i in range(6)] for letter in "abcdefgh"
    ]
    for pattern, items in zip(found["pattern"].to_pylist(), found["items"].to_pylist(), strict=True):
        assert pattern == ", ".join(items[:3])
        assert items[-1].endswith("5")
    assert found.equals(topic_literals(words, vectors, 0))


def test_a_word_without_a_vector_and_a_class_of_one_word_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.literals.word_classes.classes_of", lambda words: 3)
    words, vectors = planted(1, 2, 3)
    lonely = CorpusWords([*words.words, "lonely", "unknown"], [], np.append(words.sentences, [50, 50]))
    far = vectors.mean(0) - 40 * np.ones(32, np.float32)
    found = topic_literals(lonely, np.vstack([vectors, far, np.zeros(32, np.float32)]), 0)
    assert sorted(sorted(own) for own in found["items"].to_pylist()) == [["a0", "a1", "a2"], ["b0", "b1", "b2"]]


@pytest.mark.parametrize("n", [0, 3])
def test_too_few_words_have_no_classes_and_many_have_up_to_five_hundred(n: int) -> None:
    few = CorpusWords(["w"] * n, ["w"] * n, np.full(n, 9))
    assert topic_literals(few, np.ones((n, 4), np.float32), 0).num_rows == 0
    assert topic_literals(few, np.zeros((n, 0), np.float32), 0).num_rows == 0
    sizes = [classes_of(n) for n in range(100_000)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1
    assert sizes[-1] == 500
    assert all(size >= 200 for size in sizes[800:])


def test_the_model_s_token_table_gives_words_of_a_kind_similar_vectors() -> None:
    facts = read_facts("sample")
    assert token_vectors([], facts).shape == (0, 0)
    vectors = token_vectors(["Monday", "Tuesday", "purple", "yellow"], facts)
    unit = (vectors - vectors.mean(0)) / np.linalg.norm(vectors - vectors.mean(0), axis=1, keepdims=True)
    likeness = unit @ unit.T
    assert likeness[0, 1] > likeness[0, 2:].max()
    assert likeness[2, 3] > likeness[2, :2].max()
