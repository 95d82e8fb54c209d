"""The figures of `compare/groups`: maps of neurons and sentences by group (Oba 2021, Figure 4), and their quality."""

import matplotlib
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ops.figures import PAGE, for_print, save_figures, titled
from ops.storage.store import Store

FOLDER = "compare/figures/groups"


def draw_groups(store: Store, tables: dict[str, pa.Table], layer: int, model: str = "") -> list[str]:
    """Draw the figures and return the files' names.

    Args:
        store: the run's folder.
        tables: those of the part.
        layer: whose map is drawn beside that of all layers.
        model: its name, for the titles.
    """
    drawings = {
        "maps": lambda: draw_maps(tables, layer, model),
        "quality": lambda: draw_quality(tables["compare/group_quality"], model),
    }
    return save_figures(store, FOLDER, drawings)


@for_print
def draw_maps(tables: dict[str, pa.Table], layer: int, model: str = "") -> Figure:
    """Draw the t-SNE maps of a layer's neurons, of all layers' neurons, and of sentences by that layer's neurons."""
    figure = Figure(figsize=(PAGE, 2.9), layout="constrained")
    panels = figure.subplots(1, 3)
    of_layer = {
        name: table.filter(pc.equal(table["layer"], layer))
        for name, table in tables.items()
        if name in ("compare/groups", "compare/sentence_groups")
    }
    _scatter(panels[0], of_layer["compare/groups"], f"{{n:,}} neurons of layer {layer}")
    _scatter(panels[1], tables["compare/joint_groups"], "{n:,} neurons of all layers")
    _scatter(panels[2], of_layer["compare/sentence_groups"], f"{{n:,}} sentences by layer {layer}")
    figure.suptitle(titled("Groups by k-means (colours) on a t-SNE map (after Oba 2021, Figure 4)", model))
    return figure


def _scatter(panel: Axes, table: pa.Table, title: str) -> None:
    colours = matplotlib.colormaps["tab20"](table["group"].to_numpy() % 20)
    panel.scatter(table["x"].to_numpy(), table["y"].to_numpy(), s=5, c=colours, linewidths=0)
    panel.set_title(title.format(n=table.num_rows))
    panel.set_xticks([])
    panel.set_yticks([])


@for_print
def draw_quality(quality: pa.Table, model: str = "") -> Figure:
    """Draw silhouette and stability by number of groups, mean over layers, beside those of shuffled activations."""
    figure = Figure(figsize=(PAGE, 4.4), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, squeeze=False)
    rows = quality.to_pylist()
    for column, grouped in enumerate(("neurons", "sentences")):
        own = [row for row in rows if row["grouped"] == grouped and row["layer"]]
        numbers = sorted({row["groups"] for row in own})
        for panel, name, title in zip(
            panels[:, column], ("silhouette", "rand_index"), ("silhouette", "agreement of seeds"), strict=True
        ):
            for key, label, style in ((name, "activations", "C0-o"), (f"{name}_of_shuffled", "shuffled", "C2-^")):
                values = [[row[key] for row in own if row["groups"] == number] for number in numbers]
                panel.plot(numbers, [_mean(v) for v in values], style, markersize=3, label=label)
            panel.set_title(f"{title}, {grouped}")
            panel.set_xticks(numbers)
    for panel in panels[1]:
        panel.set_xlabel("groups")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.suptitle(titled("How distinct and how stable groups are, mean over layers", model))
    return figure


def _mean(values: list[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else np.nan
