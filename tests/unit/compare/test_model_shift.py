import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr, t

from ops import schema
from ops.compare import model_shift
from ops.compare.model_shift import (
    BEYOND,
    jaccards,
    layer_distances,
    rank_correlations,
    shift_rows,
    winner_jaccards,
    with_whole,
)
from ops.statistics.association import place_in_group
from ops.topk.neurons import POLES, Neurons, set_number

RNG = np.random.default_rng(0)
A = [RNG.normal(size=(40, width)).astype(np.float32) for width in (5, 7)]
B = [a + RNG.normal(size=a.shape).astype(np.float32) for a in A]


def test_distances_are_scipy_s_of_all_neurons_and_of_each_layer() -> None:
    found = with_whole(*layer_distances(A, B))
    assert found.shape == (40, 2, 3)
    sides = [[np.concatenate(A, 1), *A], [np.concatenate(B, 1), *B]]
    for place, (a, b) in enumerate(zip(*sides, strict=True)):
        for i, metric in enumerate(("cityblock", "euclidean")):
            expected = np.diag(cdist(a.astype(float), b.astype(float), metric))
            np.testing.assert_allclose(found[:, i, place], expected, rtol=1e-6)


def test_rows_have_all_layers_first_and_means_within_their_intervals() -> None:
    distances = with_whole(*layer_distances(A, B))
    documents = np.arange(40) // 4
    rows = [row for name in ("tweets", "news") for row in shift_rows(name, distances, documents)]
    found = schema.table("compare/shift_layers", rows).to_pylist()
    assert [row["text_set"] for row in found] == ["news"] * 3 + ["tweets"] * 3
    assert found[0]["manhattan"] == pytest.approx(distances[:, 0, 0].mean(), rel=1e-6)
    assert [row["layer"] for row in found] == [0, 1, 2, 0, 1, 2]
    for row in found:
        for name in ("manhattan", "euclidean"):
            assert 0 <= row[f"{name}_low"] < row[name] < row[f"{name}_high"]
    by_document = distances.reshape(10, 4, -1).mean(1)[:, 2]  # documents of one size: the t interval of their means
    expected = t.interval(0.95, 9, by_document.mean(), by_document.std(ddof=1) / math.sqrt(10))
    assert (found[2]["manhattan_low"], found[2]["manhattan_high"]) == pytest.approx(expected, rel=1e-6)
    assert shift_rows("one", distances, np.zeros(40))[0]["manhattan_low"] is None


def test_rank_correlations_are_scipy_s() -> None:
    a, b = np.round(A[0], 1), np.round(B[0], 1)
    expected = [spearmanr(a[:, i], b[:, i]).statistic for i in range(5)]
    np.testing.assert_allclose(rank_correlations(a, b), expected, rtol=1e-9)
    assert np.isnan(rank_correlations(np.ones((9, 1)), RNG.normal(size=(9, 1))))[0]


def test_jaccards_are_those_of_sets() -> None:
    sets = [[set(RNG.choice(30, 10, replace=False).tolist()) for _ in range(6)] for _ in range(2)]
    sets[1][2] = sets[0][2]
    sets[0][4] = sets[1][4] = set()

    def numbers(found: list[set[int]]) -> np.ndarray:
        return np.array([i * BEYOND + winner for i, own in enumerate(found) for winner in own])

    found = jaccards(numbers(sets[0]), numbers(sets[1]), 6)
    for i, (a, b) in enumerate(zip(*sets, strict=True)):
        if i == 4:
            assert np.isnan(found[i])
        else:
            assert found[i] == pytest.approx(len(a & b) / len(a | b))
    assert found[2] == 1


def test_winners_of_the_last_of_many_neurons_are_those_of_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    many = (1 << 23) + 2  # the last ones times `BEYOND` are beyond int64

    def groups(run: Any, _: Neurons, numbers: np.ndarray, names: Any) -> Iterator[tuple[np.ndarray, pa.Table]]:
        neuron, pole, sent_id = np.array(run).T
        rank = place_in_group(set_number(neuron, pole)) + 1
        yield set_number(neuron, pole), pa.table({"sent_id": sent_id, "rank": rank}).select(names)

    monkeypatch.setattr(model_shift, "parts", lambda neurons: [(0, neurons - 3, neurons)])
    monkeypatch.setattr(model_shift, "winner_groups", groups)
    own: Any = [(many - 3, 0, 7), (many - 3, 1, 7), (many - 1, 0, 10**9), (many - 1, 0, 3)]
    other: Any = [(many - 3, 0, 8), (many - 3, 1, 7), (many - 1, 0, 3), (many - 1, 0, 10**9)]
    found = winner_jaccards(own, other, Neurons((many,)), 2, POLES)
    np.testing.assert_allclose(found[-3:], [1 / 3, np.nan, 1])
    assert np.isnan(found[:-3]).all()
    found = winner_jaccards(own, other, Neurons((many,)), 1, ("bottom",))
    np.testing.assert_allclose(found[-3:], [0, np.nan, 0], err_msg="first winners of the lowest pole alone")
