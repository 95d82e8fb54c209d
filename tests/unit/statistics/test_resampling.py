import numpy as np
import pytest

from ops.statistics.resampling import percentile_interval, resample


def test_draws_are_seeded_and_hold_as_many_clusters_as_there_are() -> None:
    drawn = resample(7, np.random.default_rng(0), 500)
    assert drawn.shape == (501, 7)
    assert (drawn[0] == 1).all()
    assert (drawn.sum(1) == 7).all()
    np.testing.assert_allclose(drawn.mean(0), 1, atol=0.15)
    np.testing.assert_array_equal(drawn, resample(7, np.random.default_rng(0), 500))


def test_intervals_are_percentiles_and_undefined_resamples_are_left_out() -> None:
    drawn = np.random.default_rng(1).normal(size=3_001)
    expected = (drawn[0], *np.percentile(drawn[1:], (2.5, 97.5)))
    assert percentile_interval(drawn, 9, -1, 1) == expected
    assert percentile_interval(np.append(drawn, np.nan), 9, -1, 1) == expected
    assert np.isnan(percentile_interval(np.full(3, np.nan), 9)[1:]).all()


@pytest.mark.parametrize(("value", "least", "expected"), [(1.0, 0.0, (0.757, 1.0)), (0.0, -1.0, (-0.243, 0.243))])
def test_a_sample_without_spread_is_no_proof(value: float, least: float, expected: tuple[float, float]) -> None:
    found = percentile_interval(np.full(50, value), 12, least)
    assert found == pytest.approx((value, *expected), abs=1e-3)
    wider = percentile_interval(np.full(50, value), 2, least)
    assert wider.high - wider.low > found.high - found.low
