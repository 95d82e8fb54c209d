"""The winners within data sets, from scoring to the rows of the table, against sorting everything."""

import numpy as np
import pyarrow as pa
import pytest
import torch

from ops.reducers.histogram import edges_from_pilot, edges_of_sparse
from ops.schema import schema
from ops.shards import Shards
from ops.topk.datasets import Datasets
from ops.topk.neurons import POLES, Neurons
from ops.topk.partial_file import MERGED_COLUMNS, read_counts
from ops.topk.score_shard import ShardScorer
from ops.topk.shard_sums import QueuedSums
from ops.topk.shared_bounds import CorpusBounds
from ops.topk.tables import RangeSums
from tests.unit.topk.fake_scorer import batches, fake_scorer
from tests.unit.topk.rows_in_memory import ShardResult, table_of
from tests.unit.waits import counted_waits

# Alternating sources: sentences of one data set are not contiguous, and a shard holds several. `few` has too few.
SOURCES = (("b", 45), ("few", 39), ("", 70), ("b", 3), ("a\n'x'", 52), ("", 6))
N, K, PER, UNITS = sum(n for _, n in SOURCES), 4, 2, 5
SHARDS = Shards(N, 20)
OF = [name for name, n in SOURCES for _ in range(n)]
FIRSTS = np.cumsum([0, *(n for _, n in SOURCES)]).tolist()
DATASETS = Datasets.chosen(
    PER, [{"dataset": d, "kept": n, "first_sent_id": first} for (d, n), first in zip(SOURCES, FIRSTS, strict=False)]
)
Row = tuple[int, int, str, str, int, float, int]


def activations(levels: int, lost: tuple[int, ...] = (3, 60), sparse: bool = False) -> np.ndarray:
    low = 0 if sparse else -levels
    found = (np.random.default_rng(levels).integers(low, levels + 1, (N, UNITS)) / 8).astype(np.float32)
    found[list(lost), 2] = np.nan
    return found


def scorer_of(
    values: np.ndarray, poles: tuple[str, ...] = POLES, queued: bool = False, sparse: bool = False, **more: object
) -> ShardScorer:
    pilot = torch.nan_to_num(torch.from_numpy(values), 0, 0, 0)
    edges = edges_of_sparse(pilot.amax(0), 16) if sparse else edges_from_pilot(pilot, 16)
    model = fake_scorer(values, (UNITS,), sparse)
    return ShardScorer(model, K, poles, edges, queued, datasets=DATASETS, **more)  # type: ignore[arg-type]


def run(scorer: ShardScorer, shard: int, bounds: CorpusBounds | None = None) -> ShardResult:
    span = SHARDS.span(shard)
    newer = (lambda: bounds.result()) if bounds is not None else (lambda: None)
    rows, totals = scorer.run(span, batches(*span), np.zeros(0, np.int64), newer)
    assert table_of(rows).num_rows == UNITS
    return ShardResult(table_of(rows), totals)  # read here: the next shard changes the winners


def merged(results: list[ShardResult], poles: tuple[str, ...] = POLES, datasets: Datasets = DATASETS) -> list[Row]:
    sums = RangeSums(0, UNITS, K, poles, datasets)
    for result in results:
        sums.update(result.table.select([name for name in MERGED_COLUMNS if name in result.table.column_names]))
    edges = np.zeros((UNITS, 15), np.float32)
    tables = sums.tables(Neurons((UNITS,)), edges, np.ones(1))["topk_by_dataset"]
    found = pa.concat_tables(
        [schema("topk_by_dataset").empty_table(), *(t.cast(schema("topk_by_dataset")) for t in tables)]
    )
    return list(zip(*(found[name].to_pylist() for name in found.column_names), strict=True))


def brute(values: np.ndarray, poles: tuple[str, ...] = POLES, above: float = -np.inf, k: int = PER) -> list[Row]:
    rows: list[Row] = []
    good = [i for i in range(N) if np.isfinite(values[i]).all()]
    for unit in range(UNITS):
        for pole in sorted(poles):
            for name in sorted(set(OF) - {"few"}):
                own = [(float(values[i, unit]), i) for i in good if OF[i] == name and values[i, unit] > above]
                own.sort(key=lambda pair: (-pair[0] if pole == "top" else pair[0], pair[1]))
                rows += [(1, unit, pole, name, rank, value, i) for rank, (value, i) in enumerate(own[:k], 1)]
    return rows


def test_a_data_set_that_is_too_small_has_none() -> None:
    assert DATASETS.names == ("", "a\n'x'", "b")
    assert DATASETS.sizes == (76, 52, 48)


@pytest.mark.parametrize("queued", [False, True])
@pytest.mark.parametrize(
    ("levels", "order"), [(4, range(10, -1, -1)), (1, [2, 0, 2, 4, 4, 1, 3, 10, 9, 8, 7, 5, 6, 0, 2])]
)
def test_shards_in_any_order_with_replays_give_what_sorting_gives(levels: int, order: list[int], queued: bool) -> None:
    values = activations(levels)
    scorer = scorer_of(values, queued=queued)
    results = [run(scorer, shard) for shard in order]
    last = dict(zip(order, results, strict=True))
    first = dict(reversed(list(zip(order, results, strict=True))))
    for kept in (list(last.values()), list(first.values()), results):
        assert merged(kept) == brute(values)


@pytest.mark.parametrize("room", [80, 500])
def test_the_room_of_a_queue_changes_nothing(room: int) -> None:
    values = activations(2)
    scorer = scorer_of(values, queued=True, room=room)
    assert merged([run(scorer, shard) for shard in range(len(SHARDS))]) == brute(values)


@pytest.mark.parametrize("queued", [False, True])
def test_several_workers_one_lost_and_bounds_shared(queued: bool) -> None:
    values = activations(3)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        edges = edges_from_pilot(torch.nan_to_num(torch.from_numpy(values), 0, 0, 0), 16).numpy()
        bounds = CorpusBounds(edges, K, DATASETS, SHARDS)
        pool = [scorer_of(values, queued=queued) for _ in range(3)]
        lost = scorer_of(values, queued=queued)
        results = {}
        for shard in rng.permutation(len(SHARDS)).tolist():
            if rng.random() < 0.3:
                run(lost, shard, bounds)  # its file never came
            results[shard] = run(pool[rng.integers(3)], shard, bounds)
            bounds.update(shard, read_counts(results[shard].table))
        assert merged([results[shard] for shard in rng.permutation(len(SHARDS)).tolist()]) == brute(values)


def handed_over(results: list[ShardResult]) -> int:
    return sum(len(r.table[f"{pole}_dataset_sent_id"].combine_chunks().flatten()) for r in results for pole in POLES)


def test_bounds_of_data_sets_make_workers_hand_over_less() -> None:
    values = activations(10**6, ())
    edges = edges_from_pilot(torch.from_numpy(values), 16).numpy()
    bounds = CorpusBounds(edges, K, DATASETS, SHARDS)
    for shard in range(len(SHARDS)):
        bounds.update(shard, read_counts(run(scorer_of(values), shard).table))
    counted = [len(own.shards) for own in bounds.within]
    assert counted == [2, 2, 2], "the shards that are of one data set alone"
    alone = [run(scorer_of(values), shard) for shard in range(len(SHARDS))]
    told = [run(scorer_of(values), shard, bounds) for shard in range(len(SHARDS))]
    assert merged(told) == merged(alone) == brute(values)
    assert handed_over(told) < handed_over(alone)


def test_one_pole_alone() -> None:
    values = activations(2)
    scorer = scorer_of(values, ("bottom",))
    assert merged([run(scorer, shard) for shard in range(len(SHARDS))], ("bottom",)) == brute(values, ("bottom",))


def test_zeros_of_sparse_features_never_win() -> None:
    values = activations(1, (), sparse=True)
    values[np.random.default_rng(0).random(values.shape) < 0.95] = 0
    values[:, 4] = 0
    scorer = scorer_of(values, ("top",), sparse=True)
    found = merged([run(scorer, shard) for shard in range(len(SHARDS))], ("top",))
    assert found == brute(values, ("top",), above=0)
    assert {row[1] for row in found} <= {0, 1, 2, 3}
    assert any(row[4] == 1 for row in found)


def test_a_data_set_smaller_than_k_has_all_its_sentences() -> None:
    values = activations(2, ())
    few = Datasets(60, DATASETS.names, DATASETS.sizes, DATASETS.runs)
    scorer = ShardScorer(
        fake_scorer(values, (UNITS,)), K, POLES, edges_from_pilot(torch.from_numpy(values), 16), datasets=few
    )
    rows = merged([run(scorer, shard) for shard in range(len(SHARDS))], datasets=few)
    assert rows == brute(values, k=60)
    sizes = [sum(row[3] == name for row in rows) for name in DATASETS.names]
    assert sizes == [2 * UNITS * min(60, size) for size in DATASETS.sizes]


def test_the_order_of_the_data_sets_runs_is_that_of_ids() -> None:
    for some in ((5, 4, 3, 2, 1, 0), (2, 5, 0, 3, 1, 4)):
        listed = [{"dataset": SOURCES[i][0], "kept": SOURCES[i][1], "first_sent_id": FIRSTS[i]} for i in some]
        assert Datasets.chosen(PER, listed) == DATASETS


def test_no_batch_of_the_queue_waits_for_data_sets() -> None:
    values = activations(50)
    scorer = scorer_of(values, queued=True, room=N + K)
    sums = QueuedSums(scorer.winners, scorer.edges, np.zeros(0, np.int64), (1,), within=scorer.within)
    with counted_waits() as waits:
        for ids, _ in batches(0, N):
            sums.add(ids, [torch.from_numpy(values[ids])])
        sums.reduce_waiting()
    assert not waits
