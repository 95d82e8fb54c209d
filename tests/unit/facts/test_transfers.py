"""Gains of cards summed over neurons, and their ratios, compared with loops over the rows."""

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from ops.facts.transfers import LEAST_GAIN, Transfers, sum_transfers
from tests.unit.facts.made_up_audit import halves, pairs, table

NAMES = ["books", "news", "tweets"]


def by_hand(rows: list[dict[str, Any]]) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the sum of gains for each pair of data sets, and the sum of the own cards' gains."""
    gain = {
        (row["layer"], row["unit"], row["pole"], row["dataset_from"], row["dataset_to"]): row["average_precision"]
        - row["random_precision"]
        for row in rows
        if row.get("average_precision") is not None
    }
    sums: dict[tuple[str, str], tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for (*neuron, one, other), own in gain.items():
        if one != other and (*neuron, other, other) in gain:
            above, below = sums[one, other]
            sums[one, other] = above + own, below + gain[(*neuron, other, other)]
    return sums


@pytest.mark.parametrize("seed", range(5))
def test_each_pair_is_a_ratio_of_sums(seed: int) -> None:
    rows = pairs(NAMES, 20, seed, 0.2)
    expected = by_hand(rows)
    order = np.random.default_rng(seed).permutation(len(rows))
    found = sum_transfers(table("audit/portability", [rows[i] for i in order]))
    assert (found.names, found.neurons) == (tuple(NAMES), 20)
    ratios = found.ratios()
    for i, one in enumerate(NAMES):
        for j, other in enumerate(NAMES):
            if i == j:
                assert math.isnan(ratios[i, j])
            else:
                above, below = expected[one, other]
                np.testing.assert_allclose([found.above[i, j], found.below[i, j]], [above, below])
                assert ratios[i, j] == pytest.approx(above / below)
    every = found.overall()
    assert every == pytest.approx(sum(a for a, _ in expected.values()) / sum(b for _, b in expected.values()))
    ratio_means = np.nanmean(ratios)
    assert every != pytest.approx(ratio_means), "no mean of ratios"


def test_where_the_own_cards_gain_nothing_no_transfer_is_known() -> None:
    found = sum_transfers(table("audit/portability", pairs(NAMES, 9, 1, 0.0, poor="news")))
    assert found.gains_nothing() == ["news"]
    assert np.isnan(found.ratios()[:, 1]).all()
    assert np.isfinite(found.ratios()[1, [0, 2]]).all()
    barely = Transfers(("a", "b"), np.full((2, 2), 0.6), np.array([[0, 0.99 * LEAST_GAIN], [LEAST_GAIN, 0]]) * 9, 9)
    assert np.isfinite(barely.ratios()).tolist() == [[False, False], [True, False]], "a share of next to nothing"
    assert barely.gains_nothing() == ["b"]
    none = sum_transfers(table("audit/portability", []))
    assert (none.names, none.overall(), none.gains_nothing()) == ((), None, [])


def test_between_halves_both_ways_count() -> None:
    rows = halves(NAMES, 7, 2)
    found, expected = sum_transfers(table("audit/portability", rows)), by_hand(rows)
    ratios = found.between_halves(NAMES)
    for name, ratio in zip(NAMES, ratios, strict=True):
        both = [expected[f"{name}, half {a}", f"{name}, half {3 - a}"] for a in (1, 2)]
        assert ratio == pytest.approx(sum(a for a, _ in both) / sum(b for _, b in both))
    assert np.isnan(found.between_halves(["elsewhere"])).all()
