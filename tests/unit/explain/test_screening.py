import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.explain.screening import likelihood_gain, screen
from ops.statistics.association import signed_g2


@given(st.integers(1, 40), st.integers(1, 400), st.data())
def test_the_gain_is_half_of_the_likelihood_ratio(winners: int, rest: int, data: st.DataObject) -> None:
    a, c = data.draw(st.integers(0, winners)), data.draw(st.integers(0, rest))
    total = winners + rest
    found = likelihood_gain([a], [(a + c) * winners / total], [a + c], winners, winners, total, 0.0)
    assert found[0] == pytest.approx(abs(signed_g2([a], winners, [c], rest)[0]) / 2, abs=1e-9)


def test_the_gain_is_that_of_chances_which_are_scaled_to_fit() -> None:
    """Two groups of sentences of one chance each, in the literal and outside of it."""
    a, e, n, k, t = 30.0, 12.0, 100.0, 50.0, 900.0

    def log_likelihood(p: float, q: float) -> float:
        return a * np.log(p) + (n - a) * np.log(1 - p) + (k - a) * np.log(q) + (t - n - k + a) * np.log(1 - q)

    expected = log_likelihood(a / n, (k - a) / (t - n)) - log_likelihood(e / n, (k - e) / (t - n))
    assert likelihood_gain([a], [e], [n], k, k, t, 0.0)[0] == pytest.approx(expected)


@given(st.integers(1, 30), st.integers(20, 300), st.sampled_from([0.5, 1.0, 40.0]), st.integers(0, 2**16))
def test_the_best_are_those_of_all_gains_sorted(winners: int, rest: int, each: float, seed: int) -> None:
    """Small counts, so that many gains are equal and ties keep their order; many literals are had by no winner."""
    rng = np.random.default_rng(seed)
    literals, most = int(rng.integers(1, 200)), int(rng.integers(1, 30))
    a = np.where(rng.random(literals) < 0.5, rng.integers(0, min(winners, 4) + 1, literals), 0)
    c = rng.integers(0, int(rng.choice([3, rest])) + 1, literals)
    total = winners + rest * each
    n = a + c * each
    gain = likelihood_gain(a, n * winners / total, n, winners, winners, total, each / 2)
    order = np.lexsort((np.arange(literals), -gain))
    expected = order[gain[order] > 1e-9][:most]
    assert screen(a, winners, c * each, rest * each, most, each).tolist() == expected.tolist()
    for without in ((a * 0, 0, c * each, rest * each), (a, winners, c * 0.0, 0.0)):
        assert not screen(*without, most).size
