import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.explain.some_occurrences import of_literals, of_sentences, one_after_the_other
from ops.patterns.occurrences import Occurrences
from tests.unit.labelled_sentences import occurrences


def same(one: Occurrences, other: Occurrences) -> bool:
    return one.sentences.tolist() == other.sentences.tolist() and one.offsets.tolist() == other.offsets.tolist()


@given(st.integers(0, 12), st.integers(0, 5), st.integers(0, 2**16))
def test_they_are_rows_and_columns_of_the_matrix(n: int, literals: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    has, more = rng.random((n, literals)) < 0.4, rng.random((3, literals)) < 0.4
    which = rng.permutation(literals)[: rng.integers(0, literals + 1)]
    assert same(of_literals(occurrences(has), which), occurrences(has[:, which]))
    keep = rng.random(n) < 0.5
    number = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
    assert same(of_sentences(occurrences(has), number), occurrences(has[keep]))
    stacked = one_after_the_other(occurrences(has), occurrences(more), n)
    assert same(stacked, occurrences(np.concatenate([has, more])))
