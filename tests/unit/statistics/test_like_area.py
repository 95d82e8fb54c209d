import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from ops.statistics.by_document import area_by_document
from ops.statistics.interval import Interval, wilson
from ops.statistics.like_area import LikeArea, intervals, like_area, pooled
from ops.statistics.ratio import LEAST_DOCUMENTS

VALUES = st.lists(st.integers(-3, 3), min_size=1, max_size=20)


def whole(winners: np.ndarray, others: np.ndarray, documents: np.ndarray, other_documents: np.ndarray) -> LikeArea:
    """All others match all winners."""
    first, stop = np.zeros(len(winners), np.int64), np.full(len(winners), len(others))
    return like_area(winners, others, first, stop, documents, other_documents)


@given(VALUES, VALUES, st.integers(0, 2**16))
def test_the_area_counts_pairs_by_the_weight_of_the_other(winners: list[int], others: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    above, below = np.array(winners, float), np.array(others, float)
    first = rng.integers(0, len(below), len(above))
    stop = np.minimum(first + rng.integers(0, 4, len(above)), len(below))
    documents, other_documents = rng.integers(0, 5, len(above)), rng.integers(0, 5, len(below))
    found = like_area(above, below, first, stop, documents, other_documents)
    compared = [i for i in range(len(above)) if stop[i] > first[i]]
    if not compared:
        assert math.isnan(found.auc)
        assert not len(found.documents)
        return
    weight = np.zeros(len(below))
    for i in compared:
        weight[first[i] : stop[i]] += 1 / (stop[i] - first[i])
    pairs = [
        weight[j] * ((above[i] > below[j]) + 0.5 * (above[i] == below[j])) for i in compared for j in range(len(below))
    ]
    assert found.auc == pytest.approx(sum(pairs) / (len(compared) * weight.sum()))
    truth = [1] * len(compared) + [0] * len(below)
    weights = [1.0] * len(compared) + weight.tolist()
    assert found.auc == pytest.approx(roc_auc_score(truth, [*above[compared], *below], sample_weight=weights))
    assert found.gain.sum() / found.winners.sum() == pytest.approx(found.auc)
    counted = np.bincount(documents[compared], minlength=5)[found.documents]
    assert found.winners.tolist() == counted.tolist()


@given(st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=2), st.integers(0, 2**16))
def test_halves_are_pooled_by_their_winners(halves: list[tuple[list[int], list[int]]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = []
    for half, (winners, others) in enumerate(halves):
        documents, other_documents = (half + 2 * rng.integers(0, 4, len(some)) for some in (winners, others))
        parts.append(whole(np.array(winners, float), np.array(others, float), documents, other_documents))
    found, sizes = pooled(parts), [len(w) for w, _ in halves]
    assert found.auc == pytest.approx(np.average([part.auc for part in parts], weights=sizes))
    assert found.gain.sum() / found.winners.sum() == pytest.approx(found.auc)
    assert found.documents.tolist() == sorted([*parts[0].documents, *parts[1].documents])
    assert found.winners.sum() == sum(sizes)
    empty = whole(np.zeros(0), np.zeros(0), np.zeros(0, int), np.zeros(0, int))
    assert pooled([empty, parts[0]]).auc == pytest.approx(parts[0].auc)
    assert math.isnan(pooled([empty, empty]).auc)


def test_where_all_are_alike_the_intervals_are_those_of_clustered_pairs() -> None:
    rng = np.random.default_rng(1)
    for sentences in (1, 4):
        documents = np.repeat(np.arange(150), sentences)
        shared = rng.normal(size=300).repeat(sentences)
        values = shared + rng.normal(size=300 * sentences)
        above, below = values[: len(documents)] + 0.6, values[len(documents) :]
        area, other = whole(above, below, documents, documents + 150), whole(below, above, documents, documents)
        (found, _), _ = intervals([area, other])
        known = area_by_document(above, below, documents, documents + 150)
        assert found.value == pytest.approx(known.value)
        assert found.high - found.low == pytest.approx(known.high - known.low, rel=0.1)


def drawn(rng: np.random.Generator, documents: int, lift: float = 0.0, apart: float = 1.0) -> LikeArea:
    """Winners and others of four kinds: values depend on kind, document and chance, and winners are `lift` higher."""
    kinds, each = 4, 15
    of_document = rng.normal(0, 0.5, 2 * documents)
    kind = np.sort(rng.integers(0, kinds, 2 * documents))
    others = np.arange(kinds).repeat(each)
    document, other_document = np.arange(2 * documents) // 2, rng.integers(0, 2 * documents, kinds * each)
    above = apart * kind + of_document[document] + rng.normal(size=len(kind)) + lift
    below = apart * others + of_document[other_document] + rng.normal(size=len(others))
    return like_area(above, below, kind * each, (kind + 1) * each, document, other_document)


def test_the_intervals_of_differences_hold_the_truth_about_95_times_in_100() -> None:
    rng, held, widths = np.random.default_rng(0), {12: 0, 40: 0}, []
    for documents in held:
        for _ in range(400):
            own, matched = drawn(rng, documents), drawn(rng, documents)
            _, excess = intervals([own, matched])
            assert excess.value == pytest.approx(own.auc - matched.auc)
            held[documents] += excess.low <= 0 <= excess.high
            widths.append(excess.high - excess.low)
    assert {n: count / 400 for n, count in held.items()} == pytest.approx(dict.fromkeys(held, 0.95), abs=0.035)


def test_what_a_kind_does_to_all_of_its_values_widens_no_interval() -> None:
    area = drawn(np.random.default_rng(2), 60, 0.3, 5.0)
    (found, _), _ = intervals([area, area])
    # Kinds are so far apart that a winner is above or below nearly all others of another kind.
    assert found.high - found.low < 0.12
    assert found.low < found.value < found.high


def test_the_intervals_are_as_wide_as_a_bootstrap_of_documents_says() -> None:
    area, other = (drawn(np.random.default_rng(seed), 60, 0.4) for seed in (4, 5))
    (found, _), excess = intervals([area, other])
    rng = np.random.default_rng(6)
    times = rng.poisson(1.0, (20_000, 1_000))

    def again(one: LikeArea) -> np.ndarray:
        own = times[:, one.documents]
        return np.asarray(own @ one.gain / (own @ one.winners))

    assert found.high - found.low == pytest.approx(2 * 1.96 * again(area).std(), rel=0.08)
    assert excess.high - excess.low == pytest.approx(2 * 1.96 * (again(area) - again(other)).std(), rel=0.08)


def test_few_documents_give_no_difference_and_one_no_interval() -> None:
    def known(found: Interval) -> list[bool]:
        return [not math.isnan(number) for number in found]

    rng = np.random.default_rng(3)
    for documents, differs in ((LEAST_DOCUMENTS, True), (LEAST_DOCUMENTS - 1, False), (1, False), (0, False)):
        few = whole(rng.normal(size=documents), rng.normal(size=30), np.arange(documents), np.arange(30))
        many = whole(rng.normal(size=40), rng.normal(size=30), np.arange(40), np.arange(30))
        for pair in ([few, many], [many, few]):
            found, excess = intervals(pair)
            assert known(excess) == [differs] * 3
            own = found[pair.index(few)] if pair[0] is few else found[1]
            assert known(own) == [documents > 0, documents > 1, documents > 1]


def test_intervals_at_the_ends_stay_within_0_and_1() -> None:
    above, below, documents = np.arange(20.0) + 50, np.arange(30.0), np.arange(20)
    top, bottom = whole(above, below, documents, np.arange(30)), whole(-above, below, documents, np.arange(30))
    (high, low), _ = intervals([top, bottom])
    assert (high.value, high.high, low.value, low.low) == (1.0, 1.0, 0.0, 0.0)
    assert 0.7 < high.low < 1
    assert 0 < low.high < 0.3
    same = whole(np.ones(20), np.ones(30), documents, np.arange(30))
    found, excess = intervals([same, same])
    assert found[0] == wilson(0.5, 20)
    assert same.interval_and_p() == (found[0], 1.0)
    assert excess == Interval(0.0, 0.0, 0.0)


def test_a_value_that_is_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        whole(np.array([math.nan]), np.zeros(1), np.zeros(1, int), np.zeros(1, int))


def test_an_area_of_1_or_0_is_exact() -> None:
    high, low, documents = np.linspace(2, 3, 49), np.linspace(0, 1, 31), np.arange(49)
    first, stop = documents % 7, 25 + documents % 6
    assert like_area(high, low, first, stop, documents, np.arange(31)).auc == 1
    assert like_area(-high, -low, first, stop, documents, np.arange(31)).auc == 0
