import numpy as np
import pyarrow as pa

from ops.reducers.moments import Moments
from ops.topk.neurons import Neurons
from ops.topk.partial_file import shard_table
from ops.topk.tables import RangeSums

WIDTHS, FIRST, STOP, BINS, EACH, SHARDS, K = (4, 5), 3, 7, 6, 8, 3, 5
RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(SHARDS, STOP - FIRST, EACH)).astype(np.float32)
COUNTS = RNG.integers(0, 300, (SHARDS, STOP - FIRST, BINS))


def shard(number: int) -> pa.Table:
    """What a shard has of the range, each sentence a candidate at the top."""
    values = VALUES[number]
    sums = (values.astype(np.float64).sum(1) ** i for i in (1, 2, 3, 4))
    ids = np.broadcast_to(np.arange(EACH) + EACH * number, values.shape)
    ends = np.arange(STOP - FIRST + 1, dtype=np.int32) * EACH
    activations, sent_ids = (pa.ListArray.from_arrays(ends, pa.array(c.ravel())) for c in (values, ids))
    moments = Moments(EACH, *sums, values.min(1), values.max(1))
    return shard_table({"top": (activations, sent_ids)}, moments, COUNTS[number], np.zeros((STOP - FIRST, 0), "f4"))


def summed() -> dict[str, list[pa.Table]]:
    sums = RangeSums(FIRST, STOP, K, ("top",))
    for number in range(SHARDS):
        sums.update(shard(number))
    np.testing.assert_array_equal(sums.histogram, COUNTS.sum(0))
    edges = np.sort(RNG.normal(size=(STOP - FIRST, BINS - 1)).astype(np.float32), 1)
    return sums.tables(Neurons(WIDTHS), edges, np.ones(len(WIDTHS)))


def test_the_rows_are_those_of_the_range_s_neurons() -> None:
    (neurons,) = summed()["neurons"]
    assert neurons["layer"].to_pylist() == [1, 2, 2, 2]
    assert neurons["unit"].to_pylist() == [3, 0, 1, 2]
    np.testing.assert_array_equal(neurons["max"].to_numpy(), VALUES.max((0, 2)))


def test_the_winners_are_the_highest_of_all_shards() -> None:
    rows = pa.concat_tables(summed()["topk"]).to_pandas()
    for place, (layer, unit) in enumerate([(1, 3), (2, 0), (2, 1), (2, 2)]):
        own = rows[(rows.layer == layer) & (rows.unit == unit)]
        expected = np.argsort(-VALUES[:, place].ravel(), kind="stable")[:K]
        assert own.sent_id.tolist() == expected.tolist()
        assert set(own.pole) == {"top"}
