"""Figures of semantic hashing: precision and lost variance by the size of the code, and two-dimensional codes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ops.figures import COLOURS, PAGE, for_print, save_figures
from ops.meaning.figures import short_name
from ops.meaning.hashing import AUTOENCODER, BITS, PCA, REAL, SHUFFLED, STATES
from ops.storage.store import Store

FOLDER = "meaning/hashing_figures"
_LINES = {
    (AUTOENCODER, REAL): ("autoencoder", COLOURS[0], "-o"),
    (AUTOENCODER, BITS): ("autoencoder, bits", COLOURS[0], "--s"),
    (PCA, REAL): ("PCA", COLOURS[1], "-o"),
    (PCA, BITS): ("PCA, bits", COLOURS[1], "--s"),
}
_SHIFTS = (0.91, 0.97, 1.03, 1.1)  # keep intervals from covering each other
_TITLES = {PCA: "PCA", AUTOENCODER: "autoencoder"}
MOST_COLOURS, MOST_POINTS = len(COLOURS), 3_000
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
    name = short_name(model)
    drawings: dict[str, Callable[[], Figure]] = {"code_precision": lambda: draw_precision(rows, name)}
    if plane:
        drawings["code_plane"] = lambda: draw_plane(plane, classes, label, name)
    return save_figures(store, FOLDER, drawings)


@for_print
def draw_precision(rows: Rows, model: str) -> Figure:
    """Draw the precision of neighbours by the size of the code, with a panel for each label, and the lost variance."""
    labels = sorted({r["label"] for r in rows})[:3]
    figure = Figure(figsize=(PAGE, 3.0), layout="constrained")
    panels = figure.subplots(1, len(labels) + 1, sharex=True, squeeze=False)[0]
    for panel, label in zip(panels, labels, strict=False):
        own = [r for r in rows if r["label"] == label]
        for shift, ((method, code), (title, colour, look)) in zip(_SHIFTS, _LINES.items(), strict=True):
            line = sorted((r for r in own if (r["method"], r["code"]) == (method, code)), key=lambda r: r["size"])
            middle = [r["precision"] for r in line]
            ends = [[0.0 if r[end] is None else abs(r["precision"] - r[end]) for r in line] for end in ("low", "high")]
            panel.errorbar(
                [shift * r["size"] for r in line], middle, ends, fmt=look, color=colour, capsize=2, label=title
            )
        for method, title, dashes in ((STATES, "whole states", "-."), (SHUFFLED, "shuffled classes", ":")):
            for row in (r for r in own if r["method"] == method):
                panel.axhline(row["precision"], color="black", linestyle=dashes, linewidth=0.8, label=title)
        panel.set_title(f"{label}, {own[0]['classes']} classes")
        panel.set_ylim(0, 1)
        _sizes(panel, own)
    panels[0].set_ylabel(f"share of the {rows[0]['neighbours']} nearest (bars: 95 %)")
    lost = panels[-1]
    for (method, code), (_, colour, look) in _LINES.items():
        own = [r for r in rows if (r["method"], r["code"]) == (method, code) and r["error"] is not None]
        found = {r["size"]: r["error"] for r in own}
        lost.plot(sorted(found), [found[size] for size in sorted(found)], look, color=colour)
    lost.set_title("variance lost")
    lost.set_ylabel("share of the variance")
    lost.set_ylim(0, 1)
    _sizes(lost, rows)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    figure.suptitle(f"How often short codes find sentences of the same class, {model}")
    return figure


@for_print
def draw_plane(plane: Rows, classes: list[str | None], label: str, model: str) -> Figure:
    """Draw the two-dimensional codes coloured by class, a panel for each method; rare classes have no colour."""
    figure = Figure(figsize=(PAGE, 3.6), layout="constrained")
    methods = [m for m in (PCA, AUTOENCODER) if any(r["method"] == m for r in plane)]
    panels = figure.subplots(1, len(methods), squeeze=False)[0]
    counts: dict[str, int] = {}
    for value in classes:
        if value is not None:
            counts[value] = counts.get(value, 0) + 1
    shown = sorted(counts, key=lambda c: (-counts[c], c))[:MOST_COLOURS]
    for panel, method in zip(panels, methods, strict=True):
        own = [(r["x"], r["y"], c) for r, c in zip(plane, classes, strict=True) if r["method"] == method]
        own = own[:: max(-(-len(own) // MOST_POINTS), 1)]
        rest = np.array([(x, y) for x, y, c in own if c not in shown]).reshape(-1, 2)
        panel.scatter(rest[:, 0], rest[:, 1], s=2, color="0.85", linewidths=0)
        for value, colour in zip(sorted(shown), COLOURS, strict=False):
            there = np.array([(x, y) for x, y, c in own if c == value]).reshape(-1, 2)
            panel.scatter(there[:, 0], there[:, 1], s=3, color=colour, linewidths=0, alpha=0.7, label=value)
        panel.set_title(_TITLES[method])
        panel.set_xlabel("first dimension of the code")
        panel.set_ylabel("second dimension of the code")
        panel.set_xticks([])
        panel.set_yticks([])
    legend = figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=7, markerscale=4)
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_alpha(1)
    figure.suptitle(f"Held-out sentences in two dimensions, by {label}, {model}")
    return figure


def _sizes(panel: Any, rows: Rows) -> None:
    sizes = sorted({r["size"] for r in rows if r["method"] in _TITLES})
    panel.set_xscale("log", base=2)
    panel.set_xticks(sizes, [str(size) for size in sizes])
    panel.minorticks_off()
    panel.set_xlabel("dimensions or bits")
