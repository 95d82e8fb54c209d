"""The evaluation of a classifier: the rows of `finetune/epochs` and `finetune/labels`, and the figure of the epochs."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure
from scipy.special import log_softmax

from ops import schema
from ops.arrays import Arrays, Floats, Int64s
from ops.figures.lines import lines, longer

_LINES = (
    ("loss", "training documents", "loss"),
    ("loss", "test documents", "test_loss"),
    ("test documents", "accuracy", "test_accuracy"),
    ("test documents", "macro F1", "test_macro_f1"),
    ("test documents", "accuracy of the most frequent label", "majority_accuracy"),
)


def by_label(scores: Floats, labels: Int64s) -> dict[str, Arrays]:
    """Return the columns of `finetune/labels` about the test documents.

    They are the documents that have a label, for which it is predicted, and for which it is predicted correctly, and
    the label's F1 score, which is NaN if the label neither occurs nor is predicted.

    Args:
        scores: the scores of the test documents, `[documents, labels]`.
        labels: their correct labels, `[documents]`.
    """
    best = scores.argmax(1)
    counts = (np.bincount(of, minlength=scores.shape[1]) for of in (labels, best, labels[best == labels]))
    test, predicted, correct = counts
    with np.errstate(invalid="ignore"):
        f1 = 2 * correct / (test + predicted)
    return {"test": test, "predicted": predicted, "correct": correct, "f1": f1}


def epoch_row(
    epoch: int, steps: int, losses: Sequence[float], scores: Floats, labels: Int64s, majority: float
) -> dict[str, float]:
    """Return a row of `finetune/epochs`.

    `losses` are the losses of the epoch's steps, `scores` and `labels` as in `by_label`.
    """
    columns = by_label(scores, labels)
    likelihood = log_softmax(scores.astype(np.float64), axis=1)
    return {
        "epoch": epoch,
        "steps": steps,
        "loss": float(np.mean(losses)),
        "test_loss": float(-likelihood[np.arange(len(labels)), labels].mean()),
        "test_accuracy": float(columns["correct"].sum() / len(labels)),
        "test_macro_f1": float(np.nanmean(columns["f1"])),
        "majority_accuracy": majority,
        "n": len(labels),
    }


def majority_accuracy(train: Int64s, test: Int64s) -> float:
    """Return the share of test documents with the most frequent training label (for ties, the first label)."""
    return float((test == np.bincount(train).argmax()).mean())


def label_table(names: Sequence[str], train: Int64s, scores: Floats, labels: Int64s) -> pa.Table:
    """Return `finetune/labels`; `train` are the labels of the training documents, the others are as in `by_label`."""
    columns = {"label": names, "train": np.bincount(train, minlength=len(names)), **by_label(scores, labels)}
    return schema.table("finetune/labels", columns)


def training_figure(epochs: pa.Table) -> Figure:
    """Draw the losses, and the test documents' accuracy and macro F1."""
    return lines(
        longer(epochs, *_LINES), "epoch", own_scales=True, title="",
        y_label={"loss": "cross-entropy (nats)", "test documents": "share (0 to 1)"},
        y_scale={"test documents": "share"},
    )  # fmt: skip
