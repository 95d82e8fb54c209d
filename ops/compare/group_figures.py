"""The figures of `compare/groups`: maps of neurons and sentences by group (Oba 2021, Figure 4), and their quality."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ops.figures import BAND, COLOURS, NULLS, OWN, PAGE, for_print, label_points, save_figures, titled
from ops.storage.store import Store

FOLDER = "compare/figures/groups"
_MARKS = "os^Dv"
_MEASURES = {"silhouette": "silhouette (-1 to 1)", "rand_index": "adjusted Rand index"}


def draw_groups(store: Store, tables: dict[str, pa.Table], layer: int, model: str = "") -> list[str]:
    """Draw the figures and return the file names.

    Args:
        store: the run's folder.
        tables: the tables of the part `groups`.
        layer: the layer whose map is drawn next to that of all layers.
        model: name of the model, for the titles.
    """
    drawings = {
        "maps": lambda: draw_maps(tables, layer, model),
        "quality": lambda: draw_quality(tables["compare/group_quality"], model),
    }
    return save_figures(store, FOLDER, drawings)


@for_print
def draw_maps(tables: dict[str, pa.Table], layer: int, model: str = "") -> Figure:
    """Draw the t-SNE maps of a layer's neurons, of all layers' neurons, and of sentences by that layer's neurons."""
    figure = Figure(figsize=(PAGE, 3.0), layout="constrained")
    panels = figure.subplots(1, 3)
    of_layer = {
        name: table.filter(pc.equal(table["layer"], layer))
        for name, table in tables.items()
        if name in ("compare/groups", "compare/sentence_groups")
    }
    _scatter(panels[0], of_layer["compare/groups"], f"{{n:,}} neurons of layer {layer}")
    _scatter(panels[1], tables["compare/joint_groups"], "{n:,} neurons of all layers")
    _scatter(panels[2], of_layer["compare/sentence_groups"], f"{{n:,}} sentences by layer {layer}")
    panels[0].set_ylabel("second t-SNE axis (no unit)")
    figure.suptitle(titled("Numbered k-means groups on a t-SNE map (after Oba 2021, Figure 4)", model))
    for panel, table in zip(
        panels,
        (of_layer["compare/groups"], tables["compare/joint_groups"], of_layer["compare/sentence_groups"]),
        strict=True,
    ):
        _number_groups(panel, table)
    return figure


def _scatter(panel: Axes, table: pa.Table, title: str) -> None:
    group, x, y = (table[name].to_numpy() for name in ("group", "x", "y"))
    for number in np.unique(group).tolist():
        # Each group has its own combination of colour and mark.
        colour, mark = COLOURS[number % len(COLOURS)], _MARKS[number // len(COLOURS) % len(_MARKS)]
        here = group == number
        panel.scatter(x[here], y[here], s=6, color=colour, marker=mark, linewidths=0, alpha=0.7)
    panel.set_title(title.format(n=table.num_rows))
    panel.set_xlabel("first t-SNE axis (no unit)")
    panel.set_xticks([])
    panel.set_yticks([])
    panel.margins(0.06)


def _number_groups(panel: Axes, table: pa.Table) -> None:
    """Write each group's number at its most central point."""
    group, places = table["group"].to_numpy(), np.column_stack([table["x"].to_numpy(), table["y"].to_numpy()])
    numbers = np.unique(group).tolist()
    if not numbers:
        return
    middles = []
    for number in numbers:
        own = places[group == number]
        middle = np.median(own, axis=0)
        middles.append(own[np.argmin(((own - middle) ** 2).sum(1))])
    label_points(panel, np.array(middles, np.float64), [str(number) for number in numbers], halo=True)


@for_print
def draw_quality(quality: pa.Table, model: str = "") -> Figure:
    """Draw silhouette and stability by number of groups, mean over layers, next to those of shuffled activations."""
    figure = Figure(figsize=(PAGE, 4.4), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, squeeze=False)
    rows = quality.to_pylist()
    for column, grouped in enumerate(("neurons", "sentences")):
        own = [row for row in rows if row["grouped"] == grouped and row["layer"]]
        numbers = sorted({row["groups"] for row in own})
        for panel, (name, title) in zip(panels[:, column], _MEASURES.items(), strict=True):
            for key, label, look in (
                (name, "activations", OWN),
                (f"{name}_of_shuffled", "activations shuffled over sentences", NULLS[1]),
            ):
                values = [_known([row[key] for row in own if row["groups"] == number]) for number in numbers]
                panel.plot(numbers, [np.mean(v) if v else np.nan for v in values], label=label, **look)
                ends = [(min(v), max(v)) if v else (np.nan, np.nan) for v in values]
                low, high = np.array(ends, np.float64).reshape(-1, 2).T
                panel.fill_between(numbers, low, high, color=look["color"], **BAND)
            panel.set_ylabel(title)
            panel.set_xticks(numbers)
        panels[0, column].set_title(f"groups of {grouped}")
    for panel in panels[1]:
        panel.set_xlabel("number of groups")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    title = "How distinct and how stable groups are: mean over layers (band: lowest to highest layer)"
    figure.suptitle(titled(title, model))
    return figure


def _known(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None]
