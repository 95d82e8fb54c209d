import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from ops.statistics.by_document import area_by_document, share_by_document
from ops.statistics.wilson import wilson

VALUES = st.lists(st.integers(-3, 3), min_size=1, max_size=30)


@given(VALUES, VALUES)
def test_the_area_is_scikit_learns_with_ties(higher: list[int], lower: list[int]) -> None:
    truth = [1] * len(higher) + [0] * len(lower)
    found = area_by_document(higher, lower, np.arange(len(higher)), np.arange(len(lower)))
    assert found.value == pytest.approx(roc_auc_score(truth, higher + lower))


def test_many_values_of_documents_of_their_own_give_the_usual_interval() -> None:
    values = np.random.default_rng(0).beta(2, 3, 5_000)
    mean, low, high = share_by_document(values, np.arange(5_000))
    half = 1.959964 * values.std(ddof=1) / math.sqrt(5_000)
    assert (mean, low, high) == pytest.approx((values.mean(), mean - half, mean + half), abs=1e-4)


def test_a_document_written_ten_times_is_no_more_than_one() -> None:
    values = np.random.default_rng(1).random(80)
    once = share_by_document(values, np.arange(80))
    assert share_by_document(np.repeat(values, 10), np.repeat(np.arange(80), 10)) == pytest.approx(once)
    above, below = values[:40] + 0.3, values[40:]
    alone = area_by_document(above, below, np.arange(40), np.arange(40, 80))
    many = area_by_document(
        np.repeat(above, 10), np.repeat(below, 10), np.repeat(np.arange(40), 10), np.repeat(np.arange(40, 80), 10)
    )
    assert (many.value, many.low, many.high) == pytest.approx((alone.value, alone.low, alone.high))
    wins = (above[:, None] > below).astype(float)
    variance = wins.mean(1).var(ddof=1) / 40 + wins.mean(0).var(ddof=1) / 40
    assert alone.value == pytest.approx(wins.mean())
    assert alone.low == pytest.approx(wilson(alone.value, alone.value * (1 - alone.value) / variance).low, abs=0.01)


def test_the_intervals_hold_the_truth_about_95_times_in_100() -> None:
    """The two values of each document are strongly correlated."""
    random = np.random.default_rng(2)
    documents = np.repeat(np.arange(120), 3)
    truth = 0.5 * (1 + math.erf(0.5 / 2))
    held = {"share": 0, "area": 0, "reciprocal": 0}
    expected = sum(1 / r for r in range(1, 301)) / 300
    for _ in range(300):
        shared = random.normal(size=120)[documents]
        below = shared + 0.5 * random.normal(size=360)
        above = shared + 0.5 * random.normal(size=360) + 0.5 * math.sqrt(1.25)
        found = area_by_document(above, below, documents)
        held["area"] += found.low <= truth <= found.high
        _, low, high = share_by_document(below > 0, documents)
        held["share"] += low <= 0.5 <= high
        _, low, high = share_by_document(
            1 / random.integers(1, 301, 300), np.arange(300), (1 / np.arange(1, 301)).var()
        )
        held["reciprocal"] += low <= expected <= high
    assert {name: n / 300 for name, n in held.items()} == pytest.approx(dict.fromkeys(held, 0.95), abs=0.035)


def test_one_document_has_no_interval_and_extremes_one_within_0_and_1() -> None:
    assert math.isnan(share_by_document([0.0, 1.0], [3, 3]).low)
    assert math.isnan(area_by_document([1.0, 2.0], [0.0, 3.0], [3, 3]).low)
    top = area_by_document([5.0, 6.0], [1.0, 2.0], [0, 1])
    assert (top.value, top.high) == (1.0, 1.0)
    assert 0 < top.low < 1
    assert area_by_document([1.0, 1.0], [1.0, 1.0], [0, 1]).low == 0.5
    with pytest.raises(ValueError, match="NaN"):
        area_by_document([math.nan], [1.0], [0])
