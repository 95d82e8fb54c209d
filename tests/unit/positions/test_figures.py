"""The figures of positions: fit for print, and every point of the tables within its panel."""

import numpy as np
import pyarrow as pa

from ops.positions import figures
from ops.positions.compare import REFERENCES
from ops.positions.variants import DEFAULT, VARIANTS
from tests.unit.figure_letters import check_inside, check_print

RNG = np.random.default_rng(0)
MODEL = "some-model"
LAYERS, POSITIONS = 12, 40
SHOWN = [v for v in VARIANTS if v != DEFAULT]


def similarity() -> pa.Table:
    rows = [
        {"variant": v, "layer": i, "reference": r, "n": 12_345, "mean": RNG.uniform(-0.1, 1), "std": 0.2}
        for v in SHOWN
        for i in range(LAYERS + 1)
        for r in REFERENCES
    ]
    return pa.Table.from_pylist(rows)


def by_position() -> pa.Table:
    rows = [
        {"variant": v, "layer": i, "reference": "default", "position": p, "n": 99, "mean": RNG.uniform(-0.1, 1)}
        for v in VARIANTS
        for i in range(1, LAYERS + 1)
        for p in range(POSITIONS)
    ]
    return pa.Table.from_pylist(rows)


def test_figures_of_states_can_be_printed() -> None:
    layers = figures.draw_layers(similarity(), MODEL)
    assert [axes.get_title() for axes in layers.axes if axes.axison] == [
        f"{figures.in_words(v)}\n12,345 tokens" for v in SHOWN
    ]
    for figure in (layers, figures.draw_positions(by_position(), MODEL)):
        check_print(figure, MODEL)
        check_inside(figure)
