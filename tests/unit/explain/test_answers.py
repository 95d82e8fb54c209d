import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.explain.answers import Answers
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequences import Sequences


@given(st.lists(st.sets(st.integers(0, 8)), max_size=6), st.lists(st.integers(0, 8), max_size=9))
def test_counts_are_those_of_the_sets(having: list[set[int]], asked: list[int]) -> None:
    lists = Sequences.from_lists([sorted(own) for own in having])
    answers = Answers.of(Occurrences(lists.items, lists.offsets), 9)
    assert [own.tolist() for own in np.split(answers.literals, answers.offsets[1:-1])] == [
        [literal for literal, own in enumerate(having) if sentence in own] for sentence in range(9)
    ]
    sentences = np.array(asked, np.int64)
    assert answers.support(sentences).tolist() == [sum(sentence in own for sentence in asked) for own in having]


@pytest.mark.parametrize("size", [1 << 16, (1 << 16) + 1])
def test_the_last_of_many_literals_is_kept(size: int) -> None:
    offsets = np.zeros(size + 1, np.int64)
    offsets[-1] = 1
    answers = Answers.of(Occurrences(np.array([1], np.int32), offsets), 2)
    assert np.flatnonzero(answers.support(np.array([0, 1]))).tolist() == [size - 1]
