"""The figure of `finetune`: loss and accuracy by epoch, beside what the most frequent label would give."""

import matplotlib
import pyarrow as pa
from matplotlib.figure import Figure

from ops.figures import save_figures
from ops.storage.store import Store

FOLDER = "finetune/figures"


def draw_training(store: Store, epochs: pa.Table, title: str) -> list[str]:
    """Draw the figure from `finetune/epochs` and return the files' names."""
    return save_figures(store, FOLDER, {"training": lambda: training_figure(epochs, title)})


def training_figure(epochs: pa.Table, title: str) -> Figure:
    """Draw the losses, and the test documents' accuracy and macro F1."""
    rows = epochs.to_pydict()
    numbers = rows["epoch"]
    with matplotlib.rc_context({"font.size": 9}):
        figure = Figure(figsize=(7.2, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.plot(numbers, rows["loss"], ".-", label="training")
        left.plot(numbers, rows["test_loss"], ".--", label="test")
        left.set_ylabel("cross-entropy (nats)")
        right.plot(numbers, rows["test_accuracy"], ".-", label="accuracy")
        right.plot(numbers, rows["test_macro_f1"], ".--", label="macro F1")
        right.plot(numbers, rows["majority_accuracy"], ":", color="0.4", label="most frequent label")
        right.set_ylim(0, 1)
        for axes in (left, right):
            axes.set_xlabel("epoch")
            axes.set_xticks(numbers)
            axes.legend(fontsize=7)
        figure.suptitle(title, fontsize=10)
    return figure
