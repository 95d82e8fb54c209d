from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from ops.model.tokenizer import Tokens
from ops.reducers.histogram import edges_from_pilot
from ops.reducers.moments import Moments
from ops.reducers.thresholds import SharedBound
from ops.reducers.top_k import EMPTY, MAX_IDS, QueuedTopK, TopK, decode_keys
from ops.shards import Shards
from ops.topk.partial_file import read_counts, read_keys, read_matrix, read_moments
from ops.topk.score_shard import ShardScorer
from ops.topk.shard_sums import HostSums, QueuedSums
from tests.unit.topk.fake_scorer import batches, fake_scorer
from tests.unit.topk.rows_in_memory import ShardResult, table_of
from tests.unit.waits import counted_waits

N, K, WIDTHS = 90, 4, (3, 2)
SHARDS = Shards(N, 20)
POLES = ("top", "bottom")


def activations(levels: int) -> np.ndarray:
    return (np.random.default_rng(3).integers(-levels, levels + 1, (N, sum(WIDTHS))) / 8).astype(np.float32)


def scorer_of(values: np.ndarray, poles: tuple[str, ...] = POLES, queued: bool = False) -> ShardScorer:
    edges = edges_from_pilot(torch.nan_to_num(torch.from_numpy(values), 0, 0, 0), 16)
    return ShardScorer(fake_scorer(values, WIDTHS), K, poles, edges, queued)


def run(scorer: ShardScorer, shard: int, sample: tuple[int, ...] = ()) -> ShardResult:
    span = SHARDS.span(shard)
    rows, totals = scorer.run(span, batches(*span), np.array(sample, np.int64))
    assert table_of(rows).num_rows == sum(WIDTHS)
    return ShardResult(table_of(rows), totals)  # read here: the next shard changes the winners


def merged(results: list[ShardResult], pole: str) -> list[list[tuple[float, int]]]:
    reducer = TopK(sum(WIDTHS), K)
    for result in results:
        reducer.merge_keys(*read_keys(result.table, pole))
    keys = reducer.result()
    values, ids = decode_keys(keys)
    sign = 1 if pole == "top" else -1
    return [
        [(sign * v, i) for v, i, key in zip(vs, row, ks, strict=True) if key != EMPTY]
        for vs, row, ks in zip(values.tolist(), ids.tolist(), keys.tolist(), strict=True)
    ]


def brute(values: np.ndarray, pole: str) -> list[list[tuple[float, int]]]:
    sign = 1 if pole == "top" else -1
    good = [i for i in range(N) if np.isfinite(values[i]).all()]
    return [
        sorted(((float(column[i]), i) for i in good), key=lambda p: (-sign * p[0], p[1]))[:K] for column in values.T
    ]


@pytest.mark.parametrize("queued", [False, True])
@pytest.mark.parametrize(("levels", "order"), [(4, [4, 3, 2, 1, 0]), (1, [2, 0, 2, 4, 4, 1, 3, 0, 2])])
def test_shards_in_any_order_with_replays_give_what_sorting_gives(levels: int, order: list[int], queued: bool) -> None:
    values = activations(levels)
    scorer = scorer_of(values, queued=queued)
    results = [run(scorer, shard) for shard in order]
    last = dict(zip(order, results, strict=True))
    first = dict(reversed(list(zip(order, results, strict=True))))
    for kept in (list(last.values()), list(first.values()), results):
        for pole in POLES:
            assert merged(kept, pole) == brute(values, pole)


def test_two_workers_and_one_that_was_lost() -> None:
    values = activations(10**6)
    lost, one, two = scorer_of(values), scorer_of(values), scorer_of(values)
    results = [run(lost, 3), run(one, 0), run(two, 4), run(one, 2), run(two, 1)]
    for pole in POLES:
        assert merged(results, pole) == brute(values, pole)
        assert merged([*results, run(two, 3)], pole) == brute(values, pole)


def test_a_shard_that_broke_off_is_done_again_by_the_same_worker() -> None:
    values = activations(4)
    scorer = scorer_of(values)

    def broken() -> Iterator[tuple[np.ndarray, list[Tokens]]]:
        yield next(batches(0, 20))
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011
        scorer.run((0, 20), broken(), np.zeros(0, np.int64))
    results = [run(scorer, shard) for shard in range(5)]
    for pole in POLES:
        assert merged(results, pole) == brute(values, pole)
    assert sum(read_moments(r.table).n for r in results) == N


@pytest.mark.parametrize("queued", [False, True])
def test_rows_that_are_held_are_those_of_their_shard_whatever_comes_next(queued: bool, tmp_path: Path) -> None:
    values = activations(4)
    scorers = scorer_of(values, queued=queued), scorer_of(values, queued=queued)
    held, read = (scorer.run((0, 20), batches(0, 20), np.array([3, 5]))[0] for scorer in scorers)
    expected = table_of(read)
    assert held.hold(1 << 20)
    run(scorers[0], 1)
    assert table_of(held).equals(expected)
    held.write(str(tmp_path / "held.parquet"), {b"a": b"1"})
    read.write(str(tmp_path / "read.parquet"), {b"a": b"1"})
    assert (tmp_path / "held.parquet").read_bytes() == (tmp_path / "read.parquet").read_bytes()


def test_rows_that_are_too_large_to_be_held_are_made_as_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.topk.partial_file.parts", lambda n: ((i, i, i + 1) for i in range(n)))
    scorers = scorer_of(activations(4)), scorer_of(activations(4))
    some, every = (scorer.run((0, 20), batches(0, 20), np.zeros(0, np.int64))[0] for scorer in scorers)
    one = every.make(0, 1).nbytes
    assert not some.hold(2 * one)
    assert len(some.held) == 3
    assert table_of(some).equals(table_of(every))
    run(scorers[0], 1)
    with pytest.raises(RuntimeError, match="before the next shard"):
        table_of(some)


def test_later_shards_hand_over_less() -> None:
    values = np.sort(activations(10**6), axis=0)[::-1].copy()
    scorer = scorer_of(values, ("top",))
    sizes = [len(read_keys(run(scorer, shard).table, "top")[0]) for shard in range(5)]
    assert sizes == [sum(WIDTHS) * K, 0, 0, 0, 0]


@pytest.mark.parametrize("queued", [False, True])
def test_moments_and_histogram_are_those_of_the_shard_alone(queued: bool) -> None:
    values = activations(50)
    scorer = scorer_of(values, queued=queued)
    run(scorer, 0)
    result = run(scorer, 1)
    block = values[20:40]
    found, expected = read_moments(result.table), Moments.of(torch.from_numpy(block))
    assert found.n == result.totals.scored == result.totals.tokens == 20
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-12)
    np.testing.assert_allclose(found.m4, expected.m4, rtol=1e-9)
    counts = read_counts(result.table)
    for neuron, edges in enumerate(scorer.edges.numpy()):
        places = np.searchsorted(edges, block[:, neuron], side="right")
        assert counts[neuron].tolist() == np.bincount(places, minlength=16).tolist()


@pytest.mark.parametrize("queued", [False, True])
def test_sampled_sentences_are_kept_whole_in_their_order(queued: bool) -> None:
    values = activations(50)
    values[25, 0] = np.inf
    result = run(scorer_of(values, queued=queued), 1, (23, 25, 39))
    assert result.totals.sampled == [23, 39]
    np.testing.assert_array_equal(read_matrix(result.table, "sample").T, values[[23, 39]])


@pytest.mark.parametrize("queued", [False, True])
def test_what_is_not_finite_is_named_and_counts_nowhere(queued: bool) -> None:
    values = activations(50)
    values[3, 4], values[7, 0], values[7, 4], values[11, 1] = np.nan, np.nan, np.inf, -np.inf
    scorer = scorer_of(values, queued=queued)
    results = [run(scorer, shard) for shard in range(5)]
    reasons = {reason: sorted(ids) for reason, ids in results[0].totals.unscored.items()}
    assert reasons == {
        "non-finite activation, first in layer 1": [7, 11],
        "non-finite activation, first in layer 2": [3],
    }
    assert [r.totals.scored for r in results] == [17, 20, 20, 20, 10]
    assert not any(r.totals.unscored for r in results[1:])
    for pole in POLES:
        assert merged(results, pole) == brute(values, pole)
    assert read_counts(results[0].table).sum(1).tolist() == [17] * 5


@pytest.mark.parametrize("queued", [False, True])
def test_a_shard_without_a_finite_sentence_is_neutral(queued: bool) -> None:
    values = activations(50)
    values[:20] = np.nan
    scorer = scorer_of(values, queued=queued)
    results = [run(scorer, shard, (0,)) for shard in range(5)]
    assert results[0].totals.scored == read_moments(results[0].table).n == 0
    assert merged(results, "top") == brute(values, "top")
    moments = read_moments(results[0].table).merge(read_moments(results[1].table))
    np.testing.assert_array_equal(moments.min, values[20:40].min(0))


def test_bounds_of_the_corpus_make_shards_hand_over_less_and_lose_no_winner() -> None:
    values = activations(10**6)
    edges = edges_from_pilot(torch.from_numpy(values), 64)
    shared = SharedBound(edges.numpy(), K)
    with_bounds, alone = [], []
    for shard in range(len(SHARDS)):
        # Each shard by a worker of its own, that knows nothing but the bounds of those before it.
        span = SHARDS.span(shard)
        own = ShardScorer(fake_scorer(values, WIDTHS), K, POLES, edges)
        rows, totals = own.run(span, batches(*span), np.array([], np.int64), shared.result)
        with_bounds.append(ShardResult(table_of(rows), totals))
        shared.update(shard, read_counts(with_bounds[-1].table))
        alone.append(run(scorer_of(values), shard))
    for pole in POLES:
        assert merged(with_bounds, pole) == merged(alone, pole) == brute(values, pole)
        handed = [sum(len(read_keys(r.table, pole)[0]) for r in results) for results in (with_bounds, alone)]
        assert handed[0] < handed[1] * 0.7


def test_bounds_after_the_last_batch_count_too() -> None:
    values = activations(10**6)
    kth = np.sort(values, axis=0)
    bounds = iter([None, (kth[-K].copy(), kth[K - 1].copy())])
    span = SHARDS.span(0)
    table = table_of(scorer_of(values).run(span, batches(*span), np.array([], np.int64), lambda: next(bounds))[0])
    first = values[span[0] : span[1]]
    assert len(read_keys(table, "top")[0]) == (first >= kth[-K]).sum()
    assert len(read_keys(table, "bottom")[0]) == (first <= kth[K - 1]).sum()


def test_no_batch_of_the_queue_waits_and_a_shard_is_read_once() -> None:
    values = activations(50)
    values[3, 4] = np.nan
    scorer = scorer_of(values, queued=True)
    winners: dict[str, TopK] = {p: QueuedTopK(sum(WIDTHS), K, room=N + K) for p in POLES}
    sums = QueuedSums(winners, scorer.edges, np.array([2, 3, 60]), (1, 2))
    with counted_waits() as waits:
        for ids, _ in batches(0, N):
            sums.add(ids, list(torch.from_numpy(values[ids]).split(WIDTHS, 1)))
        sums.reduce_waiting()
    assert not waits
    with counted_waits() as waits:
        totals = sums.finish()
    # Four sums, the extremes and the number; the histogram; what is not finite; the one block of the sample.
    assert waits["cpu"] == 4 + 2 + 1 + 1 + 1
    assert (totals.scored, sorted(totals.kept)) == (N - 1, [2, 60])
    host = HostSums({p: TopK(sum(WIDTHS), K) for p in POLES}, scorer.edges, np.array([2]), (1, 2))
    with counted_waits() as waits:
        for ids, _ in batches(0, N):
            host.add(ids, list(torch.from_numpy(values[ids]).split(WIDTHS, 1)))
    assert waits


def test_an_id_that_no_key_holds_is_refused_before_it_is_queued() -> None:
    sums = QueuedSums({}, edges_from_pilot(torch.zeros(1, 2), 16), np.zeros(0, np.int64), (1, 2))
    with pytest.raises(ValueError, match="outside"):
        sums.add(np.array([MAX_IDS]), [torch.zeros(1, 2)])
