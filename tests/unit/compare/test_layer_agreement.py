import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import false_discovery_control

from ops.compare.layer_agreement import dimension_rows, rotated_rows
from ops.schema import TABLES

RNG = np.random.default_rng(0)
LAYERS, UNITS = 4, 60


def rows_of(values: np.ndarray, permutations: int = 400) -> dict[tuple[int, int], dict[str, float]]:
    widths = (values.shape[1],) * len(values)
    found = dimension_rows({"p": values.ravel()}, widths, permutations, (0, 9)).to_pylist()
    return {(row["layer_a"], row["layer_b"]): row for row in found}


def test_planted_equal_dimensions_are_found_and_others_are_not() -> None:
    values = RNG.normal(size=(LAYERS, UNITS))
    values[2] = values[0] + 0.3 * RNG.normal(size=UNITS)
    found = rows_of(values)
    assert set(found) == {(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)}
    planted = found.pop((1, 3))
    assert planted["correlation"] == pytest.approx(np.corrcoef(values)[0, 2], abs=1e-6)
    assert planted["correlation"] > planted["null_high"] > 0 > planted["null_low"]
    assert planted["p_value"] == pytest.approx(1 / 401)
    # Equal to another layer, but unit by unit shifted: no dimension is the same.
    values[3] = np.roll(values[0], 7)
    other = rows_of(values)[1, 4]
    assert other["null_low"] <= other["correlation"] <= other["null_high"]
    assert other["p_value"] > 0.05


def test_layers_in_which_nothing_varies_or_of_other_widths_have_no_row() -> None:
    values = RNG.normal(size=(3, UNITS))
    values[1] = 0.1
    assert set(rows_of(values)) == {(1, 3)}
    assert not dimension_rows({"p": RNG.normal(size=2)}, (1, 1), 10, (0,)).num_rows
    table = dimension_rows({"p": RNG.normal(size=13)}, (4, 5, 4), 10, (0,))
    assert [(r["layer_a"], r["layer_b"]) for r in table.to_pylist()] == [(1, 3)]


def test_units_without_a_value_are_left_out_of_every_pair_and_its_null() -> None:
    values = RNG.normal(size=(3, UNITS))
    gaps = values.copy()
    gaps[0, :2], gaps[2, 1:5] = np.nan, np.nan
    found = rows_of(gaps)
    for pair, units in (((1, 2), slice(2, None)), ((1, 3), slice(5, None)), ((2, 3), np.r_[0, 5:UNITS])):
        kept = np.full((3, len(values[0, units])), 0.0)
        kept[[layer - 1 for layer in pair]] = values[:, units][[layer - 1 for layer in pair]]
        expected = rows_of(kept)[pair]
        names = ("correlation", "null_low", "null_high", "p_value")
        assert [found[pair][name] for name in names] == pytest.approx([expected[name] for name in names])


def test_rates_are_over_all_properties_and_pairs_of_layers() -> None:
    rng = np.random.default_rng(3)
    same = np.tile(rng.normal(size=UNITS), 2)
    properties = {"a": same, **{name: rng.normal(size=2 * UNITS) for name in "bcd"}}
    found = dimension_rows(properties, (UNITS, UNITS), 199, (0,)).to_pylist()
    p = np.array([row["p_value"] for row in found])
    assert [row["q_value"] for row in found] == pytest.approx(false_discovery_control(p).tolist(), rel=1e-6)
    assert found[0]["q_value"] == pytest.approx(4 * 0.005)
    assert dimension_rows({}, (UNITS, UNITS), 9, (0,)).num_rows == 0


def test_rows_beside_rotated_bases() -> None:
    def table(r: float) -> pa.Table:
        return pa.table({"property": ["p"], "layer_a": [1], "layer_b": [2], "correlation": [r]})

    rotated = rotated_rows(table(0.5), [table(r) for r in (0.1, 0.2, 0.6)])
    assert rotated.schema.equals(TABLES["compare/rotated"].arrow)
    (row,) = rotated.to_pylist()
    assert row["rotations"] == 3
    assert row["q_value"] == pytest.approx(2 / 4)
    assert row["rotated_mean"] == pytest.approx(0.3)
    assert (row["rotated_low"], row["rotated_high"]) == pytest.approx((0.1, 0.6))
    assert row["p_value"] == pytest.approx(2 / 4)
