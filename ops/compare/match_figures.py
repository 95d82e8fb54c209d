"""The figure of `compare/universal`: how many units have a match in another run, next to rotated layers."""

import pyarrow as pa
from matplotlib.figure import Figure

from ops.compare.unit_matches import UNIVERSAL_FROM
from ops.figures import NULLS, OWN, PAGE, for_print, ordered_colours, save_figures
from ops.storage.store import Store

FOLDER = "compare/figures/matches"
MOST_LABELS = 12  # maximum number of labelled layers


def draw_matches(store: Store, universal: pa.Table, model: str, other: str) -> list[str]:
    """Draw the figure and return the file names."""
    return save_figures(store, FOLDER, {"universal": lambda: universal_figure(universal, model, other)})


@for_print
def universal_figure(universal: pa.Table, model: str, other: str) -> Figure:
    """Draw the share of units above a threshold: best matches and rotated layers, and the excess by layer."""
    rows = universal.to_pylist()
    layers = sorted({row["layer"] for row in rows if row["layer"] is not None})
    rotated = any(row["share"] is not None for row in rows)
    figure = Figure(figsize=(PAGE, 3.4), layout="constrained")
    panels = figure.subplots(1, 2 if rotated else 1, squeeze=False)[0]
    whole = [row for row in rows if row["layer"] is None]
    thresholds = [row["threshold"] for row in whole]
    for name, label, look in (
        ("correlated", "best match in the other run", OWN),
        ("rotated", "best axis of rotated layers", NULLS[0]),
    ):
        if all(row[name] is not None for row in whole):
            panels[0].plot(thresholds, [row[name] for row in whole], label=label, **look)
    panels[0].set_title("best match, all layers")
    panels[0].set_xlabel("minimum absolute correlation")
    panels[0].set_ylabel("share of units")
    if rotated:
        step = -(-len(layers) // MOST_LABELS)
        for place, (layer, colour) in enumerate(zip(layers, ordered_colours(len(layers)), strict=True)):
            shares = [row["share"] for row in rows if row["layer"] == layer]
            named = f"layer {layer}" if place % step == 0 else "_"
            panels[1].plot(thresholds, shares, color=colour, label=named)
        panels[1].axvline(UNIVERSAL_FROM, color="0.6", linewidth=0.8, linestyle=":")
        panels[1].set_title(f"excess over rotated layers, by layer (dotted: {UNIVERSAL_FROM})")
        panels[1].set_xlabel("minimum excess")
    for panel in panels:
        panel.set_ylim(-0.02, 1.02)
    listed = [panel.get_legend_handles_labels() for panel in panels]
    handles, labels = ([one for own in listed for one in own[i]] for i in (0, 1))
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    figure.suptitle(f"Units of {model} with a match in\n{other}")
    return figure
