"""The figure of `compare/nearest`: the similarity of the nearest neurons, compared with the nulls."""

import pyarrow as pa

from ops.figures.files import save_figures
from ops.figures.lines import lines, longer, with_panels
from ops.figures.panels import from_zero
from ops.storage.store import Store

FOLDER = "compare/figures/neighbours"
_LINES = (
    ("correlation", "nearest neuron", "correlation"),
    ("correlation", "nearest axis of a random rotation", "correlation_of_rotated"),
    ("correlation", "nearest neuron, sentences shuffled", "correlation_of_shuffled"),
    ("overlap", "nearest neuron", "overlap"),
    ("overlap", "random sentences as winners", "overlap_of_shuffled"),
)
_REACHES = {"within": "neurons of the same layer", "across": "neurons of other layers"}
_KINDS = {"correlation": "correlation of activations", "overlap": "share of common winners"}


def draw_nearest(store: Store, nearest: pa.Table, model: str = "") -> list[str]:
    """Draw the mean similarity of the nearest neuron by layer for each kind and reach, and return the file names."""
    labels = {f"{kind}:{reach}": text for reach in _REACHES for kind, text in _KINDS.items()}
    figure = lines(
        with_panels(longer(nearest, *_LINES), "panel", "reach"), "layer", "y", colour="series", panel="panel",
        names={key: _REACHES[key.partition(":")[2]] for key in labels}, own_scales=True, x_label="layer",
        title="How similar the nearest neuron is (mean over neurons drawn from each layer)", model=model,
        y_label=labels,
    )  # fmt: skip
    for axes in figure.axes:
        from_zero(axes)
    return save_figures(store, FOLDER, {"nearest": figure})
