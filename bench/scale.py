"""Measures the main job at its real size, except for the model: 9,216 neurons, K = 10,000, both poles.

    python -m bench scale --minutes 10

Synthetic activations go through the production code: `ShardScorer`, partial files put in place by `Store.commit`,
bounds from the shards' histograms, and the merge by ranges of neurons. Most of the time is spent on shards of 100,000
sentences, and the rest on merging ranges. Seconds are processor time on one thread. Some neurons' winners are compared
with those from sorting all values. The time of the job on 82 million sentences is then projected (bench/projection.py).
The benchmark prints one line of JSON. The exit status is 1 if a winner is wrong or memory grows.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import torch

from bench.every_stage import SIZES, measure
from bench.memory import MemoryWatch
from bench.projection import Measured, project
from bench.running import load
from bench.steps import PRINT, commit
from bench.texts import draw
from jobs.stage.outputs import Written, shard_file
from jobs.topk.merge import RangeMerger, range_items
from jobs.topk.score import PILOT_FILE
from ops.corpus.corpus_tokens import block_batches
from ops.corpus.token_columns import block_of, kept_table, token_columns, write_kept
from ops.model.activations import Scorer
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer, Tokens
from ops.reducers.histogram import edges_from_pilot
from ops.reducers.thresholds import SharedBound
from ops.shards import Ids
from ops.storage.store import Store
from ops.storage.tables import part_name
from ops.topk import partial_file as topk_partial
from ops.topk.neurons import POLES, Neurons
from ops.topk.pilot import Pilot
from ops.topk.score_shard import ShardScorer

WIDTHS, K, SHARD, BATCH = (768,) * 12, 10_000, 100_000, 93
WATCHED, MOST = 8, 10_000_000
SCORING = 0.7
FLAT = 0.10
BUDGET, READ_TOKENS = 2_048, 20_000_000  # number of tokens in a batch, and of tokens that are read to time reading


class Synthetic:
    """A replacement for a model: blocks of normal numbers created once, and shifted by some neurons for each batch.

    Attributes:
        seconds: processor time spent on creating the batches.
        watched: the first neurons' values, `[sentences, WATCHED]`, of which the first `seen` rows are filled.
    """

    device = torch.device("cpu")
    layers = (1,)
    sparse = False

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        generator = torch.Generator().manual_seed(seed)
        self.blocks = [torch.randn(BATCH, sum(WIDTHS), generator=generator) for _ in range(32)]
        self.seconds = 0.0
        # Allocated at once, because small pieces that stay would keep the heap from returning freed memory.
        self.watched = torch.empty(MOST, WATCHED)
        self.seen = 0

    def score(self, batch: list[Tokens]) -> list[torch.Tensor]:
        """Return activations for the sentences of a batch."""
        started = time.process_time()
        block = self.blocks[int(self.rng.integers(len(self.blocks)))][: len(batch)]
        values = block.roll(int(self.rng.integers(sum(WIDTHS))), 1) * float(self.rng.uniform(0.999, 1.001))
        self.watched[self.seen : self.seen + len(values)] = values[:, :WATCHED]
        self.seen += len(values)
        self.seconds += time.process_time() - started
        return [values]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench scale", description=str(__doc__).splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--k", type=int, default=K)
    parser.add_argument("--shard-size", type=int, default=SHARD)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default=None, help="where the temporary folder is made: 10 GB for 10 minutes")
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    parser.add_argument("--stage", choices=["topk", "all"], default="topk", help="all: see bench/every_stage.py")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="sentences, with --stage all")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.stage == "all":
        return measure(options.sizes, options.folder)
    begun = time.perf_counter()
    model = Synthetic(options.seed)
    edges = edges_from_pilot(torch.cat(model.blocks[:12]))
    with tempfile.TemporaryDirectory(prefix="atlas-bench-", dir=options.folder) as folder:
        store = Store(folder)
        commit(store, {PILOT_FILE: Written(len(edges), Pilot(edges.numpy(), Neurons(WIDTHS), False, None).write)})
        with MemoryWatch(os.getpid()) as memory:
            deadline = begun + options.minutes * 60 * SCORING
            shards = list(score(model, edges, store, options.k, options.shard_size, deadline))
        (series,) = [s for (pid, _), s in memory.series.items() if pid == os.getpid()]
        merging = merge(store, len(shards), options.k, begun + options.minutes * 60)
        right = agrees(model, store, options.k)
    peaks = [max((size for at, size in series if s["began"] <= at < s["ended"]), default=0) for s in shards]
    later = peaks[1:] or peaks
    growth = max(later[-max(len(later) // 3, 1) :]) / max(later[: max(len(later) // 3, 1)]) - 1
    flat = growth <= FLAT if len(later) > 1 else None  # a single shard after the first does not show growth
    sentences = len(shards) * options.shard_size
    pairs = sum(s["pairs"] for s in shards)
    reduce_s = sum(s["reduce_s"] for s in shards)
    measured = Measured(
        reduce_s=float(np.median([s["reduce_s"] for s in shards[1:] or shards])) / options.shard_size,
        commit_s=sum(s["commit_s"] for s in shards) / pairs,
        count_s=sum(s["count_s"] for s in shards) / len(shards),
        bounds_s=sum(s["bounds_s"] for s in shards) / len(shards),
        pair_bytes=sum(s["bytes"] for s in shards) / pairs,
        merge_s=merging["seconds"] / merging["pairs"],
        worker_bytes=max(peaks),
        tokens_per_second=reading_tokens(options.seed),
    )
    result = {
        "bench": "scale",
        "sentences": sentences,
        "shards": len(shards),
        "neurons": sum(WIDTHS),
        "k": options.k,
        "rows_per_second": round(sentences / reduce_s, 1),
        "rows_per_second_commits_included": round(sentences / sum(s["reduce_s"] + s["commit_s"] for s in shards), 1),
        "partial_bytes": sum(s["bytes"] for s in shards),
        "partial_bytes_per_sentence": round(sum(s["bytes"] for s in shards) / sentences),
        "candidates_in_k": round(pairs / options.k / sum(WIDTHS) / 2, 2),
        "ideal_in_k": round(1 + float(np.log(max(sentences / options.k, 1))), 2),
        "piece_rows_per_second": [round(options.shard_size / s["reduce_s"]) for s in shards],
        "shard_peak_mb": [round(peak / 1e6) for peak in peaks],
        "memory_growth": round(growth, 3),
        "merge": {**merging, "all_ranges_s": round(merging["seconds"] / merging["ranges"] * merging["of"], 1)},
        "measured": measured._asdict(),
        "projection": project(measured),
        "winners_right": right,
        "memory_flat": flat,
        "load": load(),
    }
    print(json.dumps(result))
    return 0 if right and flat is not False else 1


def score(
    model: Synthetic, edges: torch.Tensor, store: Store, k: int, size: int, deadline: float
) -> Iterator[dict[str, Any]]:
    """Score shard after shard until the deadline, at least two, and yield the measurements of each."""
    worker, shared = ShardScorer(cast(Scorer, model), k, POLES, edges), SharedBound(edges.numpy(), k)
    begun = time.perf_counter()
    shard, last = 0, 0.0
    # The second shard takes a fraction of the time of the first shard, in which the thresholds still rise.
    while shard < 2 or time.perf_counter() + last < deadline:
        began, started, making = time.perf_counter(), time.process_time(), model.seconds
        span = (shard * size, (shard + 1) * size)
        result = worker.run(span, batches(*span), np.array([], np.int64), shared.result)
        reduced = time.process_time()
        rows = result.rows
        commit(store, {shard_file("topk", shard): Written(rows.in_file, rows.write)})
        committed = time.process_time()
        pairs = sum(len(result.table[f"{p}_sent_id"].combine_chunks().flatten()) for p in POLES)
        del result
        board = time.process_time()
        counts = topk_partial.read_of_all(store, shard_file("topk", shard).path, topk_partial.HISTOGRAM)
        shared.update(shard, topk_partial.read_counts(counts))
        counted = time.process_time()
        shared.result()
        ended = time.process_time()
        yield {
            "reduce_s": reduced - started - (model.seconds - making),
            "commit_s": committed - reduced,
            "count_s": counted - board,
            "bounds_s": ended - counted,
            "bytes": store.filesystem.get_file_info(store.path(shard_file("topk", shard).path)).size,
            "pairs": pairs,
            "began": began - begun,
            "ended": time.perf_counter() - begun,
        }
        shard, last = shard + 1, time.perf_counter() - began


def batches(first: int, stop: int) -> Iterator[tuple[Ids, list[Tokens]]]:
    """Yield a shard's batches of sentences of one token."""
    for start in range(first, stop, BATCH):
        ids = np.arange(start, min(start + BATCH, stop))
        yield ids, [Tokens([0], [0], False)] * len(ids)


def merge(store: Store, shards: int, k: int, deadline: float) -> dict[str, Any]:
    """Merge ranges of neurons until the deadline, at least one; return times, and counts of ranges and candidates."""
    merger = RangeMerger(store, Neurons(WIDTHS), shards, k, POLES, PRINT, np.ones(len(WIDTHS)))
    items = range_items(sum(WIDTHS))
    seconds, wall, done, pairs = 0.0, 0.0, 0, 0
    for part, item in enumerate(items):
        if done and time.perf_counter() + wall / done > deadline:
            break
        began, started = time.perf_counter(), time.process_time()
        row = merger(item)
        wall += time.perf_counter() - began
        seconds += time.process_time() - started
        if row["damaged"]:
            raise RuntimeError(f"damaged partial files: {row['damaged']}")
        done += 1
        for shard in range(shards):
            with store.parquet(shard_file("topk", shard).path) as file:
                group = file.read_row_group(part, columns=[f"{p}_sent_id" for p in POLES])
            pairs += sum(len(column.combine_chunks().flatten()) for column in group.columns)
    return {"ranges": done, "of": len(items), "seconds": round(seconds, 2), "pairs": pairs}


def agrees(model: Synthetic, store: Store, k: int) -> bool:
    """Return whether the first neurons' winners in topk/ equal those from sorting all their values."""
    values = model.watched[: model.seen].numpy()
    with store.parquet(part_name("topk", 0)) as file:
        table = file.read(columns=["unit", "pole", "sent_id"])
    unit, pole = table["unit"].to_numpy(), np.asarray(table["pole"])
    sent_id = table["sent_id"].to_numpy()
    for neuron in range(WATCHED):
        for name, sign in (("top", -1), ("bottom", 1)):
            order = np.lexsort((np.arange(len(values)), sign * values[:, neuron]))[:k]
            if not np.array_equal(sent_id[(unit == neuron) & (pole == name)], order):
                return False
    return True


def reading_tokens(seed: int) -> float:
    """Return how many tokens, stored as ingest stores them, one core reads and cuts into batches per second.

    The tokens are those of real sentences, including special tokens.
    """
    texts = draw(5_000, seed)
    tokenizer = Tokenizer(read_facts("sample"))
    columns = {"sent_id": pa.array(range(len(texts)), pa.int64()), **token_columns(tokenizer.encode(texts))}
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        path = f"{folder}/tokens.parquet"
        write_kept(kept_table(pa.table(columns), tokenizer.highest_id), path)
        block_of(pq.read_table(path))
        tokens, started = 0, time.process_time()
        while tokens < READ_TOKENS:
            block = block_of(pq.read_table(path))
            batches = block_batches(np.arange(len(texts)), block, BUDGET)
            tokens += sum(int(own.lengths.sum()) for _, own in batches)
    return tokens / (time.process_time() - started)


if __name__ == "__main__":
    sys.exit(main())
