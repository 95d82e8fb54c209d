"""Figures as files: each one as PNG and as SVG, put in place in one step."""

import matplotlib
from matplotlib.figure import Figure

from ops.storage.store import Store

DPI = 150


def save_figure(store: Store, name: str, figure: Figure) -> None:
    """Commit a figure as `name`.png and `name`.svg; the same figure gives the same bytes."""
    # Without a fixed salt the SVG's ids, and without None its date, would differ from run to run.
    with matplotlib.rc_context({"svg.hashsalt": "neuron-atlas"}):
        store.commit(f"{name}.png", lambda path: figure.savefig(path, format="png", dpi=DPI))
        store.commit(f"{name}.svg", lambda path: figure.savefig(path, format="svg", dpi=DPI, metadata={"Date": None}))
