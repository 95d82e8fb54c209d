"""The evaluation of a classifier, compared with scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss

from ops.finetune.tables import epoch_row, label_table, majority_accuracy, quality

RNG = np.random.default_rng(0)


def test_quality_is_scikit_learn_s() -> None:
    labels = RNG.integers(0, 3, 200)
    scores = RNG.normal(size=(200, 3)) + 1.5 * np.eye(3)[labels]
    found = quality(scores, labels)
    likely = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    assert found.loss == pytest.approx(log_loss(labels, likely))
    assert found.accuracy == pytest.approx(accuracy_score(labels, scores.argmax(1)))
    np.testing.assert_allclose(found.f1, f1_score(labels, scores.argmax(1), average=None))
    row = epoch_row(1, 25, [1.0, 2.0], found, 0.5)
    assert row["loss"] == 1.5
    assert row["test_macro_f1"] == pytest.approx(f1_score(labels, scores.argmax(1), average="macro"))
    train = np.array([0, 1, 1, 2])
    table = label_table(["a", "b", "c"], train, found).to_pydict()
    assert table["train"] == [1, 2, 1]
    assert table["test"] == np.bincount(labels).tolist()
    assert table["correct"] == [int(((labels == i) & (scores.argmax(1) == i)).sum()) for i in range(3)]


def test_a_label_that_never_occurs_has_no_f1() -> None:
    found = quality(np.array([[1.0, 0.0, -9.0], [0.0, 1.0, -9.0]]), np.array([0, 0]))
    assert label_table(["a", "b", "c"], np.array([0, 1, 2]), found)["f1"].to_pylist() == pytest.approx([2 / 3, 0, None])
    assert majority_accuracy(np.array([0, 1, 1]), np.array([0, 0, 1, 2])) == 0.25
