from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ops.compare.run_scores import Values, compared_rows, read_both, read_values, share_intervals
from ops.schema import schema
from ops.storage.store import Store
from ops.storage.tables import write_part

SEED = (0, 1)


def values(numbers: np.ndarray, layer: int = 1, poles: int = 1) -> Values:
    neuron = np.arange(len(numbers)) // poles + layer * 1_000_000
    return Values(np.full(len(numbers), layer), neuron, np.asarray(numbers, float))


def joined(*some: Values) -> Values:
    return Values(*(np.concatenate([getattr(v, name) for v in some]) for name in ("layer", "neuron", "value")))


def rows_of(own: Values, control: Values, layers: tuple[int, ...] = (1,), resamples: int = 20) -> list[dict]:
    rows: list[dict] = compared_rows("scores", {"auc": own}, {"auc": control}, layers, resamples, SEED).to_pylist()
    return rows


def test_a_distribution_is_told_next_to_that_of_the_control() -> None:
    rng = np.random.default_rng(0)
    own, control = ([rng.normal(m, 1, n) for m in (shift, 0)] for shift, n in ((1.0, 40), (0.0, 90)))
    both = [joined(values(a, 1), values(b, 2)) for a, b in (own, control)]
    rows = rows_of(*both, layers=(1, 2))
    assert [row["layer"] for row in rows] == [1, 2, None]
    sides = [*zip(own, control, strict=True), (np.concatenate(own), np.concatenate(control))]
    for row, (mine, theirs) in zip(rows, sides, strict=True):
        limit = np.quantile(theirs, 0.95)
        assert (row["n"], row["control_n"]) == (len(mine), len(theirs))
        expected = [mine.mean(), np.median(mine), theirs.mean(), np.median(theirs), limit, (mine > limit).mean()]
        names = ("mean", "median", "control_mean", "control_median", "control_q95", "share_above")
        np.testing.assert_allclose([row[name] for name in names], expected)
        assert row["share_low"] <= row["share_above"] <= row["share_high"]


def test_resamples_are_those_of_values_repeated_as_often_as_their_neurons_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(5)
    own, control = values(rng.integers(0, 4, 24) / 4, poles=2), values(rng.integers(0, 4, 30) / 4)
    draws = [rng.integers(0, 3, 12).astype(float), rng.integers(0, 3, 30).astype(float)]
    given = iter(draws)
    made = "ops.compare.run_scores.resample"
    monkeypatch.setattr(made, lambda n, rng, count: np.vstack([np.ones(n), next(given)]))
    monkeypatch.setattr("ops.compare.run_scores.percentile_interval", lambda drawn, n: (drawn[1], n))
    ((share, clusters),) = share_intervals({"auc": (own, control)}, 1, rng).values()
    again = [
        np.repeat(v.value, d[v.neuron - 1_000_000].astype(int)) for v, d in zip((own, control), draws, strict=True)
    ]
    assert (again[0] == np.quantile(again[1], 0.95)).any(), "what equals the quantile is not above it"
    assert share == pytest.approx((again[0] > np.quantile(again[1], 0.95)).mean())
    assert clusters == 12


def test_layers_without_a_value_in_both_have_no_row() -> None:
    own, control = joined(values(np.arange(5.0), 1), values(np.arange(5.0), 2)), values(np.arange(9.0), 2)
    assert [row["layer"] for row in rows_of(own, control, layers=(1, 2))] == [2, None]


def written(store: Store, table: str, rows: list[dict]) -> None:
    names = schema(table).names
    filled = [{name: row.get(name) for name in names} for row in rows]
    types = pa.schema([pa.field(f.name, f.type) for f in schema(table)])
    write_part(store, table, 0, types, [pa.Table.from_pylist(filled, types)], "0")


def store_of(folder: Path, rows: list[dict], silent: tuple[int, ...] = ()) -> Store:
    store = Store(str(folder))
    units = sorted({(row["layer"], row["unit"]) for row in rows})
    neurons = [{"layer": a, "unit": b, "is_silent": b in silent} for a, b in units]
    written(store, "neurons", neurons)
    written(store, "explanations", rows)
    return store


def row(unit: int, pole: str, f1: float | None, r2: float, verdict: str) -> dict:
    found = {"layer": 1, "unit": unit, "pole": pole, "f1": f1, "nuisance_f1": 0.25, "r2": r2, "r2_nuisance": 0.5}
    return found | {"verdict": verdict}


def test_what_is_read_of_a_run(tmp_path: Path) -> None:
    rows = [
        row(0, "bottom", 0.5, 0.75, "rule"),
        row(0, "top", None, 0.75, "none"),
        row(1, "bottom", 1.0, 0.5, "none"),
        row(1, "top", 0.75, 0.5, "source"),
        row(2, "top", 0.125, 0.125, "rule"),
    ]
    found = read_values(store_of(tmp_path, rows, silent=(2,)), "explanations", ("bottom", "top"), (1, 2))
    assert found["f1"].value.tolist() == [0.5, 1.0, 0.75]
    assert found["f1_beyond_nuisance"].value.tolist() == [0.25, 0.75, 0.5]
    assert found["r2_beyond"].value.tolist() == [0.25, 0.0], "once a neuron"
    assert found["verdict rule"].value.tolist() == [1, 0, 0, 0]
    assert len(set(found["f1"].neuron.tolist())) == 2
    tops = read_values(Store(str(tmp_path)), "explanations", ("top",), (1,))
    assert tops["f1"].value.tolist() == [0.75]
    assert not len(read_values(Store(str(tmp_path)), "explanations", ("top",), (2,))["f1"].value)


def test_a_verdict_that_one_run_never_gave_has_a_share_of_zero(tmp_path: Path) -> None:
    own, control = (
        store_of(tmp_path / verdict, [row(unit, "top", 0.1 * unit, 0.5, verdict) for unit in range(units)])
        for verdict, units in (("rule", 3), ("none", 4))
    )
    mine, theirs = read_both((own, control), "explanations", ("top",), (1,))
    rows = compared_rows("explanations", mine, theirs, (1,), 10, SEED).to_pylist()
    found = {r["measure"]: (r["mean"], r["control_mean"], r["share_above"]) for r in rows if r["layer"] is None}
    assert found["verdict rule"] == (1, 0, None)
    assert found["verdict none"] == (0, 1, None)
    assert {name for name in found if name.startswith("verdict")} == {"verdict rule", "verdict none"}
