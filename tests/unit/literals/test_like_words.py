"""Words that are alike in a token table."""

import numpy as np
import pytest

from ops.literals.like_words import LikeWords
from ops.sentences.names import Names


def make(like: int) -> tuple[list[str], LikeWords]:
    """Return 400 words, of which the first `like` have nearly the same vector, and a last one whose vector is zero."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((400, 30)).astype(np.float32) + 5
    vectors[:like] = vectors[0] + rng.standard_normal((like, 30)) / 50
    vectors[-1] = 0
    words = [f"w{i:03}" for i in range(400)]
    return words, LikeWords.of(words, vectors, Names.of(["!", *words]), 0)


def test_the_bar_is_the_quantile_of_random_pairs() -> None:
    _, found = make(2)
    directions = found.directions.astype(np.float64)
    assert np.linalg.norm(directions, axis=1) == pytest.approx(1, abs=1e-3)
    cosines = (directions @ directions.T)[np.triu_indices(len(directions), 1)]
    assert np.mean(cosines > found.least) == pytest.approx(0.001, abs=0.0005)
    assert found.codes.tolist() == list(range(1, 400)), "the word whose vector is zero is left out"


def test_a_word_joins_a_group_if_it_is_like_every_member() -> None:
    _, found = make(3)
    # Words 0, 1 and 2 have codes 1, 2 and 3.
    assert found.groups([9, 2, 30, 1, 50, 3]) == [[0], [1, 3, 5], [2], [4]]
    assert found.groups([400, 0, 400 + 7]) == [[0], [1], [2]], "words without a direction are like no other"
    assert found.groups([]) == []
    assert LikeWords.none().groups([1, 2]) == [[0], [1]]
    chain = LikeWords(np.arange(3), np.array([[1, 0], [0.8, 0.6], [0.28, 0.96]], np.float16), 0.7)
    assert chain.groups([0, 1, 2]) == [[0, 1], [2]], "the third is like the second, but not like the first"
    assert chain.groups([1, 0, 2]) == [[0, 1], [2]]


def test_few_words_have_no_groups() -> None:
    words = ["a", "b"]
    assert len(LikeWords.of(words, np.array([[1.0, 2], [0, 0]], np.float32), Names.of(words), 0).codes) == 0
