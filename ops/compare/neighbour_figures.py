"""The figure of `compare/nearest`: how near the nearest neurons are, beside the nulls."""

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ops.figures import PAGE, for_print, save_figures, titled
from ops.storage.store import Store

FOLDER = "compare/figures/neighbours"
_LINES = {
    "correlation": (
        ("correlation", "nearest neuron", "C0-o"),
        ("correlation_of_rotated", "in a rotated basis", "C1-s"),
        ("correlation_of_shuffled", "sentences shuffled", "C2-^"),
    ),
    "overlap of winners": (
        ("overlap", "nearest neuron", "C0-o"),
        ("overlap_of_shuffled", "random sentences", "C2-^"),
    ),
}


def draw_nearest(store: Store, nearest: pa.Table, model: str = "") -> list[str]:
    """Draw the figure and return the files' names."""
    return save_figures(store, FOLDER, {"nearest": lambda: nearest_figure(nearest, model)})


@for_print
def nearest_figure(nearest: pa.Table, model: str = "") -> Figure:
    """Draw the mean nearness of the nearest neuron by layer, a row a reach, a column a kind of nearness."""
    reaches = sorted(set(nearest["reach"].to_pylist()), reverse=True)
    figure = Figure(figsize=(PAGE, 0.9 + 2.0 * max(len(reaches), 1)), layout="constrained")
    panels = figure.subplots(max(len(reaches), 1), 2, squeeze=False)
    for row, reach in zip(panels, reaches, strict=False):
        own = nearest.filter(pc.equal(nearest["reach"], reach))
        layers = own["layer"].to_pylist()
        for panel, (title, lines) in zip(row, _LINES.items(), strict=True):
            for column, label, style in lines:
                panel.plot(layers, own[column].to_numpy(), style, markersize=3, label=label)
            panel.set_title(f"{title}, {reach} {'the layer' if reach == 'within' else 'layers'}")
            panel.set_xticks(layers)
            panel.set_ylim(bottom=0)
            panel.set_xlabel("layer")
    handles, labels = panels[0][0].get_legend_handles_labels()
    more, names = panels[0][1].get_legend_handles_labels()
    every = dict(zip([*labels, *names], [*handles, *more], strict=True))
    figure.legend(every.values(), every.keys(), loc="outside lower center", ncols=4)
    figure.suptitle(titled("How near the nearest neuron is, mean over neurons drawn from each layer", model))
    return figure
