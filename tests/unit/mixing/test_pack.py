import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.mixing.pack import pack

ADDED = 2


@given(st.lists(st.tuples(st.integers(3, 12), st.integers(0, 3)), max_size=20), st.integers(0, 30))
def test_every_sentence_stands_in_one_sequence_of_its_document(rows: list[tuple[int, int]], limit: int) -> None:
    n_tokens, documents = np.array([r[0] for r in rows], np.int64), [r[1] for r in rows]
    ids, texts = np.arange(len(rows)) + 7, [f"s{i}" for i in range(len(rows))]
    packed = pack(ids, texts, n_tokens, documents, limit, ADDED)
    assert " ".join(packed.texts).split() == texts
    assert packed.sentences.sum() == len(rows)
    assert packed.sentences_per_sequence() == dict(zip(packed.first.tolist(), packed.sentences.tolist(), strict=True))
    for first, count, length in zip(packed.first - 7, packed.sentences, packed.n_tokens, strict=True):
        assert len(set(documents[first : first + count])) == 1
        assert length == (n_tokens[first : first + count] - ADDED).sum() + ADDED
        assert count == 1 or length <= limit
        stop = first + count
        if stop < len(rows) and documents[stop] == documents[first]:
            assert length + n_tokens[stop] - ADDED > limit, "another one would have fitted"
