"""What the map shows of every neuron."""

from typing import Any

import pyarrow as pa

from ops.report.overview import map_data


def score(layer: int, unit: int, pole: str, auc: float | None, excess: float | None) -> dict[str, Any]:
    return {"layer": layer, "unit": unit, "pole": pole, "auc": auc, "auc_excess": excess}


AUDITED = [
    {"layer": 1, "unit": 0, "pole": "top", "ported": 3, "verdict": "global"},
    {"layer": 2, "unit": 1, "pole": "top", "ported": 0, "verdict": "dataset_detector"},
]
SCORES = [score(1, 0, "top", 0.75, 0.25), score(1, 1, "bottom", None, None), score(2, 0, "top", 0.875, 0.625)]


def test_values_stand_at_their_neuron() -> None:
    profile = {"layer": 2, "unit": 1, "pole": "top", "property": "tag", "value": "NN"}
    tables = {
        "neurons": pa.Table.from_pylist([{"layer": 1, "unit": 1, "skew": -1.234}]),
        "scores": pa.Table.from_pylist(SCORES),
        "means": pa.Table.from_pylist([{"layer": 2, "unit": 2, "pole": "bottom", "mean": 12.345}]),
        "profiles": pa.Table.from_pylist([profile, {**profile, "unit": 0}, {**profile, "unit": 2, "value": "CD"}]),
        "peaks": pa.table({}),
        "audit": pa.Table.from_pylist(AUDITED),
    }
    found = map_data(tables, (2, 3), ["top", "bottom"])
    own = {name: p["values"] for name, p in found["properties"].items()}
    assert sorted(own) == ["auc", "audit", "margin", "ported", "skew", "tag", "words"]
    assert own["ported"]["top"] == [3, None, None, 0, None]
    assert found["properties"]["audit"]["names"] == ["dataset detector", "global"]
    assert own["audit"]["top"] == [1, None, None, 0, None]
    assert own["auc"] == {"top": [0.75, None, 0.875, None, None], "bottom": [None] * 5}
    assert own["margin"]["top"] == [0.25, None, 0.625, None, None]
    assert own["skew"] == {pole: [None, -1.23, None, None, None] for pole in ("top", "bottom")}
    assert own["words"]["bottom"] == [None, None, None, None, 12.3]
    assert found["properties"]["tag"]["names"] == ["NN", "CD"]
    assert own["tag"]["top"] == [None, None, 0, 0, 1]
    assert map_data({name: pa.table({}) for name in tables}, (2,), ["top"])["properties"] == {}
