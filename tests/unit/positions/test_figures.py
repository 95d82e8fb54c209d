"""The figures of positions: fit for print, and every point of the tables within its panel."""

import numpy as np
import pyarrow as pa

from ops.positions import figures
from ops.positions.similarity import REFERENCES
from ops.positions.variants import DEFAULT, VARIANTS
from tests.unit.figure_letters import check_inside, check_print

RNG = np.random.default_rng(0)
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


def perplexity(position: bool) -> pa.Table:
    names = ("perplexity", "loss") if position else ("corpus", "mean", "token_mean")
    rows = [
        {"variant": v, "position": p, "n": 99, **{name: float(RNG.uniform(10, 500)) for name in names}}
        for v in VARIANTS
        for p in (range(POSITIONS) if position else (0,))
    ]
    return pa.Table.from_pylist(rows)


def test_figures_can_be_read_and_show_every_variant() -> None:
    norms = [
        {"position": p, "n": 99, "norm": 1.0, "input_norm": 2.0, "ratio": 0.5, "share": 0.25} for p in range(POSITIONS)
    ]
    label = {"label": "topic", "n": 50, "splits": 5, "accuracy": 0.5, "low": 0.4, "high": 0.6}
    tables = {
        "similarity": similarity(), "by_position": by_position(), "norms": pa.Table.from_pylist(norms),
        "perplexity": perplexity(False), "perplexity_by_position": perplexity(True),
        "labels": pa.Table.from_pylist([{**label, "features": v} for v in ("tokens", "majority", *VARIANTS)]),
    }  # fmt: skip
    found = figures.position_figures({f"positions/{name}": own for name, own in tables.items()})
    for figure in found.values():
        check_print(figure)
        check_inside(figure)
    titles = [" ".join(a.get_title().split()) for a in found["cosine_by_layer"].axes if a.axison]
    assert titles == [f"{figures.TITLES[v]}, 12,345 tokens" for v in SHOWN]
    assert [len(axes.lines) for axes in found["perplexity_by_position"].axes] == [len(VARIANTS)] * 2
    default = found["perplexity_by_position"].axes[1].lines[list(VARIANTS).index(DEFAULT)]
    assert not np.asarray(default.get_ydata()).any(), "the default's loss is not above itself"
