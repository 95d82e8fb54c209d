import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from ops.reducers.histogram import Histogram, edges_from_pilot
from ops.reducers.thresholds import SharedBound, histogram_bounds

NEURONS = 3


@given(st.integers(0, 2**32), st.sampled_from([1, 4, 60, 200]), st.sampled_from([1, 3, 10**6]), st.integers(1, 80))
def test_no_winner_lies_beyond_the_bound_and_k_sentences_reach_it(seed: int, n: int, levels: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    values = (rng.integers(-levels, levels + 1, (n, NEURONS)) / 7).astype(np.float32)
    tensor = torch.from_numpy(values)
    edges = edges_from_pilot(tensor[: max(n // 3, 1)], 16)
    histogram = Histogram(edges)
    histogram.update(tensor)
    top, bottom = histogram_bounds(histogram.result().numpy(), edges.numpy(), k)
    assert top.dtype == bottom.dtype == np.float32
    for neuron in range(NEURONS):
        column = np.sort(values[:, neuron])
        if n < k:
            assert (top[neuron], bottom[neuron]) == (-np.inf, np.inf)
            continue
        assert top[neuron] <= column[-k]
        assert bottom[neuron] >= column[k - 1]
        inner = edges[neuron].numpy()
        # The bound is the best edge there is: one edge further, fewer than k sentences are left.
        slack = np.abs(inner) * 1e-4 + 1e-6
        assert all((column >= edge).sum() < k for edge in inner[inner > top[neuron] + slack])
        assert all((column < edge).sum() < k for edge in inner[inner < bottom[neuron] - slack])


def test_a_shard_that_comes_again_counts_once() -> None:
    edges = np.array([[0.0, 1.0, 2.0]], np.float32)
    shared = SharedBound(edges, 3)
    assert shared.result() == (np.array([-np.inf]), np.array([np.inf]))
    for _ in range(3):
        shared.update(7, np.array([[0, 0, 1, 1]]))
    assert shared.result()[0] == -np.inf
    shared.update(2, np.array([[5, 0, 1, 0]]))
    top, bottom = shared.result()
    assert 0.99 < top[0] < 1.0
    assert 0.0 < bottom[0] < 0.01
