"""The figure of the confusion sets: how right classifiers are, by how many examples they were trained on."""

from typing import Any

import matplotlib

from ops.figures import label_outer, panels, save_figure
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
    sets = list(dict.fromkeys(row["set"] for row in rows))
    layers = sorted({int(r["features"].partition(":")[2]) for r in rows if ":" in r["features"]})
    colors = matplotlib.colormaps["viridis"]([i / max(len(layers), 1) * 0.9 for i in range(len(layers))])
    styles = {**_STYLES, **{f"layer:{n}": (colors[i], f"layer {n}") for i, n in enumerate(layers)}}
    with matplotlib.rc_context({"font.size": 9}):
        figure, axes = panels(len(sets), f"Confusion sets, {short_name(model)}")
        for panel, name in zip(axes, sets, strict=True):
            for features, (color, label) in styles.items():
                own = sorted((r for r in rows if (r["set"], r["features"]) == (name, features)), key=lambda r: r["n"])
                if own:
                    n, middle = [r["n"] for r in own], [100 * r["accuracy"] for r in own]
                    panel.plot(n, middle, marker=".", color=color, label=label, linewidth=1)
                    panel.fill_between(
                        n, [100 * r["low"] for r in own], [100 * r["high"] for r in own], color=color, alpha=0.12
                    )
            panel.set_xscale("log")
            panel.set_title(name.replace(" ", " / "))
        label_outer(axes, "examples trained on", "accuracy, % (95 %)")
        axes[0].legend(fontsize=6, frameon=False)
        return save_figure(store, f"{FOLDER}/accuracy", figure)
