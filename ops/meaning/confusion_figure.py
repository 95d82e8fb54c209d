"""The figure of the confusion sets: how right classifiers are, by how many examples they were trained on."""

from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from ops.figures import PAGE, for_print, label_outer, save_figures
from ops.meaning.figures import short_name
from ops.storage.store import Store

FOLDER = "meaning/confusion_figures"
_STYLES = {"majority": ("0.6", "majority"), "words": ("black", "words around")}


def draw_confusion(store: Store, rows: list[dict[str, Any]], model: str) -> list[str]:
    """Draw accuracy against the number of examples, a panel a set and a line a layer, and return the files' names.

    Args:
        store: the run's folder.
        rows: of `meaning/confusion`.
        model: its name, for the title.
    """
    return save_figures(store, FOLDER, {"confusion_accuracy": lambda: draw_sets(rows, short_name(model))})


@for_print
def draw_sets(rows: list[dict[str, Any]], model: str) -> Figure:
    """Draw accuracy against the number of examples, a panel a set and a line a layer."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    layers = sorted({int(r["features"].partition(":")[2]) for r in rows if ":" in r["features"]})
    colors = matplotlib.colormaps["viridis"]([i / max(len(layers), 1) * 0.9 for i in range(len(layers))])
    styles = {**_STYLES, **{f"layer:{n}": (colors[i], f"layer {n}") for i, n in enumerate(layers)}}
    columns = min(len(sets), 3)
    down = -(-len(sets) // columns)
    figure = Figure(figsize=(PAGE, 0.9 + 1.7 * down), layout="constrained")
    grid = list(figure.subplots(down, columns, sharex=True, sharey=True, squeeze=False).ravel())
    for panel in grid[len(sets) :]:
        panel.set_axis_off()
    for panel, name in zip(grid, sets, strict=False):
        for features, (color, label) in styles.items():
            own = sorted((r for r in rows if (r["set"], r["features"]) == (name, features)), key=lambda r: r["n"])
            if own:
                n, middle = [r["n"] for r in own], [100 * r["accuracy"] for r in own]
                panel.plot(n, middle, marker=".", color=color, label=label)
                low, high = [100 * r["low"] for r in own], [100 * r["high"] for r in own]
                panel.fill_between(n, low, high, color=color, alpha=0.12, linewidth=0)
        panel.set_xscale("log")
        panel.set_title(name.replace(" ", " / "))
    shared = grid[0]
    first, last = min(r["n"] for r in rows), max(r["n"] for r in rows)
    powers = [p for p in range(1, 7) if first / 3 <= 10**p <= last * 3]
    shared.set_xticks([10**p for p in powers], [f"{10**p:,}" for p in powers])
    shared.set_xlim(first / 1.3, last * 1.3)
    shared.xaxis.set_minor_formatter(NullFormatter())
    label_outer(grid[: len(sets)], "examples trained on", "accuracy, %")
    handles = {text: line for panel in grid for line, text in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=min(len(handles), 8))
    figure.suptitle(f"The right one of confused words, by examples trained on (bands: 95 %), {model}")
    return figure
