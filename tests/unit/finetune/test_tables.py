"""The evaluation of a classifier, compared with scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss

from ops.finetune.tables import by_label, epoch_row, label_table, majority_accuracy

RNG = np.random.default_rng(0)


def test_quality_is_scikit_learn_s() -> None:
    labels = RNG.integers(0, 3, 200)
    scores = RNG.normal(size=(200, 3)) + 1.5 * np.eye(3)[labels]
    likely = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    np.testing.assert_allclose(by_label(scores, labels)["f1"], f1_score(labels, scores.argmax(1), average=None))
    row = epoch_row(1, 25, [1.0, 2.0], scores, labels, 0.5)
    assert row["loss"] == 1.5
    assert row["test_loss"] == pytest.approx(log_loss(labels, likely))
    assert row["test_accuracy"] == pytest.approx(accuracy_score(labels, scores.argmax(1)))
    assert row["test_macro_f1"] == pytest.approx(f1_score(labels, scores.argmax(1), average="macro"))
    train = np.array([0, 1, 1, 2])
    table = label_table(["a", "b", "c"], train, scores, labels).to_pydict()
    assert table["train"] == [1, 2, 1]
    assert table["test"] == np.bincount(labels).tolist()
    assert table["correct"] == [int(((labels == i) & (scores.argmax(1) == i)).sum()) for i in range(3)]


def test_a_label_that_never_occurs_has_no_f1() -> None:
    scores, labels = np.array([[1.0, 0.0, -9.0], [0.0, 1.0, -9.0]]), np.array([0, 0])
    found = label_table(["a", "b", "c"], np.array([0, 1, 2]), scores, labels)
    assert found["f1"].to_pylist() == pytest.approx([2 / 3, 0, None])
    assert majority_accuracy(np.array([0, 1, 1]), np.array([0, 0, 1, 2])) == 0.25
