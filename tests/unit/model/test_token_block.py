import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.model.batches import TokenBlock
from ops.model.tokenizer import Tokens

SENTENCES = st.lists(
    st.builds(
        lambda pairs, cut: Tokens([i for i, _ in pairs], [int(a) for _, a in pairs], cut),
        st.lists(st.tuples(st.integers(0, 300_000), st.booleans()), max_size=6),
        st.booleans(),
    ),
    max_size=6,
)


@given(SENTENCES)
def test_a_block_is_its_sentences(sentences: list[Tokens]) -> None:
    block = pickle.loads(pickle.dumps(TokenBlock.of(sentences)))
    assert list(block) == sentences
    assert [block[i - len(block)] for i in range(len(block))] == sentences
    assert block.lengths.tolist() == [len(t.ids) for t in sentences]
    assert block.of_one_length == (len({len(t.ids) for t in sentences}) == 1)
    assert TokenBlock.of(block) is block


def test_it_is_flat() -> None:
    block = TokenBlock.of([Tokens([5, 6, 7], [1, 0, 1], False), Tokens([8], [0], True)])
    assert (block.ids.dtype, block.ids.tolist(), block.offsets.tolist()) == (np.int32, [5, 6, 7, 8], [0, 3, 4])
    many = TokenBlock.of([Tokens(list(range(22)), [0] * 22, False)] * 10_000)
    assert len(pickle.dumps(many)) < 10_000 * (22 * 5 + 13)


@given(st.lists(SENTENCES, min_size=1, max_size=4), st.data())
def test_blocks_are_joined_and_sentences_taken(parts: list[list[Tokens]], data: st.DataObject) -> None:
    block = TokenBlock.joined([TokenBlock.of(part) for part in parts])
    sentences = [tokens for part in parts for tokens in part]
    assert list(block) == sentences
    wanted = data.draw(st.lists(st.integers(0, len(sentences) - 1), max_size=9) if sentences else st.just([]))
    taken = block.take(np.array(wanted, np.int64))
    assert list(taken) == [sentences[i] for i in wanted]
    assert (taken.ids.dtype, taken.offsets.dtype, taken.offsets[0]) == (np.int32, np.int64, 0)
