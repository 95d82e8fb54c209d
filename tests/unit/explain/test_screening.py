import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.explain.screening import likelihood_gain, screen, sums_by_literal
from ops.statistics.association import signed_g2
from tests.unit.labelled_sentences import occurrences


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


def test_small_gains_survive_large_numbers() -> None:
    """A literal with exactly the share that is expected, among 80 million, gains nothing, and no literal less."""
    n = np.array([10.0, 1e5, 4e7, 8e7])
    gain = likelihood_gain(n * 1e-4, n * 1e-4, n, 8e3, 8e3, 8e7, 0.0)
    assert np.abs(gain).max() < 1e-6


def test_a_large_share_of_winners_beats_a_large_ratio_and_the_other_way_round() -> None:
    """At the corpus's own rate, 3,000 of 10,000 winners and nothing else say more than 9,000 and half of all."""
    assert screen(np.array([9_000, 3_000]), 10_000, np.array([4e7, 0.0]), 8e7, 2, 800.0).tolist() == [1, 0]
    assert screen(np.array([9_000, 20]), 10_000, np.array([4e7, 0.0]), 8e7, 2, 800.0).tolist() == [0, 1]


def test_a_model_shows_what_it_lacks() -> None:
    """Literal 0 is the model. Literal 1 has nothing to say by itself, and much where the model expects winners."""
    with_winners, with_rest = np.array([80, 0]), np.array([40.0, 50])
    assert screen(with_winners, 80, with_rest, 9_920.0, 1).tolist() == [0]
    # 40 of the 50 sentences have literal 0 as well; the model expects two in three of these to be winners.
    assert screen(with_winners, 80, with_rest, 9_920.0, 2, expected=np.array([80.0, 26.7])).tolist() == [1]


@given(st.integers(0, 20), st.integers(0, 6), st.integers(0, 2**16))
def test_sums_are_those_of_the_sentences(n: int, literals: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    has, values = rng.random((n, literals)) < 0.5, rng.random(n).astype(np.float32)
    np.testing.assert_allclose(sums_by_literal(occurrences(has), values), values @ has, rtol=1e-6, atol=1e-6)
    chosen = rng.integers(0, max(literals, 1), 3 if literals else 0)
    np.testing.assert_allclose(
        sums_by_literal(occurrences(has), values, chosen), (values @ has)[chosen], rtol=1e-6, atol=1e-6
    )


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
