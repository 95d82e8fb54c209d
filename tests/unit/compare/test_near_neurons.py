import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

from ops.compare.activation_vectors import unit_vectors
from ops.compare.near_neurons import NeighbourFinder, WinnerLists, nearest_rows
from ops.topk.neurons import Neurons

RNG = np.random.default_rng(0)
WIDTHS = (9, 9, 7)
NEURONS = Neurons(WIDTHS)
COUNT, SENTENCES, K = len(NEURONS), 300, 20
EVERY = np.arange(COUNT)


def activations() -> np.ndarray:
    values = RNG.normal(size=(SENTENCES, COUNT)).astype(np.float32)
    values[:, 12] = values[:, 3] + 0.1 * RNG.normal(size=SENTENCES)  # 1:3 and 2:3
    values[:, 5] = 2 * values[:, 1] + 1  # 1:1 and 1:5, equal but for the scale
    values[:, 20] = 0.25  # constant
    return values


VALUES = activations()
BY_LAYER = np.split(VALUES, np.cumsum(WIDTHS)[:-1], axis=1)
TOP = np.argsort(-VALUES, axis=0, kind="stable")[:K].T
BOTTOM = np.argsort(VALUES, axis=0, kind="stable")[:K].T


def lists(winners: np.ndarray) -> WinnerLists:
    return WinnerLists.of(np.full(len(winners), winners.shape[1]), (7 * winners + 100).ravel())


def finder(most: int = 3, silent: tuple[int, ...] = ()) -> NeighbourFinder:
    marks = np.isin(np.arange(COUNT), silent)
    return NeighbourFinder(NEURONS, unit_vectors(VALUES), {"bottom": lists(BOTTOM), "top": lists(TOP)}, most, marks)


def test_a_silent_neuron_has_no_neighbours_and_is_none() -> None:
    rows = finder(silent=(5, 20)).rows(EVERY).to_pylist()
    silent = {tuple(int(n[0]) for n in NEURONS.layer_and_unit(np.array([place]))) for place in (5, 20)}
    assert not silent & {(row["layer"], row["unit"]) for row in rows}
    assert not silent & {(row["layer_b"], row["unit_b"]) for row in rows}
    heard = nearest_rows(finder(silent=(5, 20)), BY_LAYER, SENTENCES, 64, (0,)).to_pylist()
    assert [row["n"] for row in heard] == [8, 8, 9, 9, 6, 6]
    # Without 1:5 the nearest of 1:1 is another.
    every = nearest_rows(finder(), BY_LAYER, SENTENCES, 64, (0,)).to_pylist()
    assert heard[1]["correlation"] < every[1]["correlation"]


def shared_by_scipy() -> np.ndarray:
    total = np.zeros((COUNT, COUNT), np.int64)
    for winners in (TOP, BOTTOM):
        owner = np.repeat(np.arange(COUNT), K)
        matrix = csr_matrix((np.ones(owner.size, np.int64), (owner, winners.ravel())), (COUNT, SENTENCES))
        total += (matrix @ matrix.T).toarray()
    return total


def test_lists_of_many_neurons_and_of_none() -> None:
    counts = np.zeros(70_000, np.int64)
    counts[[0, -1]] = 1
    many = WinnerLists.of(counts, np.array([5, 5]))
    assert many.owners.dtype == np.int32
    assert many.shared(np.array([69_999]))[0, 0] == 1
    none = WinnerLists.of(np.zeros(3, np.int64), np.zeros(0, np.int32))
    assert not none.shared(np.arange(3)).any()


@pytest.mark.parametrize("most", [3, 100])
def test_neighbours_are_those_of_brute_force(most: int) -> None:
    table = finder(most).rows(EVERY)
    r = np.corrcoef(np.delete(VALUES, 20, 1).astype(np.float64).T)
    r = np.insert(np.insert(r, 20, 0.0, 0), 20, 0.0, 1)
    shared = shared_by_scipy()
    layer, unit = NEURONS.layer_and_unit(np.arange(COUNT))
    rows = table.to_pylist()
    for a in range(COUNT):
        own = [row for row in rows if (row["layer"], row["unit"]) == (layer[a], unit[a])]
        assert [row["rank"] for row in own] == list(range(1, len(own) + 1))
        found = {NEURONS.number(np.array(row["layer_b"]), np.array(row["unit_b"])).item(): row for row in own}
        assert a not in found
        assert len(found) == len(own)
        for b, row in found.items():
            if 20 in (a, b):
                assert row["correlation"] is None
            else:
                assert row["correlation"] == pytest.approx(r[a, b], abs=1e-5)
            assert row["overlap"] == pytest.approx(shared[a, b] / (2 * K))
        if a == 20:
            continue
        measured = [row["correlation"] or 0.0 for row in own]
        assert measured == sorted(measured, reverse=True)
        for reach in (layer == layer[a], layer != layer[a]):
            there = [b for b in np.flatnonzero(reach) if b not in (a, 20)]
            highest = sorted((r[a, b] for b in there), reverse=True)[:most]
            own_r = sorted((r[a, b] for b in found if reach[b] and b != 20), reverse=True)[: len(highest)]
            assert own_r == pytest.approx(highest)
            others = [b for b in np.flatnonzero(reach) if b != a]
            least = sorted((shared[a, b] for b in others if shared[a, b]), reverse=True)[:most]
            kept = sorted((shared[a, b] for b in found if reach[b]), reverse=True)[: len(least)]
            assert kept == least


def test_some_neurons_have_the_neighbours_that_they_have_among_all() -> None:
    some = np.array([3, 9, 12, 20])
    every, alone = finder().rows(EVERY), finder().rows(some)
    layer, unit = NEURONS.layer_and_unit(some)
    wanted = set(zip(layer.tolist(), unit.tolist(), strict=True))
    own = [(row["layer"], row["unit"]) in wanted for row in every.to_pylist()]
    assert every.filter(pa.array(own)).equals(alone)


def test_the_nearest_stand_beside_their_nulls() -> None:
    rows = {(r["layer"], r["reach"]): r for r in nearest_rows(finder(), BY_LAYER, SENTENCES, 100, (0, 1)).to_pylist()}
    assert set(rows) == {(layer, reach) for layer in (1, 2, 3) for reach in ("within", "across")}
    r = unit_vectors(VALUES) @ unit_vectors(VALUES).T
    np.fill_diagonal(r, -np.inf)
    assert rows[1, "within"]["correlation"] == pytest.approx(r[:9, :9].max(1).mean(), abs=1e-5)
    assert rows[2, "across"]["correlation"] == pytest.approx(np.delete(r[9:18], np.s_[9:18], 1).max(1).mean(), abs=1e-5)
    shared = shared_by_scipy() / (2 * K)
    assert rows[3, "across"]["overlap"] == pytest.approx(shared[18:, :18].max(1).mean())
    # Two of the nine are planted as equal, which a shuffle does not keep.
    assert rows[1, "within"]["correlation_of_shuffled"] < 0.25
    # Random winners: of 40 about 40 * 20 / 300 are another's.
    assert 0.05 < rows[2, "within"]["overlap_of_shuffled"] < 0.25
