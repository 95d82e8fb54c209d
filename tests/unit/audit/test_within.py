import numpy as np
import pytest

from ops.arrays import Float64s
from ops.audit.within import WithinParts


def eta_squared(values: Float64s, part: np.ndarray) -> float:
    between = sum(np.sum(part == p) * (values[part == p].mean() - values.mean()) ** 2 for p in np.unique(part).tolist())
    return float(between / np.sum((values - values.mean()) ** 2))


def r2_within(values: Float64s, predicted: Float64s, part: np.ndarray) -> float:
    left = every = 0.0
    for p in np.unique(part).tolist():
        own, error = values[part == p], (values - predicted)[part == p]
        left += np.sum((error - error.mean()) ** 2)
        every += np.sum((own - own.mean()) ** 2)
    return 1 - left / every


@pytest.mark.parametrize("seed", range(4))
def test_both_are_the_definitions_in_the_sample_and_in_each_bootstrap_sample(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, units, documents = 200, 3, 30
    document = rng.integers(0, documents, n)
    part = rng.integers(-1, 3, n).astype(np.int32)
    values = (5.0 + rng.normal(size=(n, units)) + part[:, None]).astype(np.float32)
    predicted = 0.5 * values + rng.normal(size=(n, units))
    draws = np.concatenate([np.ones((documents, 1)), rng.poisson(1, (documents, 5))], 1).astype(np.uint8)
    keep = rng.random(n) < 0.7
    for chosen in (None, keep):
        own = WithinParts(part, document, draws, chosen)
        rows = np.flatnonzero((part >= 0) & (np.ones(n, bool) if chosen is None else chosen))
        assert own.documents == len(np.unique(document[rows]))
        eta, r2 = own.eta_squared(values), own.r2_within(values, predicted)
        for sample in range(6):
            again = np.repeat(rows, draws[document[rows], sample])
            wide = values.astype(float)
            for unit in range(units):
                assert eta[unit, sample] == pytest.approx(eta_squared(wide[again, unit], part[again]))
                wanted = r2_within(wide[again, unit], predicted[again, unit], part[again])
                assert r2[unit, sample] == pytest.approx(wanted)


def test_a_constant_has_no_share_and_the_data_set_itself_all_of_it() -> None:
    part, document = np.repeat([0, 1], 10).astype(np.int32), np.arange(20)
    own = WithinParts(part, document, np.ones((20, 1), np.uint8))
    values = np.stack([np.full(20, 7.0), part.astype(float)], 1)
    eta = own.eta_squared(values)[:, 0]
    assert np.isnan(eta[0])
    assert eta[1] == 1.0
    assert np.isnan(own.r2_within(values, values)).all()
