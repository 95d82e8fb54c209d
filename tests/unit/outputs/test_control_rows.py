"""The controls against plain numpy, and when a sentence says that units are more peaked than random directions."""

import numpy as np
import pytest

from ops.outputs.control_rows import control_rows, said_peaked


def test_a_row_has_the_quantiles_and_the_share_beyond_the_random_ones() -> None:
    rng = np.random.default_rng(0)
    units, random = rng.normal(1, 2, 500), rng.normal(size=200)
    units[7] = random[3] = np.nan
    own, null = control_rows(4, "kurtosis", units, random)
    known, drawn = units[np.isfinite(units)], random[np.isfinite(random)]
    assert (own["layer"], own["basis"], own["measure"], own["n"]) == (4, "units", "kurtosis", 499)
    assert (null["basis"], null["n"]) == ("random", 199)
    assert own["mean"] == pytest.approx(known.mean())
    assert own["q25"] == pytest.approx(np.quantile(known, 0.25))
    assert own["beyond"] == (known > np.quantile(drawn, 0.95)).mean()
    assert null["beyond"] == pytest.approx(0.05, abs=0.006)


def test_of_units_that_write_nothing_all_is_null() -> None:
    own, _ = control_rows(1, "extreme", np.full(3, np.nan), np.arange(20.0))
    assert own["n"] == 0
    assert {own[name] for name in ("mean", "q05", "q50", "q95", "beyond")} == {None}
    assert said_peaked(control_rows(1, "kurtosis", np.full(3, np.nan), np.arange(20.0))) == []


def test_random_units_are_rarely_said_to_be_more_or_less_peaked() -> None:
    said = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = [row for layer in (1, 2) for row in control_rows(layer, "kurtosis", *rng.normal(size=(2, 300)))]
        said.append(said_peaked(rows)[0])
    assert sum("is no more peaked than" in text for text in said) >= 53


def test_units_that_differ_are_said_to() -> None:
    rng = np.random.default_rng(1)
    for shift, words in ((0.7, "is more peaked than"), (-2.0, "is less peaked than")):
        rows = control_rows(1, "kurtosis", rng.normal(shift, 1, 1000), rng.normal(size=300))
        (text,) = said_peaked(rows)
        assert words in text
        assert f"{100 * rows[0]['beyond']:.1f} % of 1,000 units" in text


def test_layers_with_the_same_share_are_not_told_apart() -> None:
    rows = [row for layer in (1, 2) for row in control_rows(layer, "kurtosis", np.zeros(40), np.arange(40.0))]
    said = said_peaked(rows)
    assert len(said) == 1
    assert "0.0 % of 80 units" in said[0]
