"""The accuracy of classifiers that choose among confused words, with intervals that resample complete documents."""

from typing import Any

import numpy as np

from ops.arrays import Int64s, UInt64s
from ops.sampling import CONFUSION_DOCUMENTS
from ops.statistics.resampling import Resampling, percentile_interval


class AnswerScores:
    """Scores several classifiers' answers to the same examples, with the same resamples of the examples' documents.

    Args:
        truth: the right label of each example, `[examples]`; there must be at least one example.
        documents: the number of each example's document, `[examples]` uint64.
        seed: the run's seed.
    """

    def __init__(self, truth: Int64s, documents: UInt64s, seed: int) -> None:
        self.truth = truth
        distinct, self.document = np.unique(documents, return_inverse=True)
        self.documents = len(distinct)
        rng = np.random.default_rng([seed, CONFUSION_DOCUMENTS])
        self.resampling = Resampling.multinomial(self.documents, rng)

    def columns(self, answers: Int64s, truth: Int64s | None = None) -> dict[str, Any]:
        """Return the columns of `meaning/confusion` that measure the accuracy of the answers.

        For balanced accuracy, the share of correctly answered examples is computed for each word and then averaged over
        the words. Words that do not occur among the examples, or in a resample, are excluded from the mean.

        Args:
            answers: the label that was chosen for each example, `[examples]`.
            truth: labels to use instead of the correct ones, `[examples]`, for a control; None for the correct labels.
        """
        truth = self.truth if truth is None else truth
        labels, word = np.unique(truth, return_inverse=True)
        cell, shape = self.document * len(labels) + word, (self.documents, len(labels))
        examples = np.bincount(cell, minlength=self.documents * len(labels)).astype(np.float64).reshape(shape)
        right = np.bincount(cell, answers == truth, self.documents * len(labels)).reshape(shape)
        drawn_examples, drawn_right = np.split(self.resampling.times @ np.concatenate([examples, right], 1), 2, 1)
        occurs = drawn_examples > 0
        shares = drawn_right / np.where(occurs, drawn_examples, 1)
        accuracy, balanced = drawn_right.sum(1) / drawn_examples.sum(1), shares.sum(1) / occurs.sum(1)
        return {
            "n_test": len(truth), "documents": self.documents, "correct": int(right.sum()),
            **percentile_interval(accuracy, self.documents).columns("accuracy", ""),
            **percentile_interval(balanced, self.documents).columns("balanced_accuracy", "balanced"),
        }  # fmt: skip
