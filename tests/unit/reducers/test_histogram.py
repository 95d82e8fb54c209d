import numpy as np
import pytest
import torch

from ops.reducers.histogram import BINS, Histogram, edges_from_pilot

RNG = np.random.default_rng(0)
PILOTS = {
    "normal": RNG.normal(0.3, 2, (500, 3)),
    "constant": np.full((50, 2), 3.25),
    "constant zero": np.zeros((50, 2)),
    "one sentence": np.array([[1.5, -2.0]]),
    "huge": RNG.normal(0, 1e35, (200, 2)),
    "large constant": np.full((10, 1), -7e30),
    "tiny": RNG.normal(0, 1e-30, (200, 2)),
    "heavy tails": RNG.standard_cauchy((800, 3)),
    "far mean": RNG.normal(1e6, 0.1, (200, 2)),
    "mostly zero": np.maximum(RNG.normal(-2, 1, (300, 2)), 0),
    "two values": RNG.integers(0, 2, (100, 2)) * 1e-3,
    "near the end of float32": np.array([[-3e38], [1e38], [3e38]]),
}


def edges_of(pilot: np.ndarray, bins: int = BINS) -> torch.Tensor:
    return edges_from_pilot(torch.from_numpy(pilot.astype(np.float32)), bins)


def count_bins(values: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
    histogram = Histogram(edges)
    histogram.update(values)
    return histogram.result()


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("name", PILOTS)
def test_edges_ascend_strictly_and_counts_are_those_of_brute_force(name: str) -> None:
    pilot = PILOTS[name].astype(np.float32)
    for bins in (8, 1024, BINS):
        edges = edges_of(PILOTS[name], bins)
        assert edges.shape == (pilot.shape[1], bins - 1)
        assert edges.dtype == torch.float32
        assert bool(torch.isfinite(edges).all())
        assert bool((edges[:, 1:] > edges[:, :-1]).all())
    values = np.concatenate([pilot, pilot[:1] * 3, edges.numpy()[:, ::17].T, np.nextafter(pilot[:5], np.float32(-9))])
    found = count_bins(torch.from_numpy(values), edges).numpy()
    on_any_device = Histogram(edges)
    on_any_device.update(torch.from_numpy(values), torch.ones(len(values), dtype=torch.bool))
    np.testing.assert_array_equal(on_any_device.result().numpy(), found)
    for neuron, own in enumerate(edges.numpy()):
        places = np.searchsorted(own, values[:, neuron], side="right")
        np.testing.assert_array_equal(found[neuron], np.bincount(places, minlength=BINS))
    assert (found.sum(1) == len(values)).all()


def test_any_split_into_updates_and_merges_counts_the_same() -> None:
    edges = edges_of(PILOTS["normal"])
    values = torch.from_numpy(PILOTS["normal"].astype(np.float32))
    assert int(count_bins(values[:0], edges).sum()) == 0
    updated, merged = Histogram(edges), Histogram(edges)
    for block in values.split(170):
        updated.update(block)
        part = Histogram(edges)
        part.update(block)
        part.merge(merged)
        merged = part
    assert torch.equal(updated.result(), count_bins(values, edges))
    assert torch.equal(merged.result(), count_bins(values, edges))
    merged.merge(Histogram(edges))
    assert torch.equal(merged.result(), updated.result())


def test_half_of_the_pilot_lies_below_the_middle_edge() -> None:
    edges = edges_of(PILOTS["normal"])
    counts = count_bins(torch.from_numpy(PILOTS["normal"].astype(np.float32)), edges)
    assert (counts[:, : BINS // 2].sum(1) - 250).abs().max() <= 1


def test_bins_are_finer_in_the_tails_than_the_tails_are_long() -> None:
    values = torch.from_numpy(np.random.default_rng(5).normal(0, 1, (200_000, 1)).astype(np.float32))
    counts = count_bins(values, edges_from_pilot(values[:4000]))[0]
    from_top = counts.flip(0).cumsum(0)
    stop = int(counts.flip(0)[int((from_top >= 100).nonzero()[0])])
    assert stop < 60
    assert counts.max() < 8000


def test_a_faint_neuron_is_resolved() -> None:
    values = torch.from_numpy(np.random.default_rng(2).normal(0, 1e-9, (1000, 1)).astype(np.float32))
    assert int((count_bins(values, edges_from_pilot(values)) > 0).sum()) > 30
