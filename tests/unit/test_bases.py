"""`python -m bench bases`: what it says of each run's units."""

import numpy as np
import pytest

from bench.bases import draw, layout, measure


def test_values_are_those_of_the_units_and_intervals_hold_them() -> None:
    rng = np.random.default_rng(0)
    columns = {"explained": (rng.random(400) < 0.3) * 1.0, "r2_beyond": rng.normal(0.1, 0.05, 400)}
    columns["f1"] = np.where(rng.random(400) < 0.1, np.nan, rng.random(400))
    found = measure("a", columns, 0)
    assert found.units == 400
    assert found.explained[0] == pytest.approx(columns["explained"].mean())
    assert found.r2_beyond[0] == pytest.approx(np.median(columns["r2_beyond"]))
    assert found.f1[0] == pytest.approx(np.nanmean(columns["f1"]))
    error = columns["explained"].std() / 20
    assert found.explained[2] - found.explained[1] == pytest.approx(2 * 1.96 * error, rel=0.15)
    for value, low, high in (found.explained, found.r2_beyond, found.f1):
        assert low < value < high
    assert measure("a", columns, 0) == found
    line = layout([found]).splitlines()[-1]
    assert line.startswith(f"| a | 400 | {found.explained[0]:.1%} (")
    assert len(draw([found, found]).axes) == 3
