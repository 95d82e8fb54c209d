import numpy as np
import pyarrow as pa
import pytest
import torch

from ops.reducers.moments import Moments
from ops.reducers.top_k import TopK
from ops.schema import group_rows, schema
from ops.topk.neurons import Neurons
from ops.topk.silent import is_silent, largest_by_layer, silent_neurons
from ops.topk.tables import PoleWinners, decode_winners, neuron_rows, winner_rows

NEURONS = Neurons((3, 2))
LAYER, UNIT = NEURONS.layer_and_unit(np.arange(len(NEURONS)))
K = 4
HEARD = np.zeros(len(NEURONS), bool)
VALUES = (np.random.default_rng(0).integers(-9, 10, (30, len(NEURONS))) / 4).astype(np.float32)
IDS = np.arange(100, 130)


def winners(pole: str, values: np.ndarray = VALUES) -> PoleWinners:
    reducer = TopK(values.shape[1], K)
    reducer.update(torch.from_numpy(values if pole == "top" else -values), torch.from_numpy(IDS[: len(values)]))
    return decode_winners(reducer.result(), pole)


def sorted_rows(poles: tuple[str, ...], values: np.ndarray = VALUES) -> list[dict[str, object]]:
    """The rows of topk/ by sorting everything."""
    rows = []
    for layer, unit, column in zip(LAYER.tolist(), UNIT.tolist(), values.T.tolist(), strict=True):
        for pole in sorted(poles):
            sign = 1 if pole == "top" else -1
            best = sorted(zip(column, IDS.tolist(), strict=False), key=lambda p: (-sign * p[0], p[1]))[:K]
            for rank, (value, sent_id) in enumerate(best, 1):
                place = {"layer": layer, "unit": unit, "pole": pole, "rank": rank}
                rows.append({**place, "activation": value, "sent_id": sent_id})
    return rows


@pytest.mark.parametrize(("poles", "sentences"), [(("top", "bottom"), 30), (("bottom", "top"), 2), (("top",), 30)])
def test_winners_are_what_sorting_gives_in_the_order_of_the_table(poles: tuple[str, ...], sentences: int) -> None:
    tables = list(winner_rows("topk", LAYER, UNIT, {(pole,): winners(pole, VALUES[:sentences]) for pole in poles}))
    found = pa.concat_tables(tables).cast(schema("topk"))
    assert found.to_pylist() == sorted_rows(poles, VALUES[:sentences])


def test_no_winner_is_a_negative_zero() -> None:
    assert not np.signbit(winners("bottom", np.zeros((3, 1), np.float32)).activation[:, :3]).any()


def test_each_table_holds_whole_neurons_within_a_row_group() -> None:
    neurons, k = 5, group_rows("topk") // 2
    filled = np.ones((neurons, k), bool)
    ids = np.tile(np.arange(k), (neurons, 1))
    found = PoleWinners(ids.astype(np.float32), ids, filled)
    layer, unit = np.ones(neurons, np.int16), np.arange(neurons, dtype=np.int32)
    one = [t["unit"].unique().to_pylist() for t in winner_rows("topk", layer, unit, {("top",): found})]
    poles = {("top",): found, ("bottom",): found}
    both = [t["unit"].unique().to_pylist() for t in winner_rows("topk", layer, unit, poles)]
    assert one == [[0, 1], [2, 3], [4]]
    assert both == [[0], [1], [2], [3], [4]]


@pytest.mark.parametrize("poles", [("top", "bottom"), ("bottom",)])
def test_a_neuron_s_row_says_what_its_winners_do(poles: tuple[str, ...]) -> None:
    edges, counts = np.arange(5, dtype=np.float32)[:, None] + np.arange(3), np.arange(20).reshape(5, 4)
    moments = Moments.of(torch.from_numpy(VALUES))
    table = neuron_rows(LAYER, UNIT, moments, {p: winners(p) for p in poles}, edges.astype(np.float32), counts, HEARD)
    table = table.cast(schema("neurons"))
    assert table["layer"].to_pylist() == LAYER.tolist()
    assert table["unit"].to_pylist() == UNIT.tolist()
    assert table["n"].to_pylist() == [30] * 5
    assert table["histogram_edges"].to_pylist() == edges.tolist()
    assert table["histogram_counts"].to_pylist() == counts.tolist()
    for name in ("mean", "std", "skew", "kurtosis", "min", "max"):
        np.testing.assert_allclose(table[name].to_numpy(), getattr(moments, name).astype(np.float64), rtol=1e-6)
    for pole, order in (("top", -1), ("bottom", 1)):
        best = np.sort(order * VALUES, axis=0)[:K] * order
        asked = pole in poles
        threshold, mean = table[f"{pole}_threshold"].to_pylist(), table[f"{pole}_mean"].to_pylist()
        assert threshold == (best[-1].tolist() if asked else [None] * 5)
        assert mean == (pytest.approx(best.mean(0, dtype=np.float64).tolist()) if asked else [None] * 5)


def test_a_unit_that_varies_by_rounding_alone_is_silent() -> None:
    layer, unit = np.array([1, 1, 2, 2], np.int16), np.array([0, 1, 0, 1], np.int32)
    values = np.array([[2.0, 1e-7, 1e-7, 5e-8], [-4.0, 2e-7, -1e-7, 5e-8]], np.float32)
    moments, edges, counts = Moments.of(torch.from_numpy(values)), np.zeros((4, 1), np.float32), np.zeros((4, 2), int)
    largest = largest_by_layer(layer, moments.min, moments.max, Neurons((2, 2, 0)))
    assert largest.tolist() == [4.0, np.float32(1e-7), 0.0]
    table = neuron_rows(layer, unit, moments, {}, edges, counts, is_silent(layer, moments.std, largest))
    assert table["is_silent"].to_pylist() == [False, True, False, True]
    assert silent_neurons(table) == {(1, 1), (2, 1)}
    none = Moments.empty(4)
    assert largest_by_layer(layer, none.min, none.max, Neurons((2, 2))).tolist() == [0.0, 0.0]


def test_fewer_sentences_than_k_give_the_last_one_s_threshold_and_the_mean_of_all() -> None:
    few = VALUES[:2]
    edges, counts = np.zeros((5, 1), np.float32), np.zeros((5, 2), np.int64)
    table = neuron_rows(
        LAYER, UNIT, Moments.of(torch.from_numpy(few)), {"top": winners("top", few)}, edges, counts, HEARD
    )
    assert table["top_threshold"].to_pylist() == few.min(0).tolist()
    assert table["top_mean"].to_pylist() == pytest.approx(few.mean(0, dtype=np.float64).tolist())
