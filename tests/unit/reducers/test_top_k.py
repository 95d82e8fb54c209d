from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ops.reducers.top_k import EMPTY, MAX_IDS, TopK, decode_keys, encode_keys, keys_of_span
from tests.unit.reducers.streams import NEURONS, Stream, streams

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
PAIRS = st.lists(st.tuples(FINITE, st.integers(0, MAX_IDS - 1)), min_size=1, max_size=30)


def brute(values: np.ndarray, ids: np.ndarray, k: int) -> list[list[tuple[float, int]]]:
    """Sort everything: each neuron's first k pairs."""
    return [sorted(set(zip(values[:, n].tolist(), ids.tolist(), strict=True)), key=lambda p: (-p[0], p[1]))[:k]
            for n in range(values.shape[1])]  # fmt: skip


def winners(reducer: TopK) -> list[list[tuple[float, int]]]:
    keys = reducer.result()
    values, ids = decode_keys(keys)
    found = []
    for row in range(len(keys)):
        here = keys[row] != EMPTY
        assert not bool((~here[:-1] & here[1:]).any())
        found.append(list(zip(values[row][here].tolist(), ids[row][here].tolist(), strict=True)))
    return found


def reduced(values: np.ndarray, ids: np.ndarray, k: int, room: int | None = None) -> TopK:
    reducer = TopK(values.shape[1], k, room=room)
    reducer.update(torch.from_numpy(values), torch.from_numpy(ids))
    return reducer


@given(streams(), st.integers(1, 6))
def test_any_split_order_and_replay_gives_what_sorting_gives(corpus: Stream, parts: int) -> None:
    values, ids, k, room, rng = corpus
    cuts = [0, *sorted(rng.integers(0, len(ids) + 1, parts - 1)), len(ids)]
    shards = [slice(a, b) for a, b in pairwise(cuts)]
    whole, other = TopK(NEURONS, k, room=room), TopK(NEURONS, k)
    for place in rng.permutation([*range(parts), *range(parts)]):
        shard = shards[place]
        target = whole if rng.random() < 0.5 else other
        target.update(torch.from_numpy(values[shard]), torch.from_numpy(ids[shard]))
        if rng.random() < 0.2:
            whole.merge(reduced(values[shard], ids[shard], k))
    whole.merge(other)
    assert winners(whole) == brute(values, ids, k)


@given(streams(), st.integers(1, 40), st.floats(-2, 2, width=32))
def test_a_raised_bound_keeps_what_was_kept(corpus: Stream, block: int, bound: float) -> None:
    values, ids, k, room, _ = corpus
    reducer = TopK(NEURONS, k, room=room)
    for start in range(0, len(ids), block):
        own = slice(start, start + block)
        reducer.update(torch.from_numpy(values[own]), torch.from_numpy(ids[own]))
    last = reducer.result().clone()
    reducer.raise_bound(torch.full((NEURONS,), bound))
    reducer.update(torch.from_numpy(values), torch.from_numpy(ids))
    assert torch.equal(last, reducer.result())
    assert winners(reducer) == brute(values, ids, k)


@given(streams())
def test_merge_is_associative_commutative_and_idempotent(
    corpus: Stream,
) -> None:
    values, ids, k, room, _ = corpus
    third = len(ids) // 3

    def part(i: int) -> TopK:
        rows = slice(i * third, (i + 2) * third)
        return reduced(values[rows], ids[rows], k, room)

    left, inner, back = part(0), part(1), part(2)
    left.merge(part(1))
    left.merge(part(2))
    inner.merge(part(2))
    right = part(0)
    right.merge(inner)
    back.merge(part(1))
    back.merge(part(0))
    once = winners(left)
    assert winners(right) == once
    assert winners(back) == once
    left.merge(right)
    left.merge(left)
    assert winners(left) == once
    empty = TopK(NEURONS, k)
    empty.merge(left)
    left.merge(TopK(NEURONS, k))
    assert winners(empty) == winners(left) == once


def test_the_bound_is_the_kth_best_and_nothing_below_is_kept() -> None:
    reducer = reduced(np.arange(10, dtype=np.float32)[:, None], np.arange(10), 4)
    reducer.result()
    assert reducer.bound.tolist() == [6.0]
    reducer.update(torch.tensor([[5.0]]), torch.tensor([50]))
    assert reducer.filled.tolist() == [4]


def test_fewer_sentences_than_k_leave_the_bound_open() -> None:
    reducer = reduced(np.ones((2, 1), np.float32), np.arange(2), 5)
    assert reducer.result().shape == (1, 5)
    assert reducer.bound.tolist() == [-np.inf]


@given(streams(), st.integers(0, 1_000), st.integers(0, 400), st.floats(-2, 2, width=32))
def test_keys_of_a_span_are_those_of_its_sentences(corpus: Stream, first: int, length: int, bound: float) -> None:
    values, ids, k, room, _ = corpus
    keys = reduced(values, ids, k, room).result()
    lowest = encode_keys(torch.full((NEURONS,), bound), torch.tensor(MAX_IDS - 1))
    expected = [
        [(v, i) for v, i in own if first <= i < first + length and v >= bound]
        for own in winners(reduced(values, ids, k, room))
    ]
    found, counts = keys_of_span(keys, lowest, first, first + length)
    assert counts.tolist() == [len(own) for own in expected]
    pairs = zip(*(own.tolist() for own in decode_keys(found)), strict=True)
    assert list(pairs) == [pair for own in expected for pair in own]


def test_wrong_input_is_refused() -> None:
    reducer = TopK(2, 1)
    with pytest.raises(ValueError, match=r"expected \(1, 2\)"):
        reducer.update(torch.zeros(1, 3), torch.tensor([0]))
    for bad in (-1, MAX_IDS):
        with pytest.raises(ValueError, match="outside"):
            reducer.update(torch.zeros(1, 2), torch.tensor([bad]))


@given(streams(), st.floats(-1, 1))
def test_a_bound_that_k_sentences_reach_costs_no_winner(corpus: Stream, looser: float) -> None:
    values, ids, k, room, rng = corpus
    if len(ids) < k:
        return
    kth = np.sort(values, axis=0)[-k] - np.float32(max(looser, 0))
    reducer = TopK(NEURONS, k, room=room)
    order = rng.permutation(len(ids))
    half = len(ids) // 2
    for block in (order[:half], order[half:]):
        reducer.update(torch.from_numpy(values[block]), torch.from_numpy(ids[block]))
        reducer.raise_bound(torch.from_numpy(kth))
        assert bool((reducer.bound >= torch.from_numpy(kth)).all())
    assert winners(reducer) == brute(values, ids, k)


def test_below_a_raised_bound_nothing_more_is_kept_and_no_bound_falls() -> None:
    reducer = TopK(1, 3)
    reducer.raise_bound(torch.tensor([0.5]))
    reducer.update(torch.tensor([[0.4], [0.5], [0.6]]), torch.tensor([1, 2, 3]))
    reducer.raise_bound(torch.tensor([-torch.inf]))
    assert [i for _, i in winners(reducer)[0]] == [3, 2]
    assert reducer.bound.tolist() == [0.5]


def keys_of(pairs: list[tuple[float, int]]) -> torch.Tensor:
    values, ids = zip(*pairs, strict=True)
    return encode_keys(torch.tensor(values, dtype=torch.float32), torch.tensor(ids))


@given(PAIRS)
def test_descending_keys_are_activation_then_lower_id(pairs: list[tuple[float, int]]) -> None:
    by_key = sorted(zip(keys_of(pairs).tolist(), pairs, strict=True), key=lambda p: -p[0])
    assert [p for _, p in by_key] == sorted(pairs, key=lambda p: (-p[0], p[1]))


@given(PAIRS)
def test_keys_give_back_what_they_were_made_of(pairs: list[tuple[float, int]]) -> None:
    values, ids = decode_keys(keys_of(pairs))
    assert list(zip(values.tolist(), ids.tolist(), strict=True)) == pairs
    assert values.dtype == torch.float32


def test_zeros_of_both_signs_are_one_value() -> None:
    keys = encode_keys(torch.tensor([-0.0, 0.0]), torch.tensor([7, 7]))
    assert keys[0] == keys[1]
    assert not torch.signbit(decode_keys(keys)[0]).any()


def test_every_key_lies_above_empty() -> None:
    lowest = torch.finfo(torch.float32).min
    assert int(encode_keys(torch.tensor([lowest]), torch.tensor([MAX_IDS - 1]))[0]) > EMPTY
