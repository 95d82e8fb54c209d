"""The figure of `finetune`: loss and accuracy by epoch, compared with the most frequent label."""

import pyarrow as pa

from ops.figures.files import save_figures
from ops.figures.lines import lines, longer
from ops.storage.store import Store

FOLDER = "finetune/figures"
_LINES = (
    ("loss", "training documents", "loss"),
    ("loss", "test documents", "test_loss"),
    ("test documents", "accuracy", "test_accuracy"),
    ("test documents", "macro F1", "test_macro_f1"),
    ("test documents", "accuracy of the most frequent label", "majority_accuracy"),
)


def draw_training(store: Store, epochs: pa.Table, title: str) -> list[str]:
    """Draw the losses, and the test documents' accuracy and macro F1, and return the file names."""
    figure = lines(
        longer(epochs, *_LINES), "epoch", "y", colour="series", panel="panel", own_scales=True, title=title,
        names={"loss": "loss", "test documents": "test documents"}, x_label="epoch",
        y_label={"loss": "cross-entropy (nats)", "test documents": "share (0 to 1)"},
    )  # fmt: skip
    figure.axes[1].set_ylim(-0.02, 1.02)
    return save_figures(store, FOLDER, {"training": figure})
