import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.mixing.sequences import sequence_starts

ADDED = 2


@given(st.lists(st.tuples(st.integers(3, 12), st.integers(0, 3)), min_size=1, max_size=20), st.integers(0, 30))
def test_every_sentence_stands_in_one_sequence_of_its_document(rows: list[tuple[int, int]], limit: int) -> None:
    n_tokens, documents = np.array([r[0] for r in rows], np.int64), [r[1] for r in rows]
    starts = sequence_starts(n_tokens, documents, limit, ADDED).tolist()
    assert starts[0] == 0
    for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True):
        length = (n_tokens[start:stop] - ADDED).sum() + ADDED
        assert len(set(documents[start:stop])) == 1
        assert stop - start == 1 or length <= limit
        if stop < len(rows) and documents[stop] == documents[start]:
            assert length + n_tokens[stop] - ADDED > limit, "another one would have fitted"
