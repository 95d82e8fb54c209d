"""The figure of `compare/ablation`: what neurons do to others, compared with random neurons of their layer."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from ops.compare.ablation import Effect
from ops.figures.lines import draw_lines
from ops.figures.panels import finish, logarithmic, panels

FIRST = 12  # neurons whose names are shown
Neuron = tuple[int, int]  # layer and unit
Null = Mapping[Neuron, Mapping[Neuron, Effect]]  # for each neuron, the random ones that it is compared with
Rows = list[dict[str, Any]]
_KINDS = {
    "moved": "how far neurons of later layers move (mean, in their standard deviations)",
    "output": "how far the classifier's output moves (total variation, 0 to 1)",
}
_SERIES = {
    "own": "neurons highest in a property",
    "random": "random neurons of the same layer with a similar spread",
}


def ablation_figures(ablation: pa.Table, random: Null) -> dict[str, Figure]:
    """Return the figure of neurons' effects and the null, or none if no neuron has a known effect.

    The panels show all neurons by layer, and those that most exceed the null's mean. With a classifier, a second row of
    panels shows its output.

    Args:
        ablation: the table.
        random: for each neuron, the effects of the random neurons drawn for it; neurons are given by layer and unit.
    """
    kinds = [kind for kind in _KINDS if ablation[kind].null_count < ablation.num_rows]
    if not kinds:
        return {}
    titles = ["all neurons, by layer", "largest effects relative to the random neurons, as layer:unit"] * len(kinds)
    title = "Setting a neuron to its mean: the effect on others"
    figure, grid = panels(titles, title, own_scales=True, columns=2)
    for kind, left, right in zip(kinds, grid[::2], grid[1::2], strict=True):
        every, first = effect_rows(ablation, random, kind)
        values = [row["y"] for row in every]
        for axes, rows, x in ((left, every, "layer"), (right, first, "neuron")):
            draw_lines(axes, pa.Table.from_pylist(rows), x, series=_SERIES, points=True)
            logarithmic(axes, "y", min(values), max(values))
        left.set_ylabel(_KINDS[kind])
    return {"effects": finish(figure)}


def effect_rows(ablation: pa.Table, random: Null, kind: str) -> tuple[Rows, Rows]:
    """Return the points of both panels: all neurons, and those whose effects most exceed their random neurons' mean."""
    own = {(row["layer"], row["unit"]): row[kind] for row in ablation.to_pylist() if row[kind] is not None}
    null = {
        neuron: {
            other: value
            for other, effect in random.get(neuron, {}).items()
            if np.isfinite(value := getattr(effect, kind))
        }
        for neuron in own
    }
    drawn = {other: value for others in null.values() for other, value in others.items()}
    every: Rows = [
        {"layer": layer, "series": series, "y": value}
        for series, points in (("own", own), ("random", drawn))
        for (layer, _), value in sorted(points.items())
    ]
    excess = {n: own[n] / max(float(np.mean(list(others.values()))), 1e-12) for n, others in null.items() if others}
    first: Rows = [
        {"neuron": f"{neuron[0]}:{neuron[1]}", "series": series, "y": value}
        for neuron in sorted(excess, key=lambda n: (-excess[n], n))[:FIRST]
        for series, values in (("own", [own[neuron]]), ("random", null[neuron].values()))
        for value in values
    ]
    return every, first
