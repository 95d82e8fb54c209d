"""The figure of ablation shows every neuron once, next to the random ones that are drawn for it."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ops.compare.ablation import Effect
from ops.compare.figures import FIRST, Neuron, Null, ablation_figures, effect_rows
from ops.schema import schema
from tests.unit.figure_letters import check_inside, check_print

NAN = float("nan")
RNG = np.random.default_rng(0)


def row(layer: int, unit: int, moved: float | None, output: float | None = None, of: str = "p") -> dict[str, object]:
    return {"property": of, "rank": 1, "layer": layer, "unit": unit, "n": 5, "moved": moved, "output": output}


def table(rows: list[dict[str, object]]) -> pa.Table:
    layout = schema("compare/ablation")
    return pa.Table.from_pylist(rows, pa.schema([field.with_nullable(True) for field in layout]))


def effect(moved: float, output: float = NAN) -> Effect:
    return Effect(moved, -1, NAN, 0, 0.0, output)


def beside(rows: list[dict[str, object]], random: dict[Neuron, Effect]) -> Null:
    """Compare each neuron with all others that are drawn from its layer."""
    own = [(int(str(row["layer"])), int(str(row["unit"]))) for row in rows]
    return {n: {other: e for other, e in random.items() if other[0] == n[0] and other != n} for n in own}


def points(rows: list[dict[str, Any]], series: str) -> list[tuple[Any, float]]:
    return [(r.get("layer", r.get("neuron")), round(r["y"], 6)) for r in rows if r["series"] == series]


def test_a_neuron_is_drawn_once_beside_the_others_of_its_layer() -> None:
    rows = [row(1, 3, 0.5, of="a"), row(1, 3, 0.5, of="b"), row(2, 4, 0.3), row(2, 5, 0.36)]
    # 2:4 is among those drawn from its layer too; from layer 3 no neuron was set to its mean.
    random = {(1, 0): effect(0.1), (1, 1): effect(0.3), (2, 4): effect(0.3), (2, 6): effect(0.02), (3, 0): effect(9.0)}
    every, first = effect_rows(table(rows), beside(rows, random), "moved")
    assert points(every, "own") == [(1, 0.5), (2, 0.3), (2, 0.36)]
    assert points(every, "random") == [(1, 0.1), (1, 0.3), (2, 0.3), (2, 0.02)]
    # 0.3 over 0.02; then 0.5 over 0.2, then 0.36 over 0.16.
    assert points(first, "own") == [("2:4", 0.3), ("1:3", 0.5), ("2:5", 0.36)]
    assert points(first, "random") == [("2:4", 0.02), ("1:3", 0.1), ("1:3", 0.3), ("2:5", 0.3), ("2:5", 0.02)]
    left, right = ablation_figures(table(rows), beside(rows, random))["effects"].axes
    assert left.get_yscale() == right.get_yscale() == "log"
    assert [label.get_text() for label in right.get_xticklabels()] == ["2:4", "1:3", "2:5"]


def test_a_classifier_s_output_has_panels_of_its_own_with_the_last_layer() -> None:
    rows = [row(1, 3, 0.5, 0.25), row(2, 4, None, 0.125)]
    random = {(1, 0): effect(0.0, 0.0), (2, 0): effect(NAN, 0.0625)}
    panels = ablation_figures(table(rows), beside(rows, random))["effects"].axes
    assert [len(panels[i].lines[0].get_xydata()) for i in (0, 2)] == [1, 2]
    # 1:3 first: those drawn from its layer do nothing at all. Where an effect is 0, no axis is logarithmic.
    assert [label.get_text() for label in panels[3].get_xticklabels()] == ["1:3", "2:4"]
    assert {panel.get_yscale() for panel in panels} == {"linear"}


def test_the_first_are_named_and_of_none_there_is_no_figure() -> None:
    rows = [row(1, unit, float(unit)) for unit in range(1, 3 * FIRST)]
    null = beside(rows, {(1, 100): effect(1.0)})
    own = points(effect_rows(table(rows), null, "moved")[1], "own")
    assert [name for name, _ in own] == [f"1:{unit}" for unit in range(3 * FIRST - 1, 2 * FIRST - 1, -1)]
    assert ablation_figures(table([]), {}) == {}
    assert ablation_figures(table([row(1, 0, None), row(1, 1, None)]), {}) == {}


@pytest.mark.parametrize(("scale", "output"), [(1.0, True), (1e-4, False)])
def test_it_can_be_printed(scale: float, output: bool) -> None:
    def drawn(layer: int) -> tuple[float, float]:
        return scale ** float(RNG.random()), float(RNG.random()) if output else NAN

    rows = [row(layer, 3000 + unit, *drawn(layer)) for layer in range(1, 25) for unit in range(4)]
    rows = [{**r, "output": r["output"] if output else None} for r in rows]
    random = {(layer, unit): effect(*drawn(layer)) for layer in range(1, 25) for unit in range(10)}
    figure = ablation_figures(table(rows), beside(rows, random))["effects"]
    check_print(figure)
    check_inside(figure)
