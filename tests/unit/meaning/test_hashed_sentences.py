import numpy as np
import pyarrow as pa
import pytest

from ops.errors import InputError
from ops.meaning.confusion import document_number, is_tested
from ops.meaning.hashing import label_drawn

N = 90
IDS = np.arange(N, dtype=np.int64) * 3


def corpus(first: int = 0, stop: int = N) -> pa.Table:
    rows = range(first, stop)
    meta = [{"topic": f"t{i % 3}", "same": "x", "own": f"o{i}"} for i in rows]
    return pa.table(
        {"sent_id": IDS[first:stop], "dataset": ["a"] * len(meta), "doc_id": [f"d{i // 5}" for i in rows], "meta": meta}
    )


def test_classes_documents_and_the_held_out_ones_are_known_of_all_shards() -> None:
    drawn = label_drawn(IDS, [corpus(0, 40), corpus(40)], None, 0)
    (topic,) = drawn.labels
    assert topic.names == [f"t{i % 3}" for i in range(N)]
    assert len(set(drawn.documents.tolist())) == N // 5
    numbers = np.array([document_number("a", f"d{i // 5}", 0) for i in range(N)], np.uint64)
    assert drawn.tested.tolist() == is_tested(numbers).tolist()
    assert label_drawn(IDS, [corpus().drop_columns(["meta"])], None, 0).labels == []


def test_some_of_the_sentences_keep_their_classes() -> None:
    drawn = label_drawn(IDS, [corpus()], "topic", 0)
    some = drawn.only(np.arange(N) % 2 == 0)
    assert some.sent_ids.tolist() == IDS[::2].tolist()
    assert some.labels[0].names == drawn.labels[0].names[::2]


def test_a_label_of_one_class_is_refused() -> None:
    for label, why in (("same", "has only the value 'x'"), ("own", "has 90 values")):
        with pytest.raises(InputError, match=f"--label {label}: {why}"):
            label_drawn(IDS, [corpus()], label, 0)
