import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from ops.statistics.association import measures, rank_patterns, signed_g2

TABLES = st.tuples(st.integers(1, 20_000), st.integers(1, 80_000_000)).flatmap(
    lambda n: st.tuples(
        st.one_of(st.sampled_from([0, n[0]]), st.integers(0, n[0])),
        st.just(n[0]),
        st.one_of(st.sampled_from([0, n[1]]), st.integers(0, n[1])),
        st.just(n[1]),
    )
)


@given(TABLES)
def test_g2_is_the_log_likelihood_ratio_of_scipy(table):
    a, n1, c, n2 = table
    found = float(signed_g2(a, n1, c, n2))
    assume(0 < a + c < n1 + n2)
    wanted = chi2_contingency([[a, n1 - a], [c, n2 - c]], correction=False, lambda_="log-likelihood").statistic
    # scipy adds up terms as large as the sentences, which leaves an error of about their number times 1e-15.
    assert abs(found) == pytest.approx(wanted, rel=1e-7, abs=1e-6)
    assert (found < 0) == (a * n2 < c * n1)


@pytest.mark.parametrize(("a", "c"), [(0, 0), (10, 90)])
def test_g2_is_0_where_nothing_or_everything_has_the_pattern(a, c):
    assert signed_g2(a, 10, c, 90) == 0


def test_the_measures_by_hand():
    found = measures([6], 10, [9], 100)
    lift = (6.5 / 11) / (9.5 / 101)
    spread = math.sqrt(1 / 6.5 - 1 / 11 + 1 / 9.5 - 1 / 101)
    assert found.share[0] == 0.6
    assert found.baseline_share[0] == 0.09
    assert found.lift[0] == pytest.approx(lift)
    assert found.lift_low[0] == pytest.approx(lift * math.exp(-1.96 * spread))
    assert found.g2[0] > 0
    assert all(column.dtype == np.float64 for column in vars(found).values())


@given(TABLES)
def test_the_bound_lies_below_the_lift_and_nothing_is_infinite(table):
    found = measures(*table)
    assert 0 < found.lift_low[0] < found.lift[0] < math.inf
    assert math.isfinite(found.g2[0])


def test_without_a_baseline_only_the_share_is_known_and_without_winners_none():
    found = measures([3, 0], 4, [0, 0], 0)
    assert found.share.tolist() == [0.75, 0]
    assert found.g2.tolist() == [0, 0]
    assert np.isnan([found.baseline_share, found.lift, found.lift_low]).all()
    nobody = measures([0], 0, [5], 10)
    assert np.isnan(nobody.share[0])
    assert nobody.g2[0] == 0


@pytest.mark.parametrize("counts", [(-1, 4, 0, 5), (5, 4, 0, 5), (1, 4, 6, 5), (1, 4, -1, 5)])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(ValueError, match="negative or above its total"):
        measures(*counts)


def test_ties_of_rank_go_by_support_and_then_by_pattern_within_each_group():
    def ranked(g2: list[float], *counts: list[int]) -> list[int]:
        return rank_patterns(np.array(g2), *(np.array(own, np.int64) for own in counts)).tolist()

    assert ranked([1.0, 2.0, 1.0, 1.0, -3.0], [5, 5, 6, 5, 9], [1, 4, 2, 0, 3], [0] * 5) == [1, 2, 3, 0, 4]
    assert ranked([], [], [], []) == []
    assert ranked([1.0, 2.0, 1.0, 3.0], [5, 5, 6, 5], [0, 0, 0, 0], [1, 0, 1, 0]) == [3, 1, 2, 0]
