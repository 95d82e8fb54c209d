"""Numbers of hits against all their outcomes, and against the binomial distribution."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from ops.statistics import poisson_binomial
from ops.statistics.poisson_binomial import chance_of_hits, log_upper_tails, one_sided

CHANCES = st.lists(st.floats(0.001, 1), min_size=1, max_size=8)


def p_of(chances: list[float], hits: int, effect: float = 1.0) -> float:
    found = chance_of_hits(np.array(chances), np.array([0, len(chances)]), np.array([hits]), np.array([effect]))
    return float(found.item())


def chances_of_numbers(chances: list[float]) -> list[float]:
    """Return the chance of each number of hits, by going through all outcomes."""
    found = [0.0] * (len(chances) + 1)
    for outcome in product((False, True), repeat=len(chances)):
        found[sum(outcome)] += prod(p if hit else 1 - p for p, hit in zip(chances, outcome, strict=True))
    return found


@given(CHANCES, st.data())
def test_it_is_twice_the_smaller_tail_of_all_outcomes_given_a_hit(chances, data):
    hits = data.draw(st.integers(1, len(chances)))
    of = chances_of_numbers(chances)
    tail = min(sum(of[hits:]), sum(of[: hits + 1]))
    expected = min(1.0, 2 * min(tail, 0.5) / (1 - of[0]))
    assert p_of(chances, hits) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_small_tails_keep_their_digits():
    found = p_of([0.01] * 60, 40)
    assert found == pytest.approx(2 * binom.sf(39, 60, 0.01) / binom.sf(0, 60, 0.01), rel=1e-6)
    assert 0 < found < 1e-60


def test_large_numbers_are_near_the_exact_ones(monkeypatch):
    random = np.random.default_rng(0)
    chances = random.uniform(0.02, 0.3, 900).tolist()
    for hits in (100, 130, 150, 190):
        exact = p_of(chances, hits)
        with monkeypatch.context() as patched:
            patched.setattr(poisson_binomial, "MOST_STEPS", 0)
            normal = p_of(chances, hits)
        assert normal == pytest.approx(exact, rel=0.3, abs=1e-4)


@pytest.mark.parametrize("effect", [1.0, 2.0, 9.0])
def test_the_quantile_is_divided_by_the_root_of_the_design_effect(effect):
    tail, any_hit = binom.sf(11, 40, 0.1), binom.sf(0, 40, 0.1)
    expected = 2 * norm.sf(norm.isf(tail) / np.sqrt(effect)) / norm.cdf(norm.ppf(any_hit) / np.sqrt(effect))
    assert p_of([0.1] * 40, 12, effect) == pytest.approx(min(expected, 1), rel=1e-6)


def test_what_cannot_be_known_has_a_p_of_one():
    assert p_of([0.01] * 9, 5, np.inf) == 1
    assert p_of([1.0, 1.0], 2) == 1
    assert p_of([1.0, 0.5], 1, 1.0) == 1
    assert p_of([0.05] * 3, 1) == 1, "it is listed for being one"
    none = np.zeros(0)
    assert chance_of_hits(none, np.zeros(1, np.int64), np.zeros(0, np.int64), none).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.data())
def test_the_one_sided_tail_is_that_of_all_outcomes(chances, data):
    hits = data.draw(st.integers(1, len(chances)))
    found = np.exp(log_upper_tails(np.array(chances), np.array([0, len(chances)]), np.array([hits])))
    assert found.item() == pytest.approx(sum(chances_of_numbers(chances)[hits:]), rel=1e-9, abs=1e-14)


def test_several_tails_and_the_normal_approximation(monkeypatch):
    chances, offsets = np.r_[[0.2] * 50, [0.3] * 400, [0.0] * 3], np.array([0, 50, 450, 453])
    hits = np.array([15, 150, 1])
    with monkeypatch.context() as patched:
        patched.setattr(poisson_binomial, "MOST_STEPS", 50 * 15)
        found = np.exp(log_upper_tails(chances, offsets, hits))
    exact = [binom.sf(14, 50, 0.2), norm.sf((149.5 - 120) / np.sqrt(84)), 0.0]
    np.testing.assert_allclose(found, exact, rtol=1e-9)
    assert log_upper_tails(np.full(60, 0.01), np.array([0, 60]), np.array([40]))[0] == pytest.approx(
        binom.logsf(39, 60, 0.01)
    )


def test_a_design_effect_divides_the_quantile_of_the_tail():
    p = one_sided(np.log([1e-6, 0.3, 0.7, 1e-300, 0.0001]), np.array([4.0, 1.0, 9.0, 2.0, np.inf]))
    expected = [norm.sf(norm.isf(1e-6) / 2), 0.3, norm.sf(norm.isf(0.7) / 3), norm.sf(norm.isf(1e-300) / 2**0.5), 1]
    np.testing.assert_allclose(p, expected, rtol=1e-7)
