import numpy as np
import pytest

from ops.compare.activation_vectors import unit_vectors
from ops.explain import families as module
from ops.explain.families import Pairs, families, vector_pairs

RNG = np.random.default_rng(0)
NEURONS, N = 60, 200


def activations() -> np.ndarray:
    values = RNG.normal(size=(N, NEURONS)) + RNG.normal(size=(N, 6))[:, np.arange(NEURONS) % 6] * RNG.choice(
        [-2, 1, 2], NEURONS
    )
    values[:, 7] = 3.0  # constant
    values[:, 9] = -2 * values[:, 8] + 1
    return values.astype(np.float32)


VALUES = activations()
VECTORS = unit_vectors(VALUES)


def all_pairs(least: float = 0.6, block: int = 25) -> Pairs:
    stops = range(0, NEURONS, block)
    return Pairs.joined([vector_pairs(VECTORS, a, min(a + block, NEURONS), least) for a in stops])


@pytest.mark.parametrize("least", [0.0, 0.6, 0.9])
def test_pairs_are_those_of_numpy(least: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_UNITS", 16)
    with np.errstate(invalid="ignore"):
        expected = np.nan_to_num(np.corrcoef(VALUES.T.astype(float)))
    pairs = all_pairs(least)
    neuron, other = np.nonzero((np.abs(expected) >= least) & ~np.eye(NEURONS, dtype=bool))
    np.testing.assert_array_equal(pairs.neuron, neuron)
    np.testing.assert_array_equal(pairs.other, other)
    np.testing.assert_allclose(pairs.correlation, expected[neuron, other], atol=1e-5)
    assert np.abs(pairs.correlation).max() <= 1
    same = vector_pairs(VECTORS, 0, NEURONS, least)
    np.testing.assert_array_equal(same.other, pairs.other)


def by_brute_force(neuron: np.ndarray, pole: np.ndarray, f1: np.ndarray, pairs: Pairs) -> list[tuple[int, float, bool]]:
    r = {(a, b): float(c) for a, b, c in zip(pairs.neuron, pairs.other, pairs.correlation, strict=True)}
    rows = list(zip(neuron.tolist(), pole.tolist(), f1.tolist(), strict=True))
    order = sorted(range(len(rows)), key=lambda i: (np.isnan(rows[i][2]), -np.nan_to_num(rows[i][2]), *rows[i][:2]))
    found: dict[int, tuple[int, float, bool]] = {}
    number = 0
    for i in order:
        if i in found:
            continue
        for j, (other, its_pole, _) in enumerate(rows):
            c = r.get((rows[i][0], other), 0.0)
            if j not in found and c and (its_pole == rows[i][1]) == (c > 0):
                found[j] = (number, c, False)
        found[i] = (number, 1.0, True)
        number += 1
    return [found[i] for i in range(len(rows))]


@pytest.mark.parametrize("seed", range(5))
def test_families_are_those_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.permutation(2 * NEURONS)[: 2 * NEURONS - 10]  # some neurons have one pole or none
    neuron, pole = rows // 2, rows % 2
    f1 = np.round(rng.random(len(rows)), 1)  # with ties
    f1[rng.random(len(rows)) < 0.2] = np.nan
    pairs = all_pairs()
    assert len(pairs.neuron)
    found = families(neuron, pole, f1, pairs)
    expected = by_brute_force(neuron, pole, f1, pairs)
    assert (
        list(zip(found.family.tolist(), found.correlation.tolist(), found.is_leader.tolist(), strict=True)) == expected
    )
    assert 1 < found.is_leader.sum() < len(rows)


def test_without_pairs_or_rows() -> None:
    none = Pairs.joined([])
    alone = families(np.array([4, 2]), np.array([1, 0]), np.array([0.1, 0.2]), none)
    assert alone.family.tolist() == [1, 0]
    assert alone.is_leader.all()
    assert families(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), none).family.size == 0
