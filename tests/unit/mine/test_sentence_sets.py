import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.mine.sentence_sets import SentenceSets
from ops.patterns.sequences import Sequences

SETS = st.lists(st.lists(st.integers(0, 19), max_size=6, unique=True).map(sorted), max_size=7)


@pytest.fixture(scope="module")
def marks() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.random(20) < 0.5, rng.random(20) < 0.5, rng.integers(0, 4, 20).astype(np.int32)


def unfolded(sets: SentenceSets) -> list[tuple[int, list[tuple[int, int, int]]]]:
    """Return each set's number, and row, marks and document of its sentences."""
    columns = (sets.rows.tolist(), sets.marks.tolist(), sets.documents.tolist())
    sentences = list(zip(*columns, strict=True))
    numbers = sets.number.tolist()
    return [(n, [sentences[p] for p in own]) for n, own in zip(numbers, sets.members.to_lists(), strict=True)]


@given(SETS, st.integers(1, 12), st.data())
def test_parts_hold_what_the_whole_does(marks, sets, most, data):
    baseline, first_half, document = marks
    mark = baseline + 2 * first_half
    given_sets = [(5 * i, [(r, int(mark[r]), int(document[r])) for r in own]) for i, own in enumerate(sets)]
    numbers = np.array([5 * i for i in range(len(sets))], np.int64)
    whole = SentenceSets(numbers, np.arange(20), Sequences.from_lists(sets), baseline, first_half, document)
    assert unfolded(whole) == given_sets
    assert whole.sizes.tolist() == [len(own) for own in sets]
    assert whole.inside.tolist() == [sum(baseline[own]) for own in sets]
    chosen = data.draw(st.lists(st.booleans(), min_size=len(sets), max_size=len(sets)))
    assert unfolded(whole.take(np.flatnonzero(chosen))) == [s for s, c in zip(given_sets, chosen, strict=True) if c]
    parts = list(whole.chunks(most))
    assert [s for part in parts for s in unfolded(part)] == given_sets
    assert all(part.sizes.sum() <= most or len(part) == 1 for part in parts)
    assert all(len(np.unique(part.rows)) == len(part.rows) for part in parts)
