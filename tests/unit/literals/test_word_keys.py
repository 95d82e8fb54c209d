"""Keys of words and pairs, and how many of them four documents contain."""

from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ops.literals.word_keys import count_frequent, distinct_keys, words_of
from ops.patterns.sequences import Sequences
from ops.sentences.mining_view import MiningView
from tests.unit.small_corpus import Sentence, open_corpus


def test_every_word_and_pair_of_neighbours_has_its_own_key() -> None:
    sentences = [[3, 1, 3, 1], [], [0], [2, 3, 1]]
    key, sentence = distinct_keys(Sequences.from_lists(sentences), 4)
    found = [(tuple(words_of(k, 4)), s) for k, s in zip(key.tolist(), sentence.tolist(), strict=True)]
    expected = {
        (part, i) for i, words in enumerate(sentences)
        for part in [*((word,) for word in words), *pairwise(words)]
    }  # fmt: skip
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert np.array_equal(np.lexsort((sentence, key)), np.arange(len(key)))


@pytest.fixture(scope="module")
def corpus() -> list[Sentence]:
    rng = np.random.default_rng(0)
    return [
        Sentence([f"w{int(300 * rng.random() ** 2)}" for _ in range(12)], doc_id=str(rng.integers(150)))
        for _ in range(800)
    ]


def test_frequent_words_are_counted_by_document(
    corpus: list[Sentence], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for s in corpus:
        for part in [*((word,) for word in s.words), *pairwise(s.words)]:
            documents[part].add(s.doc_id)
    expected = sum(len(own) >= 4 for own in documents.values())
    view = MiningView(open_corpus(tmp_path, monkeypatch, corpus), "lower")
    assert count_frequent(view, 0) == expected
    # Of a sample of the keys, the number is estimated.
    monkeypatch.setattr("ops.literals.word_keys._MOST_KEYS", 8_000)
    estimates = [count_frequent(view, seed) for seed in range(6)]
    assert len(set(estimates)) > 1
    assert np.mean(estimates) == pytest.approx(expected, rel=0.1)
