from pathlib import Path

import numpy as np
import pyarrow as pa
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from ops.mixing.sequences import SequenceReader, sequence_starts
from ops.model.names import Location
from ops.model.tokenizer import Tokenizer
from tests.unit.small_models import facts


@given(
    st.lists(st.tuples(st.integers(3, 12), st.integers(1, 12), st.integers(0, 3)), min_size=1, max_size=20),
    st.integers(0, 30),
)
def test_every_sentence_stands_in_one_sequence_of_its_document(rows: list[tuple[int, int, int]], limit: int) -> None:
    alone, more = (np.array([row[place] for row in rows], np.int64) for place in range(2))
    documents = [row[2] for row in rows]
    starts = sequence_starts(alone, more, documents, limit).tolist()
    assert starts[0] == 0
    for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True):
        length = alone[start] + more[start + 1 : stop].sum()
        assert len(set(documents[start:stop])) == 1
        assert stop - start == 1 or length <= limit
        if stop < len(rows) and documents[stop] == documents[start]:
            assert length + more[stop] > limit, "another one would have fitted"


def test_a_sequence_fits_where_a_space_before_a_word_makes_other_tokens(tmp_path: Path) -> None:
    """As in GPT-2's vocabulary, which has "No" and "Ġno", but of "ĠNo" only its letters."""
    words = ["Ġ", "N", "o", "n", "No", "no", "Ġn", "Ġno"]
    merges = [("N", "o"), ("Ġ", "n"), ("Ġn", "o"), ("n", "o")]
    own = tokenizers.Tokenizer(tokenizers.models.BPE({word: i for i, word in enumerate(words)}, merges))
    own.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    PreTrainedTokenizerFast(tokenizer_object=own, unk_token="o").save_pretrained(tmp_path / "model")
    tokenizer = Tokenizer(facts("gpt2", location=Location(str(tmp_path / "model"))))
    texts, columns = ["No no no", "No no", "No no no no"], ("sent_id", "text", "n_tokens", "dataset", "doc_id")
    counts = [len(tokens.ids) for tokens in tokenizer.encode(texts)]
    rows = [(i, text, n, "d", "x") for i, (text, n) in enumerate(zip(texts, counts, strict=True))]
    table = pa.Table.from_pylist([dict(zip(columns, row, strict=True)) for row in rows])
    reader = SequenceReader(tokenizer, 100, 6, 0.0, 0)
    assert counts == [3, 2, 4]
    sentences, batches = reader.packed(table)
    assert sentences == {0: 2, 2: 1}, "the second sentence adds three tokens: a space, No, and a space with no"
    read = {
        number: len(tokens.ids)
        for first, batch in batches
        for number, tokens in zip(first.tolist(), batch, strict=True)
    }
    assert read == {0: 6, 2: 4}
    assert reader._more_tokens(texts).tolist() == [4, 3, 5]
