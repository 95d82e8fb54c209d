"""Figures of semantic hashing: precision and lost variance by the size of the code, and two-dimensional codes."""

from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from ops.figures.files import save_figures
from ops.figures.lines import lines
from ops.figures.maps import largest, scatter
from ops.figures.panels import finish, panels
from ops.meaning.figures import short_name
from ops.meaning.hashing import AUTOENCODER, BITS, PCA, REAL, SHUFFLED, STATES
from ops.storage.store import Store

FOLDER = "meaning/hashing_figures"
_SERIES = {
    f"{AUTOENCODER} {REAL}": "autoencoder",
    f"{AUTOENCODER} {BITS}": "autoencoder, bits",
    f"{PCA} {REAL}": "PCA",
    f"{PCA} {BITS}": "PCA, bits",
    f"{STATES} {REAL}": "whole states",
    f"{SHUFFLED} {REAL}": "shuffled classes",
}
_TITLES = {PCA: "PCA", AUTOENCODER: "autoencoder"}
_LOST = "variance lost"
MOST_LABELS, MOST_POINTS = 3, 3_000
Rows = list[dict[str, Any]]


def draw_hashing(store: Store, rows: Rows, plane: Rows, classes: list[str | None], label: str, model: str) -> list[str]:
    """Draw the figures into `meaning/hashing_figures/` and return the file names.

    Args:
        store: the run's folder.
        rows: the rows of `meaning/hashing`.
        plane: the rows of `meaning/plane`.
        classes: the class of each row of the plane by `label`, or None.
        label: the label that gives the colours of the plane.
        model: name of the model, for the titles.
    """
    figures = {"code_precision": draw_precision(rows, short_name(model))}
    if plane:
        figures["code_plane"] = draw_plane(plane, classes, label, short_name(model))
    return save_figures(store, FOLDER, figures)


def draw_precision(rows: Rows, model: str) -> Figure:
    """Draw the precision of neighbours by the size of the code, with a panel for each label, and the lost variance."""
    codes = [row for row in rows if row["method"] in _TITLES]
    sizes = sorted({row["size"] for row in codes})
    # What has one size alone, such as a control, is drawn at all of them.
    levels = [{**row, "size": size} for row in rows if row["method"] not in _TITLES for size in sizes]
    classes = {
        row["label"]: f"{row['label']}, {row['classes']} classes" for row in sorted(rows, key=lambda r: r["label"])
    }
    table = pa.Table.from_pylist([
        {"size": r["size"], "series": f"{r['method']} {r['code']}", "panel": panel, "y": y, "low": low, "high": high}
        for r in codes + levels
        for panel, y, low, high in (
            (r["label"], r["precision"], r["low"], r["high"]), (_LOST, r["error"] if r in codes else None, None, None)
        )
    ])  # fmt: skip
    figure = lines(
        table, "size", "y", low="low", high="high", colour="series", series=_SERIES, panel="panel",
        names={label: classes[label] for label in list(classes)[:MOST_LABELS]} | {_LOST: f"{_LOST} (share)"},
        title="How often short codes find sentences of the same class (bands: 95 %)", model=model,
        x_label="dimensions or bits", y_label=f"share of the {rows[0]['neighbours']} nearest",
    )  # fmt: skip
    for axes in figure.axes:
        axes.set_ylim(-0.02, 1.02)
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
    return figure


def draw_plane(plane: Rows, classes: list[str | None], label: str, model: str) -> Figure:
    """Draw the two-dimensional codes coloured by class, a panel for each method; rare classes have no colour."""
    methods = [method for method in _TITLES if any(row["method"] == method for row in plane)]
    title = f"Held-out sentences in two dimensions, by {label} (grey: rarer classes)"
    figure, grid = panels([_TITLES[method] for method in methods], title, model, own_scales=True)
    named = largest(classes)
    for axes, method in zip(grid, methods, strict=True):
        own = [i for i, row in enumerate(plane) if row["method"] == method]
        own = own[:: max(-(-len(own) // MOST_POINTS), 1)]
        points = np.array([[plane[i]["x"], plane[i]["y"]] for i in own])
        scatter(axes, points, [classes[i] for i in own], named)
    return finish(figure, "first dimension of the code", "second dimension of the code")
