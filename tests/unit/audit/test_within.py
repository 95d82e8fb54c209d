import numpy as np
import pytest

from ops.arrays import Float64s
from ops.audit.audited_neurons import WithinParts


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
def test_both_are_the_definitions_and_their_intervals_those_of_a_jackknife(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, units, documents = 3_000, 3, 300
    document = rng.integers(0, documents, n)
    part = rng.integers(-1, 3, n).astype(np.int32)
    values = 5.0 + rng.normal(size=(n, units)) + part[:, None] + 0.5 * rng.normal(size=documents)[document, None]
    predicted = 0.5 * values + rng.normal(size=(n, units))
    keep = rng.random(n) < 0.7
    for chosen in (None, keep):
        own = WithinParts(part, document, chosen)
        rows = np.flatnonzero((part >= 0) & (np.ones(n, bool) if chosen is None else chosen))
        for unit, intervals in enumerate(zip(own.eta_squared(values), own.r2_within(values, predicted), strict=True)):

            def both(some: np.ndarray, unit: int = unit) -> np.ndarray:
                value, guess = values[some, unit], predicted[some, unit]
                return np.array([eta_squared(value, part[some]), r2_within(value, guess, part[some])])

            without = np.array([both(rows[document[rows] != one]) for one in range(documents)])
            errors = np.sqrt(((without - without.mean(0)) ** 2).sum(0) * (documents - 1) / documents)
            for found, wanted, error in zip(intervals, both(rows), errors, strict=True):
                assert found.value == pytest.approx(wanted)
                assert (found.high - found.low) / 2 / 1.97 == pytest.approx(error, rel=0.1)


def test_a_constant_has_no_share_and_the_data_set_itself_all_of_it() -> None:
    part, document = np.repeat([0, 1], 10).astype(np.int32), np.arange(20)
    own = WithinParts(part, document)
    values = np.stack([np.full(20, 7.0), part.astype(float)], 1)
    constant, itself = own.eta_squared(values)
    assert np.isnan(constant.value)
    assert itself.value == 1.0
    assert np.isnan([one.value for one in own.r2_within(values, values)]).all()


def test_few_documents_give_no_interval() -> None:
    part, document = np.repeat([0, 1], 10).astype(np.int32), np.repeat(np.arange(5), 4)
    (found,) = WithinParts(part, document).eta_squared(np.arange(20.0)[:, None])
    assert found.value > 0
    assert np.isnan([found.low, found.high]).all()
