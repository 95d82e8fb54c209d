import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats.contingency import relative_risk

from ops.audit.audit_rows import literal_verdict
from ops.statistics.interval import Interval
from ops.statistics.lifts import Counted, Lifts, lifts


def counted(rows: list[tuple[float, float, float, float]], together: int = 1) -> Counted:
    """Winners with it and in all, others with it and in all, by data set; `together` equal sentences a document."""
    documents: list[tuple[float, float, float, float, int]] = []
    for part, (a, n1, c, n2) in enumerate(rows):
        for count, one in ((a, (1, 1, 0, 0)), (n1 - a, (0, 1, 0, 0)), (c, (0, 0, 1, 1)), (n2 - c, (0, 0, 0, 1))):
            documents += [(*(float(together * x) for x in one), part)] * round(count / together)
    *columns, part_of = np.array(documents).reshape(-1, 5).T
    return Counted(*columns, part_of.astype(np.int32), np.ones(len(rows), np.bool_))


def test_lifts_of_many_sentences_are_those_of_the_shares() -> None:
    rows = [(300.0, 1_000.0, 4_000.0, 40_000.0), (100.0, 1_000.0, 500.0, 40_000.0)]
    found = lifts(counted(rows))
    for value, low, high, (a, n1, c, n2) in zip(found.log_lift, found.low, found.high, rows, strict=True):
        risk = relative_risk(int(a), int(n1), int(c), int(n2))
        ends = risk.confidence_interval()
        assert math.exp(value) == pytest.approx(risk.relative_risk, rel=5e-3)
        assert high - low == pytest.approx(math.log(ends.high / ends.low), rel=0.02)


def test_mantel_haenszel_is_the_ratio_of_weighted_sums_and_simpson_does_not_fool_it() -> None:
    # In either data set winners have the literal as often as others; in one pot twice as often.
    rows = [(800.0, 1_000.0, 8_000.0, 10_000.0), (10.0, 100.0, 4_000.0, 40_000.0)]
    found = lifts(counted(rows))
    above = sum(a * n2 / (n1 + n2) for a, n1, c, n2 in rows)
    below = sum(c * n1 / (n1 + n2) for a, n1, c, n2 in rows)
    assert found.mantel_haenszel.value == pytest.approx(above / below, rel=1e-3) == pytest.approx(1.0, rel=5e-3)
    assert found.mantel_haenszel.low < 1 < found.mantel_haenszel.high
    assert literal_verdict(found, 810 / 1_100 / (12_000 / 50_000)) == "dataset"
    assert literal_verdict(found, 0.9) == "none"


def test_cochran_and_higgins_by_hand() -> None:
    found = lifts(counted([(300.0, 1_000.0, 4_000.0, 40_000.0), (100.0, 1_000.0, 4_000.0, 40_000.0)] * 2))
    error = (found.high - found.low) / 2 / stdtrit(999, 0.975)
    weight = error**-2.0
    mean = (weight * found.log_lift).sum() / weight.sum()
    q = float((weight * (found.log_lift - mean) ** 2).sum())
    assert found.q == pytest.approx(q)
    assert found.i2 == pytest.approx((q - 3) / q)
    assert found.q_p < 1e-6
    assert literal_verdict(found, 2.0) == "local"  # a data set says three times as often, the next as often as others


def test_a_literal_found_alike_everywhere_is_global_and_one_found_once_local() -> None:
    everywhere = lifts(counted([(60.0, 100.0, 400.0, 4_000.0)] * 4))
    assert everywhere.significant.all()
    assert literal_verdict(everywhere, 6.0) == "global"
    once = lifts(counted([(60.0, 100.0, 400.0, 4_000.0), *[(10.0, 100.0, 400.0, 4_000.0)] * 3]))
    assert once.significant.tolist() == [True, False, False, False]
    assert literal_verdict(once, 2.0) == "local"
    for significant, q_p, i2, expected in (
        ([True, True, False], 0.5, 0.2, "local"),  # in two data sets alone
        ([True] * 3, 0.5, 0.2, "global"),
        ([True] * 3, 0.01, 0.5, "local"),
    ):
        zeros = np.zeros(3)
        own = Lifts(zeros, zeros, zeros, np.array(significant), 1.0, q_p, i2, Interval(3.0, 2.0, 4.0))
        assert literal_verdict(own, 3.0) == expected


def test_a_data_set_without_the_literal_says_nothing_and_none_of_few_winners_little() -> None:
    found = lifts(counted([(12.0, 25.0, 40.0, 1_600.0), (0.0, 25.0, 0.0, 1_600.0), (0.0, 25.0, 1.0, 1_600.0)]))
    assert math.isnan(found.log_lift[1])
    assert found.low[2] < 0 < found.high[2]
    assert abs(found.log_lift[2]) < 1
    assert found.significant.tolist() == [True, False, False]
    nothing = lifts(counted([(0.0, 25.0, 0.0, 1_600.0)]))
    assert math.isnan(nothing.q)
    assert literal_verdict(nothing, math.nan) == "none"
    assert literal_verdict(lifts(counted([(0.0, 0.0, 5.0, 1_600.0)])), math.nan) == "none"


def test_documents_of_several_sentences_widen_intervals() -> None:
    rows = [(60.0, 200.0, 400.0, 4_000.0)]
    alone, together = (lifts(counted(rows, together=size)) for size in (1, 5))
    assert together.high[0] - together.low[0] > 1.8 * (alone.high[0] - alone.low[0])


def test_a_data_set_with_too_few_winners_is_left_out() -> None:
    every = counted([(60.0, 100.0, 400.0, 4_000.0)] * 3)
    found = lifts(replace(every, usable=np.array([True, False, True])))
    assert np.isnan(found.log_lift).tolist() == [False, True, False]
    assert found.mantel_haenszel.value == pytest.approx(lifts(every).mantel_haenszel.value)
    assert math.isnan(lifts(replace(every, usable=np.zeros(3, np.bool_))).mantel_haenszel.low)


@pytest.mark.slow
@pytest.mark.parametrize(("winners", "share", "lift"), [(100, 0.05, 3.0), (100, 0.2, 1.0)])
def test_intervals_hold_the_truth_as_often_as_they_say(winners: int, share: float, lift: float) -> None:
    rng, simulations = np.random.default_rng(0), 2_000
    sizes = [(size, total // size, p) for size, total, p in ((2, winners, share * lift), (4, 4_000, share))]
    part = np.concatenate([np.repeat(np.arange(6), documents) for _, documents, _ in sizes]).astype(np.int32)
    held = differ = 0
    for _ in range(simulations):
        columns = []
        for own in range(2):
            for drawn in (True, False):
                parts = [
                    size * (rng.random(6 * documents) < p if drawn else np.ones(6 * documents))
                    if own == place else np.zeros(6 * documents)
                    for place, (size, documents, p) in enumerate(sizes)
                ]  # fmt: skip
                columns.append(np.concatenate(parts))
        found = lifts(Counted(*columns, part, np.ones(6, np.bool_)))
        held += found.mantel_haenszel.low <= lift <= found.mantel_haenszel.high
        differ += found.q_p < 0.05
    assert 0.93 <= held / simulations <= 0.97
    assert differ / simulations == pytest.approx(0.05, abs=0.03)
