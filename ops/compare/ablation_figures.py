"""The figure of `compare/ablation`: what neurons do to others, compared with random neurons of their layer."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from ops.compare.ablation import Effect
from ops.figures import BLUE, GREEN, PAGE, for_print, save_figures, titled
from ops.storage.store import Store

FOLDER = "compare/figures/ablation"
FIRST = 15  # neurons whose names are shown
Neuron = tuple[int, int]  # layer and unit
Points = dict[Neuron, float]
_KINDS = {
    "moved": "how far neurons of later layers move\n(mean, in their standard deviations)",
    "output": "how far the classifier's output moves\n(total variation, 0 to 1)",
}
_OWN, _RANDOM = "neurons highest in a property", "random neurons of the same layer with a similar spread"
_OWN_LOOK: dict[str, Any] = {"color": BLUE, "marker": "o", "linestyle": "", "markersize": 3.5}
_RANDOM_LOOK: dict[str, Any] = {"color": GREEN, "marker": "x", "linestyle": "", "markersize": 3}
Null = Mapping[Neuron, Mapping[Neuron, Effect]]  # for each neuron, the random ones that it is compared with


def draw_ablation(store: Store, ablation: pa.Table, random: Null, model: str = "") -> list[str]:
    """Draw the figure and return the file names; return none if no neuron has a known effect.

    Args:
        store: the run's folder.
        ablation: the table.
        random: for each neuron, the effects of the random neurons drawn for it; neurons are given by layer and unit.
        model: name of the model, for the title.
    """
    if not _kinds(ablation):
        return []
    return save_figures(store, FOLDER, {"effects": lambda: effects_figure(ablation, random, model)})


@for_print
def effects_figure(ablation: pa.Table, random: Null, model: str = "") -> Figure:
    """Draw neurons' effects and the null: all of them by layer, and those that most exceed the null's mean.

    One row of panels shows the effect on neurons of later layers. With a classifier, a second row shows its output.
    """
    rows, kinds = ablation.to_pylist(), _kinds(ablation)
    figure = Figure(figsize=(PAGE, 0.8 + 2.6 * len(kinds)), layout="constrained")
    panels = figure.subplots(len(kinds), 2, squeeze=False)
    for (left, right), kind in zip(panels, kinds, strict=True):
        own = {(row["layer"], row["unit"]): row[kind] for row in rows if row[kind] is not None}
        beside = {neuron: _finite(random.get(neuron, {}), kind) for neuron in own}
        drawn = dict(sorted({other: value for points in beside.values() for other, value in points.items()}.items()))
        _by_layer(left, own, drawn)
        _first(right, own, beside)
        left.set_ylabel(_KINDS[kind])
        right.set_xlabel(_KINDS[kind])
        every = [*own.values(), *drawn.values()]
        if max(every) > 5 * min(every) > 0:
            left.set_yscale("log")
            right.set_xscale("log")
            for axis in (left.yaxis, right.xaxis):
                axis.set_major_locator(LogLocator(subs=(1, 2, 5) if max(every) < 100 * min(every) else (1,)))
                axis.set_major_formatter("{x:g}")
                axis.set_minor_formatter(NullFormatter())
    panels[0, 0].set_title("all neurons set to their mean")
    panels[0, 1].set_title("largest effects relative to the random neurons")
    panels[-1, 0].set_xlabel("layer")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.suptitle(titled("Setting a neuron to its mean: the effect on others", model))
    return figure


def _kinds(ablation: pa.Table) -> list[str]:
    """Return the kinds of effects that are known for some neuron."""
    return [kind for kind in _KINDS if ablation[kind].null_count < ablation.num_rows]


def _by_layer(panel: Axes, own: Points, drawn: Points) -> None:
    for points, aside, look, label in ((own, -0.17, _OWN_LOOK, _OWN), (drawn, 0.17, _RANDOM_LOOK, _RANDOM)):
        places = [layer + aside for layer, _ in points]
        panel.plot(places, list(points.values()), alpha=0.7, label=label, **look)
    layers = {layer for layer, _ in own}
    panel.set_xlim(min(layers) - 0.5, max(layers) + 0.5)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))


def _first(panel: Axes, own: Points, beside: Mapping[Neuron, Points]) -> None:
    """Draw the neurons whose effects most exceed the mean of their random neurons, one line each."""
    nulls = {neuron: list(points.values()) for neuron, points in beside.items()}
    named = sorted((n for n in own if nulls[n]), key=lambda n: (-own[n] / max(float(np.mean(nulls[n])), 1e-12), n))[
        :FIRST
    ]
    for place, neuron in enumerate(named):
        panel.plot(nulls[neuron], [place] * len(nulls[neuron]), alpha=0.7, **_RANDOM_LOOK)
        panel.plot([own[neuron]], [place], **_OWN_LOOK)
    panel.set_yticks(range(len(named)), [f"{layer}:{unit}" for layer, unit in named])
    panel.set_ylim(max(len(named), 1) - 0.5, -0.5)
    panel.set_ylabel("neuron")


def _finite(effects: Mapping[Neuron, Effect], kind: str) -> Points:
    """Return the known effects of this kind."""
    return {neuron: getattr(e, kind) for neuron, e in effects.items() if np.isfinite(getattr(e, kind))}
