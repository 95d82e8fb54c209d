import math

import numpy as np
import pytest

from ops.statistics.auc import area
from ops.statistics.by_document import area_by_document, mean_by_document


def test_each_value_a_document_gives_the_usual_interval() -> None:
    values = np.random.default_rng(0).normal(2, 3, 500)
    mean, low, high = mean_by_document(values, np.arange(500))
    half = 1.959964 * values.std(ddof=1) / math.sqrt(500)
    assert (mean, low, high) == pytest.approx((values.mean(), mean - half, mean + half))


def test_a_document_written_ten_times_is_no_more_than_one() -> None:
    values = np.random.default_rng(1).normal(size=80)
    once = mean_by_document(values, np.arange(80))
    assert mean_by_document(np.repeat(values, 10), np.repeat(np.arange(80), 10)) == pytest.approx(once)
    above, below = values[:40] + 1, values[40:]
    alone = area_by_document(above, below, np.arange(40), np.arange(40, 80))
    many = area_by_document(
        np.repeat(above, 10), np.repeat(below, 10), np.repeat(np.arange(40), 10), np.repeat(np.arange(40, 80), 10)
    )
    assert (many.auc, many.low, many.high) == pytest.approx((alone.auc, alone.low, alone.high))
    assert alone.auc == area(above, below).auc
    assert alone.low == pytest.approx(area(above, below).low, abs=0.01)


def test_the_intervals_hold_the_truth_about_95_times_in_100() -> None:
    """Two values of each document share most of what they are."""
    random = np.random.default_rng(2)
    documents = np.repeat(np.arange(120), 3)
    truth = 0.5 * (1 + math.erf(0.5 / 2))
    held = {"mean": 0, "area": 0}
    for _ in range(300):
        shared = random.normal(size=120)[documents]
        below = shared + 0.5 * random.normal(size=360)
        above = shared + 0.5 * random.normal(size=360) + 0.5 * math.sqrt(1.25)
        found = area_by_document(above, below, documents)
        held["area"] += found.low <= truth <= found.high
        _, low, high = mean_by_document(below, documents)
        held["mean"] += low <= 0 <= high
    assert held["area"] / 300 == pytest.approx(0.95, abs=0.035)
    assert held["mean"] / 300 == pytest.approx(0.95, abs=0.035)


def test_one_document_has_no_interval_and_extremes_one_within_0_and_1() -> None:
    assert math.isnan(mean_by_document([1.0, 2.0], [3, 3])[1])
    assert math.isnan(area_by_document([1.0, 2.0], [0.0, 3.0], [3, 3]).low)
    top = area_by_document([5.0, 6.0], [1.0, 2.0], [0, 1])
    assert (top.auc, top.high) == (1.0, 1.0)
    assert 0 < top.low < 1
    assert area_by_document([1.0, 1.0], [1.0, 1.0], [0, 1]).low == 0.5
    with pytest.raises(ValueError, match="NaN"):
        area_by_document([math.nan], [1.0], [0])
