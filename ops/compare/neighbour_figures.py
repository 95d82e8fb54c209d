"""The figure of `compare/nearest`: the similarity of the nearest neurons, compared with the nulls."""

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ops.figures import NULLS, OWN, PAGE, for_print, save_figures, titled
from ops.storage.store import Store

FOLDER = "compare/figures/neighbours"
_LINES = {
    "correlation of activations": (
        ("correlation", "nearest neuron", OWN),
        ("correlation_of_rotated", "nearest axis of a random rotation", NULLS[0]),
        ("correlation_of_shuffled", "nearest neuron, sentences shuffled", NULLS[1]),
    ),
    "share of common winners": (
        ("overlap", "nearest neuron", OWN),
        ("overlap_of_shuffled", "random sentences as winners", NULLS[2]),
    ),
}
_REACH = {"within": "neurons of the same layer", "across": "neurons of other layers"}


def draw_nearest(store: Store, nearest: pa.Table, model: str = "") -> list[str]:
    """Draw the figure and return the file names."""
    return save_figures(store, FOLDER, {"nearest": lambda: nearest_figure(nearest, model)})


@for_print
def nearest_figure(nearest: pa.Table, model: str = "") -> Figure:
    """Draw the mean similarity of the nearest neuron by layer, with a row for each reach and a column for each kind."""
    reaches = sorted(set(nearest["reach"].to_pylist()), reverse=True)
    figure = Figure(figsize=(PAGE, 0.9 + 2.0 * max(len(reaches), 1)), layout="constrained")
    panels = figure.subplots(max(len(reaches), 1), 2, squeeze=False)
    for row, reach in zip(panels, reaches, strict=False):
        own = nearest.filter(pc.equal(nearest["reach"], reach))
        layers = own["layer"].to_pylist()
        for panel, (title, lines) in zip(row, _LINES.items(), strict=True):
            for column, label, look in lines:
                panel.plot(layers, own[column].to_numpy(), label=label, **look)
            panel.set_title(_REACH[reach])
            panel.set_xticks(layers)
            panel.set_ylim(bottom=0)
            panel.set_ylabel(title)
    for panel in panels[-1]:
        panel.set_xlabel("layer")
    handles, labels = panels[0][0].get_legend_handles_labels()
    more, names = panels[0][1].get_legend_handles_labels()
    every = dict(zip([*labels, *names], [*handles, *more], strict=True))
    figure.legend(every.values(), every.keys(), loc="outside lower center", ncols=2)
    figure.suptitle(titled("How similar the nearest neuron is (mean over neurons drawn from each layer)", model))
    return figure
