"""The figure of `finetune`: loss and accuracy by epoch, compared with the most frequent label."""

import pyarrow as pa
from matplotlib.figure import Figure

from ops.figures.lines import lines, longer

_LINES = (
    ("loss", "training documents", "loss"),
    ("loss", "test documents", "test_loss"),
    ("test documents", "accuracy", "test_accuracy"),
    ("test documents", "macro F1", "test_macro_f1"),
    ("test documents", "accuracy of the most frequent label", "majority_accuracy"),
)


def training_figure(epochs: pa.Table) -> Figure:
    """Draw the losses, and the test documents' accuracy and macro F1."""
    return lines(
        longer(epochs, *_LINES), "epoch", own_scales=True, title="",
        y_label={"loss": "cross-entropy (nats)", "test documents": "share (0 to 1)"},
        y_scale={"test documents": "share"},
    )  # fmt: skip
