import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t
from sklearn.metrics import roc_auc_score

from ops.statistics.by_document import area_by_document, areas_by_document, means_by_document, share_by_document
from ops.statistics.interval import wilson

VALUES = st.lists(st.integers(-3, 3), min_size=1, max_size=30)


@given(VALUES, VALUES)
def test_the_area_is_scikit_learns_with_ties(higher: list[int], lower: list[int]) -> None:
    truth = [1] * len(higher) + [0] * len(lower)
    found = area_by_document(higher, lower, np.arange(len(higher)), np.arange(len(lower)))
    assert found.value == pytest.approx(roc_auc_score(truth, higher + lower))


def test_a_document_written_ten_times_is_no_more_than_one() -> None:
    values = np.random.default_rng(1).random(80)
    once = share_by_document(values, np.arange(80))
    assert share_by_document(np.repeat(values, 10), np.repeat(np.arange(80), 10)) == pytest.approx(once)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 1_000))
def test_areas_are_those_of_a_slow_definition(n: int, documents: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    higher, lower = random.integers(1, 10, (2 * n, 70)), random.integers(0, 9, (3 * n, 70))  # more than one block
    of_higher, of_lower = (random.integers(0, documents, len(values)) for values in (higher, lower))
    found = areas_by_document(higher, lower, of_higher, of_lower)
    for unit in (0, 1, 69):
        own = higher[:, unit].tolist(), lower[:, unit].tolist(), of_higher.tolist(), of_lower.tolist()
        assert tuple(found[:, unit]) == pytest.approx(slow_area(*own), nan_ok=True)


def slow_area(
    higher: list[int], lower: list[int], of_higher: list[int], of_lower: list[int]
) -> tuple[float, float, float]:
    wins = [[(a > b) + (a == b) / 2 for b in lower] for a in higher]
    sets = [
        ([sum(row) / len(lower) for row in wins], of_higher),
        ([sum(column) / len(higher) for column in zip(*wins, strict=True)], of_lower),
    ]
    area = sum(sets[0][0]) / len(higher)
    fewest = min(len(set(documents)) for _, documents in sets)
    if fewest < 2:
        return area, math.nan, math.nan
    if area in (0, 1):
        return tuple(wilson(area, fewest))
    variance, by_set, squares = 0.0, [0.0, 0.0], [0.0, 0.0]
    for d in {*of_higher, *of_lower}:
        shares = [documents.count(d) / len(documents) for _, documents in sets]
        parts = [sum(v - area for v, own in zip(*of, strict=True) if own == d) / len(of[0]) for of in sets]
        variance += sum(parts) ** 2 / (1 - max(shares))
        by_set = [v + part**2 / (1 - share) for v, part, share in zip(by_set, parts, shares, strict=True)]
        squares = [square + share**2 for square, share in zip(squares, shares, strict=True)]
    freedom = [max(1 / square - 1, 1) for square in squares]
    if variance < 1e-20:
        return tuple(wilson(area, fewest))
    whole = sum(by_set) ** 2 / sum(v**2 / free for v, free in zip(by_set, freedom, strict=True))
    reach = t.ppf(0.975, whole) * math.sqrt(variance) / (area * (1 - area))
    low, high = (1 / (1 + math.exp(-math.log(area / (1 - area)) - side * reach)) for side in (-1, 1))
    return area, low, high


def documents_of(random: np.random.Generator, count: int) -> np.ndarray:
    """Number the documents of sentences: most documents are short, and some have more than thirty."""
    return np.repeat(np.arange(count), random.geometric(0.1, count))


def drawn(random: np.random.Generator, documents: np.ndarray, within: float) -> np.ndarray:
    """Draw normal values a thousand times, `[n, 1_000]`; documents cause the share `within` of their variance."""
    shared = random.normal(size=(documents.max() + 1, 1_000))[documents]
    return math.sqrt(within) * shared + math.sqrt(1 - within) * random.normal(size=shared.shape)


def coverage(intervals: np.ndarray, truth: float) -> float:
    return float(((intervals[1] <= truth) & (truth <= intervals[2])).mean())


@pytest.mark.parametrize("within", [0.0, 0.3])
@pytest.mark.parametrize(("higher", "lower"), [(5, 5), (5, 50), (10, 10), (40, 100), (20, 0)])
def test_intervals_of_areas_contain_the_truth(higher: int, lower: int, within: float) -> None:
    """In the last case each document has sentences of both sets."""
    random = np.random.default_rng(2)
    documents = documents_of(random, higher + lower)
    above = documents < higher if lower else random.random(len(documents)) < 0.4
    values = drawn(random, documents, within) + above[:, None]
    sets = documents[above], documents[~above]
    together = sum(np.prod([(of == d).mean() for of in sets]) for d in range(higher + lower))
    truth = (1 - together) * norm.cdf(math.sqrt(0.5)) + together * norm.cdf(math.sqrt(0.5 / (1 - within)))
    found = areas_by_document(values[above], values[~above], *sets)
    assert 0.925 < coverage(found, truth) < 0.985
    if within and lower:
        alone = np.arange(len(documents))
        assert coverage(areas_by_document(values[above], values[~above], alone[above], alone[~above]), truth) < 0.85


@pytest.mark.parametrize("count", [5, 10, 40])
def test_intervals_of_means_and_shares_contain_the_truth(count: int) -> None:
    random = np.random.default_rng(5)
    documents = documents_of(random, count)
    values = drawn(random, documents, 0.3)
    distances, right = np.exp(0.3 * values), values < norm.ppf(0.2)
    assert 0.92 < coverage(means_by_document(distances, documents), math.exp(0.3**2 / 2)) < 0.98
    shares = np.array([share_by_document(own, documents) for own in right.T]).T
    assert 0.92 < coverage(shares, 0.2) < 0.99
    alone = np.arange(len(documents))
    assert coverage(means_by_document(distances, alone), math.exp(0.3**2 / 2)) < 0.8


def test_one_document_has_no_interval_and_extremes_one_within_0_and_1() -> None:
    assert math.isnan(share_by_document([0.0, 1.0], [3, 3]).low)
    assert np.isnan(means_by_document([[0.0], [1.0]], [3, 3])[1:]).all()
    assert math.isnan(area_by_document([1.0, 2.0], [0.0, 3.0], [3, 3], [3, 4]).low)
    top = area_by_document([5.0, 6.0], [1.0, 2.0], [0, 1])
    assert (top.value, top.high) == (1.0, 1.0)
    assert 0 < top.low < 1
    assert area_by_document([1.0, 1.0], [1.0, 1.0], [0, 1]) == pytest.approx(wilson(0.5, 2))
    with pytest.raises(ValueError, match="NaN"):
        area_by_document([math.nan], [1.0], [0])
