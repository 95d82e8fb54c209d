"""The reducers that never wait match those that may: the same winners and counts, and moments up to rounding."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ops.reducers.histogram import Histogram, edges_from_pilot
from ops.reducers.moments import Moments, QueuedMoments
from ops.reducers.top_k import EMPTY, QueuedTopK, TopK, decode_keys
from tests.unit.reducers.streams import NEURONS, Stream, streams
from tests.unit.waits import counted_waits


def pairs(keys: torch.Tensor) -> list[set[tuple[float, int]]]:
    values, ids = decode_keys(keys)
    return [
        {(v, i) for v, i, key in zip(*row, strict=True) if key != EMPTY}
        for row in zip(values.tolist(), ids.tolist(), keys.tolist(), strict=True)
    ]


@given(streams(), st.integers(1, 8))
def test_any_batches_with_replays_have_the_winners_of_sorting(stream: Stream, parts: int) -> None:
    values, ids, k, room, rng = stream
    expected, found = TopK(NEURONS, k), QueuedTopK(NEURONS, k, room=room)
    expected.update(torch.from_numpy(values), torch.from_numpy(ids))
    cuts = np.sort(rng.integers(0, len(ids) + 1, parts))
    shards = np.split(np.arange(len(ids)), cuts)
    for place in rng.permutation([*range(len(shards)), *range(len(shards))]):
        rows = shards[place]
        broken = torch.full((1, NEURONS), torch.nan)
        found.update(torch.cat([torch.from_numpy(values[rows]), broken]), torch.from_numpy(np.append(ids[rows], 5000)))
        if rng.random() < 0.3:
            kept = found.candidates()
            assert int((kept != EMPTY).sum(1).max()) <= k + max(k // 4, 16)
    for winners, handed in zip(pairs(expected.result()), pairs(found.candidates()), strict=True):
        assert winners <= handed
    assert torch.equal(found.result(), expected.result())


def test_no_batch_waits_until_as_many_came_as_there_is_room_for() -> None:
    draw = np.random.default_rng(0)
    found, looked = QueuedTopK(NEURONS, 10, room=110), []
    for batch in range(60):
        values = torch.from_numpy(draw.normal(size=(10, NEURONS)).astype(np.float32))
        with counted_waits() as waits:
            found.update(values, torch.arange(batch * 10, batch * 10 + 10))
        looked.append(bool(waits))
    # Eleven batches fill the room; then the fullest neuron holds sixty at most, so that five more go in at least.
    assert looked[:12] == [False] * 11 + [True]
    assert sum(looked) <= 1 + (60 - 11) // 5
    assert found.free >= 0


@given(st.integers(0, 2**32), st.integers(0, 40))
def test_moments_and_counts_are_those_of_the_counted_sentences(seed: int, sentences: int) -> None:
    rng = np.random.default_rng(seed)
    values = torch.from_numpy((rng.normal(size=(sentences, NEURONS)) * 3 + 1).astype(np.float32))
    counted = torch.from_numpy(rng.random(sentences) < 0.8)
    edges = edges_from_pilot(torch.from_numpy(rng.normal(size=(50, NEURONS)).astype(np.float32)), 16)
    moments, histogram, expected = QueuedMoments(NEURONS), Histogram(edges), Histogram(edges)
    given_values = values.masked_fill(~counted[:, None], torch.nan)
    for rows in np.array_split(np.arange(sentences), 3) if sentences else ():
        if len(rows):
            with counted_waits() as waits:
                moments.update(given_values[rows], counted[rows])
                histogram.update(given_values[rows], counted[rows])
            assert not waits
    whole, found = Moments.of(values[counted]), moments.result()
    expected.update(values[counted])
    assert torch.equal(histogram.result(), expected.result())
    assert found.n == whole.n
    np.testing.assert_array_equal(found.min, whole.min)
    np.testing.assert_array_equal(found.max, whole.max)
    for name in ("mean", "m2", "m3", "m4"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=1e-9, atol=1e-7, err_msg=name)


def test_only_neurons_that_took_something_in_are_sorted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reducer, sorted_rows = TopK(5, 2), []
    own = reducer._compact
    monkeypatch.setattr(reducer, "_compact", lambda rows, *a: (sorted_rows.append(rows.tolist()), own(rows, *a)))
    reducer.update(torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0]]).repeat(4, 1), torch.arange(4))
    first = reducer.result().clone()
    reducer.update(torch.tensor([[0.0, 9.0, 0.0, 9.0, 0.0]]), torch.tensor([7]))
    second = reducer.result()
    assert sorted_rows == [[0, 1, 2, 3, 4], [1, 3]]
    assert torch.equal(first[[0, 2, 4]], second[[0, 2, 4]])
    assert decode_keys(second[1])[1].tolist() == [7, 0]
