"""Labels that no classifier can be fitted to are refused in a line; documents are never split."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

from ops.errors import InputError
from ops.positions.labels import Labelled, check_labels, interval, is_test, label_rows, usable_splits
from ops.positions.shard import Features


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
        check_labels("mood", found, 0, 20)


def test_rows_without_a_label_take_no_part() -> None:
    rows = [
        {"sent_id": i, "dataset": "d", "doc_id": str(i // 2), "meta": {"mood": m}} for i, m in enumerate(["a", "b"])
    ]
    rows.append({"sent_id": 2, "dataset": "d", "doc_id": "1", "meta": {"mood": None}})
    found = Labelled.of([pa.Table.from_pylist(rows[:1]), pa.Table.from_pylist(rows[1:])], "mood")
    assert found == Labelled([0, 1], ["a", "b"], ["d\x1f0", "d\x1f0"])


def featured(vectors: np.ndarray) -> Features:
    """Features of texts of one token, from their vectors `[texts, variants, width]`."""
    n = len(vectors)
    return Features(np.arange(n), np.ones(n, np.int64), np.full(n, 5), vectors.astype(np.float32))


def test_a_document_is_on_one_side() -> None:
    documents = [f"d{i // 7}" for i in range(700)]
    test = is_test(documents, 0, 3)
    assert len({d for d, held in zip(documents, test, strict=True) if held}) == 30
    assert all(len(set(test[i : i + 7].tolist())) == 1 for i in range(0, 700, 7))
    assert (is_test(documents, 1, 3) != test).any()
    assert (is_test(documents, 0, 4) != test).any()
    check_labels("mood", labelled(["good", "bad"] * 50), 0, 2)


def test_splits_that_cannot_be_fitted_to_are_left_out() -> None:
    labels, documents = np.array(["a"] * 9 + ["b"]), [f"d{i}" for i in range(10)]
    tests = usable_splits(labels, documents, 0, 60)
    # The one text that is a "b" is held out in three splits of ten.
    assert 30 < len(tests) < 55
    assert not any(test[9] for test in tests)


def test_the_interval_is_that_of_nadeau_and_bengio() -> None:
    values = np.array([0.5, 0.625, 0.75, 0.5])
    mean, low, high = interval(values)
    assert mean == 0.59375
    reach = 3.1824463 * values.std(ddof=1) * np.sqrt(0.25 + 3 / 7)
    assert [mean - low, high - mean] == pytest.approx([reach, reach])


def test_differences_are_paired_and_their_intervals_hold_what_is_true() -> None:
    """Two features that say the same differ by nothing at all; of independent ones, intervals hold 0 most times."""
    rng = np.random.default_rng(0)
    held = 0
    for seed in range(8):
        labels = rng.choice(["good", "bad"], 120)
        sign = np.where(labels == "good", 0.5, -0.5)[:, None]
        default, none = (sign + rng.normal(size=(120, 3)) for _ in range(2))
        features = featured(np.stack([default, none, default], 1))
        texts = Labelled(list(range(120)), labels.tolist(), [f"d{i // 2}" for i in range(120)])
        rows = {
            row["features"]: row for row in label_rows("m", "x", texts, features, ["default", "none", "same"], seed, 6)
        }
        assert (rows["same"]["difference"], rows["same"]["difference_high"]) == (0, 0)
        assert rows["default"]["difference"] is None
        assert rows["default"]["splits"] == 6
        held += rows["none"]["difference_low"] <= 0 <= rows["none"]["difference_high"]
        assert rows["none"]["difference"] == pytest.approx(rows["none"]["accuracy"] - rows["default"]["accuracy"])
    assert held >= 6


def test_labels_that_are_nearly_all_different_are_fitted_without_a_warning_of_the_library() -> None:
    labels = [f"label {i // 2}" for i in range(20)] + [f"own {i}" for i in range(20)]
    features = featured(np.random.default_rng(0).normal(size=(40, 1, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = label_rows("m", "x", labelled(labels), features, ["default"], 0, 4)
    assert {row["features"] for row in rows} >= {"default", "tokens"}
