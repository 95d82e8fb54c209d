"""Labels that no classifier can be fitted to are refused in a line; documents are never split."""

import numpy as np
import pyarrow as pa
import pytest

from ops.errors import InputError
from ops.positions.labels import Labelled, bag, check_labels, interval, is_test


def labelled(labels: list[str], per_document: int = 1) -> Labelled:
    return Labelled(list(range(len(labels))), labels, [f"d{i // per_document}" for i in range(len(labels))])


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (labelled([]), "no text of the sample has a value"),
        (labelled(["good"] * 30), "all 30 texts of the sample are 'good'; a classifier needs two values"),
        (labelled([f"v{i}" for i in range(101)]), "has 101 values in 101 texts"),
        (labelled(["good", "bad"] * 10, per_document=20), "1 document in the sample, too few for a split by document"),
    ],
)
def test_labels_of_no_use_are_refused(found: Labelled, message: str) -> None:
    with pytest.raises(InputError, match=f"--label mood: .*{message}"):
        check_labels("mood", found, 0)


def test_rows_without_a_label_take_no_part() -> None:
    rows = [
        {"sent_id": i, "dataset": "d", "doc_id": str(i // 2), "meta": {"mood": m}} for i, m in enumerate(["a", "b"])
    ]
    rows.append({"sent_id": 2, "dataset": "d", "doc_id": "1", "meta": {"mood": None}})
    found = Labelled.of([pa.Table.from_pylist(rows[:1]), pa.Table.from_pylist(rows[1:])], "mood")
    assert found == Labelled([0, 1], ["a", "b"], ["d\x1f0", "d\x1f0"])


def test_a_document_is_on_one_side() -> None:
    documents = [f"d{i // 7}" for i in range(700)]
    test = is_test(documents, 0)
    assert len({d for d, held in zip(documents, test, strict=True) if held}) == 30
    assert all(len(set(test[i : i + 7].tolist())) == 1 for i in range(0, 700, 7))
    assert (is_test(documents, 1) != test).any()
    check_labels("mood", labelled(["good", "bad"] * 50), 0)


def test_the_interval_is_wider_where_documents_agree_within() -> None:
    rng = np.random.default_rng(0)
    correct = np.repeat(rng.random(100) < 0.7, 10)
    alone = interval(correct, [f"d{i}" for i in range(1000)], 0)
    together = interval(correct, [f"d{i // 10}" for i in range(1000)], 0)
    assert alone[0] < correct.mean() < alone[1]
    assert together[1] - together[0] > 2 * (alone[1] - alone[0])
    assert alone[1] - alone[0] == pytest.approx(
        2 * 1.96 * np.sqrt(correct.mean() * (1 - correct.mean()) / 1000), rel=0.15
    )


def test_the_bag_counts() -> None:
    assert bag([[3, 1, 3], [0]]).toarray().tolist() == [[0, 1, 0, 2], [1, 0, 0, 0]]
