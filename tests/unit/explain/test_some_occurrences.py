"""Occurrences that are chosen, put next to each other, counted and stored, next to the matrix they are of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.explain.answers import Answers
from ops.explain.known_literals import KnownLiterals, beside, one_after_another
from ops.patterns.occurrences import Occurrences
from tests.unit.labelled_sentences import occurrences


def same(one: Occurrences, other: Occurrences) -> bool:
    return one.sentences.tolist() == other.sentences.tolist() and one.offsets.tolist() == other.offsets.tolist()


@given(st.integers(1, 9), st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**16))
def test_known_literals_are_joined_counted_and_of_some_sentences(n: int, literals: int, runs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    has = rng.random((runs, n, literals)) < 0.4
    assert same(one_after_another((occurrences(run), n) for run in has), occurrences(np.concatenate(has)))
    assert same(beside(occurrences(has[0]), occurrences(has[-1])), occurrences(np.concatenate([has[0], has[-1]], 1)))
    known, keep = KnownLiterals(occurrences(has[0]), n), rng.random(n) < 0.5
    assert known.support(np.flatnonzero(keep)).tolist() == has[0][keep].sum(0).tolist()
    some = known.of(keep)
    assert some.sentences == keep.sum()
    assert same(some.found, occurrences(has[0][keep]))


@given(st.integers(0, 9), st.integers(0, 6), st.integers(0, 2**16))
def test_answers_of_sentences_are_the_rows_of_the_matrix(n: int, literals: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    has = rng.random((n, literals)) < 0.4
    answers, asked = Answers.of(occurrences(has), n), rng.integers(0, max(n, 1), 9 if n else 0)
    assert [own.tolist() for own in np.split(answers.literals, answers.offsets[1:-1])][:n] == [
        np.flatnonzero(row).tolist() for row in has
    ]
    assert answers.support(asked).tolist() == has[asked].sum(0).tolist()


@pytest.mark.parametrize("size", [1 << 16, (1 << 16) + 1])
def test_the_last_of_many_literals_is_kept(size: int) -> None:
    offsets = np.zeros(size + 1, np.int64)
    offsets[-1] = 1
    answers = Answers.of(Occurrences(np.array([1], np.int32), offsets), 2)
    assert np.flatnonzero(answers.support(np.array([0, 1]))).tolist() == [size - 1]
