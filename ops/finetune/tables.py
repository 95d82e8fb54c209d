"""The evaluation of a classifier: the rows of `finetune/epochs` and `finetune/labels`, and the figure of the epochs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure
from scipy.special import log_softmax

from ops import schema
from ops.arrays import Float64s, Floats, Int64s
from ops.figures.lines import lines, longer

_LINES = (
    ("loss", "training documents", "loss"),
    ("loss", "test documents", "test_loss"),
    ("test documents", "accuracy", "test_accuracy"),
    ("test documents", "macro F1", "test_macro_f1"),
    ("test documents", "accuracy of the most frequent label", "majority_accuracy"),
)


@dataclass(frozen=True)
class Quality:
    """The results of a classifier on the test documents.

    Attributes:
        loss: mean cross-entropy, in nats.
        test, predicted, correct: for each label, the number of documents that have it, for which it is predicted, and
            for which it is predicted correctly, `[labels]` int64.
    """

    loss: float
    test: Int64s
    predicted: Int64s
    correct: Int64s

    @property
    def accuracy(self) -> float:
        """The share of the documents whose label is predicted correctly."""
        return float(self.correct.sum() / self.test.sum())

    @property
    def f1(self) -> Float64s:
        """The F1 score of each label; NaN if the label neither occurs nor is predicted."""
        with np.errstate(invalid="ignore"):
            return np.asarray(2 * self.correct / (self.test + self.predicted))


def quality(scores: Floats, labels: Int64s) -> Quality:
    """Return the evaluation of scores, `[documents, labels]`, given the correct labels, `[documents]`."""
    n_labels = scores.shape[1]
    likelihood = log_softmax(scores.astype(np.float64), axis=1)
    predicted = scores.argmax(1)
    counts = [np.bincount(of, minlength=n_labels) for of in (labels, predicted, labels[predicted == labels])]
    return Quality(float(-likelihood[np.arange(len(labels)), labels].mean()), *counts)


def epoch_row(epoch: int, steps: int, losses: Sequence[float], found: Quality, majority: float) -> dict[str, float]:
    """Return a row of `finetune/epochs`; `losses` are the losses of the epoch's steps."""
    return {
        "epoch": epoch,
        "steps": steps,
        "loss": float(np.mean(losses)),
        "test_loss": found.loss,
        "test_accuracy": found.accuracy,
        "test_macro_f1": float(np.nanmean(found.f1)),
        "majority_accuracy": majority,
        "n": int(found.test.sum()),
    }


def majority_accuracy(train: Int64s, test: Int64s) -> float:
    """Return the share of test documents with the most frequent training label (for ties, the first label)."""
    return float((test == np.bincount(train).argmax()).mean())


def label_table(names: Sequence[str], train: Int64s, found: Quality) -> pa.Table:
    """Return `finetune/labels`; `train` contains the labels of the training documents, `[documents]`."""
    columns = {
        "label": names,
        "train": np.bincount(train, minlength=len(names)),
        "test": found.test,
        "predicted": found.predicted,
        "correct": found.correct,
        "f1": found.f1,
    }
    return schema.table("finetune/labels", columns)


def training_figure(epochs: pa.Table) -> Figure:
    """Draw the losses, and the test documents' accuracy and macro F1."""
    return lines(
        longer(epochs, *_LINES), "epoch", own_scales=True, title="",
        y_label={"loss": "cross-entropy (nats)", "test documents": "share (0 to 1)"},
        y_scale={"test documents": "share"},
    )  # fmt: skip
