"""The figure of `finetune`: loss and accuracy by epoch, compared with the most frequent label."""

import pyarrow as pa
from matplotlib.figure import Figure

from ops.figures import BLACK, BLUE, PAGE, VERMILLION, for_print, save_figures
from ops.storage.store import Store

FOLDER = "finetune/figures"


def draw_training(store: Store, epochs: pa.Table, title: str) -> list[str]:
    """Draw the figure from `finetune/epochs` and return the file names."""
    return save_figures(store, FOLDER, {"training": lambda: training_figure(epochs, title)})


@for_print
def training_figure(epochs: pa.Table, title: str) -> Figure:
    """Draw the losses, and the test documents' accuracy and macro F1."""
    rows = epochs.to_pydict()
    numbers = rows["epoch"]
    figure = Figure(figsize=(PAGE, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(numbers, rows["loss"], "-o", color=BLUE, label="training documents")
    left.plot(numbers, rows["test_loss"], "--s", color=VERMILLION, label="test documents")
    left.set(title="loss", ylabel="cross-entropy (nats)")
    right.plot(numbers, rows["test_accuracy"], "-o", color=BLUE, label="accuracy")
    right.plot(numbers, rows["test_macro_f1"], "--s", color=VERMILLION, label="macro F1")
    right.plot(numbers, rows["majority_accuracy"], ":", color=BLACK, label="accuracy of the most frequent label")
    right.set(title="test documents", ylabel="share (0 to 1)", ylim=(0, 1))
    for axes in (left, right):
        axes.set_xlabel("epoch")
        axes.set_xticks(numbers)
        axes.legend()
    figure.suptitle(title)
    return figure
