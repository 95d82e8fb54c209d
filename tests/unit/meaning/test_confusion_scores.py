from typing import Any

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from ops.meaning.confusion import score_answers
from ops.statistics.resampling import resample

RNG = np.random.default_rng(4)


def scored(documents: np.ndarray, seed: int, answers: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    distinct, document = np.unique(documents, return_inverse=True)
    return score_answers(answers, truth, document, resample(len(distinct), np.random.default_rng(seed)))


def resampled(documents: np.ndarray, truth: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """A separate bootstrap over documents: accuracy and balanced accuracy of the examples of drawn documents."""
    rows = [np.flatnonzero(documents == document) for document in np.unique(documents)]
    found = []
    for _ in range(1_000):
        own = np.concatenate([rows[i] for i in RNG.integers(0, len(rows), len(rows))])
        right = answers[own] == truth[own]
        found.append((right.mean(), np.mean([right[truth[own] == label].mean() for label in np.unique(truth[own])])))
    return np.array(found)


def test_intervals_are_those_of_a_bootstrap_over_documents() -> None:
    documents = np.repeat(np.arange(40), RNG.integers(1, 12, 40)).astype(np.uint64) * np.uint64(2**58)
    truth = (RNG.random(len(documents)) < 0.2).astype(np.int64)
    hard = RNG.random(40)[np.unique(documents, return_inverse=True)[1]]
    answers = np.where(RNG.random(len(truth)) < hard, truth, 1 - truth)
    row = scored(documents, 0, answers, truth)
    assert (row["n_test"], row["documents"]) == (len(truth), 40)
    assert row["correct"] == (answers == truth).sum()
    assert row["accuracy"] == pytest.approx((answers == truth).mean())
    assert row["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(truth, answers))
    expected = np.percentile(resampled(documents, truth, answers), (2.5, 97.5), axis=0)
    np.testing.assert_allclose((row["low"], row["high"]), expected[:, 0], atol=0.025)
    np.testing.assert_allclose((row["balanced_low"], row["balanced_high"]), expected[:, 1], atol=0.025)


def test_the_most_frequent_word_alone_has_a_balanced_accuracy_of_one_over_the_words() -> None:
    truth = np.array([0] * 90 + [1] * 6 + [3] * 4)
    row = scored(np.arange(100).astype(np.uint64), 0, np.zeros(100, np.int64), truth)
    assert row["accuracy"] == pytest.approx(0.9)
    assert row["balanced_accuracy"] == pytest.approx(1 / 3)
    # A resample may lack one of the rare words, but not more.
    assert 1 / 3 <= row["balanced_high"] <= 1 / 2


def test_labels_in_another_order_have_their_own_balance_and_draws_are_seeded() -> None:
    truth, documents = RNG.integers(0, 3, 60), RNG.integers(0, 9, 60).astype(np.uint64)
    answers, other = RNG.integers(0, 3, 60), RNG.permutation(truth)
    row = scored(documents, 0, answers, other)
    assert row["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(other, answers))
    assert row == scored(documents, 0, answers, other)
    assert row != scored(documents, 1, answers, other)
    one = scored(np.zeros(40, np.uint64), 0, np.zeros(40, np.int64), np.array([0, 1] * 20))
    assert one["documents"] == 1
    assert one["high"] - one["low"] > 0.9, "one document shows no spread"
