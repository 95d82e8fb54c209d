"""Ratios of sums over documents: their effects and intervals, next to sums made by hand and to a simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from ops.statistics.interval import wilson
from ops.statistics.ratio import Ratio

SUMS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=25)


def made(sums: list[tuple[int, int]], first: int, more: float = 0.0) -> Ratio:
    above, rest = np.array(sums, float).T
    return Ratio.of(first + np.arange(len(sums)), above, above + rest, more)


def by_hand(sums: list[tuple[int, int]], first: int, more: float) -> tuple[float, dict[int, float]]:
    total = sum(a + b for a, b in sums) + more
    if not total:
        return math.nan, {}
    value = sum(a for a, _ in sums) / total
    return value, {first + i: (a - value * (a + b)) / total for i, (a, b) in enumerate(sums) if a + b}


@given(SUMS, SUMS, st.integers(0, 9), st.sampled_from([0.0, 2.5]))
def test_values_and_errors_are_those_of_the_formula(
    sums: list[tuple[int, int]], others: list[tuple[int, int]], first: int, more: float
) -> None:
    one, other = made(sums, 0, more), made(others, first, more)
    (value, effects), (of_other, more_effects) = by_hand(sums, 0, more), by_hand(others, first, more)
    assert (one.value, other.value) == pytest.approx((value, of_other), nan_ok=True)
    every = {*effects, *more_effects}
    error, documents = one.error(other)
    assert documents == len(every)
    squares = sum((effects.get(d, 0) - more_effects.get(d, 0)) ** 2 for d in every)
    n = len(every)
    assert error == pytest.approx(math.sqrt(n / (n - 1) * squares) if n > 1 else math.nan, nan_ok=True, abs=1e-12)
    found = one.minus(other)
    assert found.value == pytest.approx(value - of_other, nan_ok=True)
    assert math.isnan(found.low) == (n < 10 or math.isnan(found.value))
    if n >= 10 and not math.isnan(found.value):
        sizes = [[a + b for a, b in own if a + b] for own in (sums, others)]
        freedom = min(max(sum(own) ** 2 / sum(x * x for x in own) - 1 if own else 0, 1) for own in sizes)
        assert found.high - found.value == pytest.approx(student.ppf(0.975, freedom) * error, abs=1e-9)


def test_ends_are_within_zero_and_one_and_few_documents_have_none() -> None:
    almost = made([(5, 0)] * 11 + [(4, 1)], 0).interval()
    assert (0.9 < almost.low < almost.value, almost.high) == (True, 1.0)
    assert math.isnan(made([(3, 1)] * 9, 0).interval().low)
    nothing = made([(0, 0)] * 12, 0)
    assert math.isnan(nothing.value)
    assert math.isnan(nothing.interval().low)


@pytest.mark.parametrize("share", [0, 1])
def test_documents_that_are_all_alike_are_no_certainty(share: int) -> None:
    alike = made([(3 * share, 3 - 3 * share)] * 14, 0)
    assert alike.interval() == pytest.approx(wilson(share, 14))
    assert alike.minus(0.25) == pytest.approx([number - 0.25 for number in wilson(share, 14)])
    assert alike.minus(alike) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("documents", [20, 60])
def test_the_upper_end_of_an_f1_of_0_is_the_f1_at_the_upper_end_of_recall(documents: int) -> None:
    misses = np.ones(documents)
    f1, recall = (Ratio.of(np.arange(documents), 0 * misses, misses, hit=hit).interval() for hit in (2.0, 1.0))
    assert f1[:2] == recall[:2] == (0.0, 0.0)
    assert f1.high == pytest.approx(2 * recall.high / (1 + recall.high))
    # With such a recall, few samples would have no hit at all.
    assert (1 - recall.high) ** documents < 0.05


@pytest.mark.parametrize("documents", [15, 60])
def test_nineteen_of_twenty_intervals_hold_the_truth(documents: int) -> None:
    """F1 of a card whose documents differ in size and in how often it is right."""
    rng, held, rounds = np.random.default_rng(documents), 0, 1_000
    size, right = rng.integers(1, 9, 20_000), rng.beta(2, 3, 20_000)
    truth = 2 * (size * right).sum() / (2 * size).sum()
    for _ in range(rounds):
        drawn = rng.integers(0, 20_000, documents)
        winners = size[drawn].astype(float)
        called, hits = size[drawn].astype(float), rng.binomial(size[drawn], right[drawn])
        own = Ratio.of(np.arange(documents), 2.0 * hits, winners + called).interval()
        held += own.low <= truth <= own.high
    assert 0.92 < held / rounds < 0.985
