"""Measures the main job at its real size, except for the model: 9,216 neurons, K = 10,000, both poles.

    python -m bench scale --minutes 10

Synthetic activations go through the production code: `ShardScorer`, partial files put in place by `Store.commit`,
bounds from the shards' histograms, and the merge by ranges of neurons. Most of the time is spent on shards of 100,000
sentences, and the rest on merging ranges. Seconds are processor time on one thread. Some neurons' winners are compared
with those from sorting all values. The cost of reducing a sentence is compared with a forward pass of bert-base with
random weights over a sentence of 22 tokens. The temporary folder takes 10 GB for 10 minutes. The exit status is 1 if a
winner is wrong or memory grows.
"""

import time
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pyarrow as pa
import torch

from bench.harness import Result, temporary_folder
from bench.made_run import WIDTHS
from bench.resources import forget_peak, repeated, resident, timed
from bench.running import PRINT, commit
from bench.texts import BUDGET
from jobs.engine.item import Item
from jobs.stage.outputs import Written, shard_file
from jobs.stage.ranges import table_ranges
from jobs.topk.score import PILOT_FILE, RangeMerger
from ops.model.activations import Scorer
from ops.model.tokenizer import Tokens
from ops.reducers.histogram import edges_from_pilot
from ops.reducers.thresholds import SharedBound
from ops.shards import Ids
from ops.storage.store import Store
from ops.storage.tables import part_name
from ops.topk import partial_file as topk_partial
from ops.topk.neurons import POLES, Neurons
from ops.topk.pilot import Pilot
from ops.topk.score_shard import ShardScorer

BATCH = 93  # sentences
WATCHED, MOST = 8, 10_000_000
SCORING = 0.7
FLAT = 0.10


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


def measure(
    minutes: float = 5.0, k: int = 10_000, shard_size: int = 100_000, seed: int = 0
) -> Result:  # fmt: skip
    """Score and merge for some minutes.

    Args:
        minutes: about how long it takes.
        k: winners of a neuron and pole.
        shard_size: sentences of a shard.
        seed: the seed of the activations.
    """
    torch.set_num_threads(1)
    begun = time.perf_counter()
    model = Synthetic(seed)
    edges = edges_from_pilot(torch.cat(model.blocks[:12]))
    with temporary_folder() as out:
        store = Store(str(out))
        commit(store, {PILOT_FILE: Written(len(edges), Pilot(edges.numpy(), Neurons(WIDTHS), False, None).write)})
        shards = list(score(model, edges, store, k, shard_size, begun + minutes * 60 * SCORING))
        merging = merge(store, len(shards), k, begun + minutes * 60)
        right = agrees(model, store, k)
    growth = growth_of([s["peak"] for s in shards])
    sentences, total = len(shards) * shard_size, {name: sum(s[name] for s in shards) for name in shards[0]}
    reduce_s = float(np.median([s["reduce_s"] for s in shards[1:] or shards])) / shard_size
    forward_s = bert_base_seconds()
    return {
        "sentences": sentences,
        "shards": len(shards),
        "neurons": sum(WIDTHS),
        "k": k,
        "rows_per_second": round(sentences / total["reduce_s"], 1),
        "rows_per_second_commits_included": round(sentences / (total["reduce_s"] + total["commit_s"]), 1),
        "partial_bytes": total["bytes"],
        "partial_bytes_per_sentence": round(total["bytes"] / sentences),
        "candidates_in_k": round(total["pairs"] / k / sum(WIDTHS) / 2, 2),
        "ideal_in_k": round(1 + float(np.log(max(sentences / k, 1))), 2),
        "piece_rows_per_second": [round(shard_size / s["reduce_s"]) for s in shards],
        "shard_peak_mb": [round(s["peak"] / 1e6) for s in shards],
        "memory_growth": None if growth is None else round(growth, 3),
        "merge": {**merging, "all_ranges_s": round(merging["seconds"] / merging["ranges"] * merging["of"], 1)},
        "reduce_ms_a_sentence": round(1e3 * reduce_s, 3),
        "bert_base_ms_a_sentence": round(1e3 * forward_s, 3),
        "reduce_share_of_bert_base": round(reduce_s / forward_s, 4),
        "ns_a_candidate": {
            "commit": round(1e9 * total["commit_s"] / total["pairs"], 1),
            "merge": round(1e9 * merging["seconds"] / merging["pairs"], 1),
        },
        "bytes_a_candidate": round(total["bytes"] / total["pairs"], 2),
        "driver_ms_a_shard": {name: round(1e3 * total[f"{name}_s"] / len(shards), 2) for name in ("count", "bounds")},
        "winners_right": right,
        "memory_flat": None if growth is None else growth <= FLAT,
    }


def growth_of(peaks: list[int]) -> float | None:
    """Return how much memory grows from the first to the last third of the shards after the first one.

    A single shard after the first does not show growth: None.
    """
    later = peaks[1:]
    third = max(len(later) // 3, 1)
    return max(later[-third:]) / max(later[:third]) - 1 if len(later) > 1 else None


def score(
    model: Synthetic, edges: torch.Tensor, store: Store, k: int, size: int, deadline: float
) -> Iterator[dict[str, Any]]:
    """Score shard after shard until the deadline, at least two, and yield the measurements of each."""
    worker, shared = ShardScorer(cast(Scorer, model), k, POLES, edges), SharedBound(edges.numpy(), k)
    shard, last = 0, 0.0
    # The second shard takes a fraction of the time of the first shard, in which the thresholds still rise.
    while shard < 2 or time.perf_counter() + last < deadline:
        began, making = time.perf_counter(), model.seconds
        forget_peak()
        span, file = (shard * size, (shard + 1) * size), shard_file("topk", shard)

        def reduce(span: tuple[int, int] = span) -> Any:
            rows, _ = worker.run(span, batches(*span), np.array([], np.int64), shared.result)
            table = pa.concat_tables(rows.parts()).combine_chunks()
            return rows, sum(len(table[f"{p}_sent_id"].combine_chunks().flatten()) for p in POLES)

        reduced, (rows, pairs) = timed(reduce)
        committed, _ = timed(commit, store, {file: Written(rows.in_file, rows.write)})
        del rows
        counts = topk_partial.read_of_all(store, file.path, topk_partial.HISTOGRAM)
        counted, _ = timed(shared.update, shard, topk_partial.read_counts(counts))
        bounds, _ = timed(shared.result)
        yield {
            "reduce_s": reduced.processor - (model.seconds - making),
            "commit_s": committed.processor,
            "count_s": counted.processor,
            "bounds_s": bounds.processor,
            "bytes": store.filesystem.get_file_info(store.path(file.path)).size,
            "pairs": pairs,
            "peak": resident()["VmHWM"],
        }
        shard, last = shard + 1, time.perf_counter() - began


def batches(first: int, stop: int) -> Iterator[tuple[Ids, list[Tokens]]]:
    """Yield a shard's batches of sentences of one token, which is the sentence's id."""
    for start in range(first, stop, BATCH):
        ids = np.arange(start, min(start + BATCH, stop))
        yield ids, [Tokens([i], [0], False) for i in ids.tolist()]


def merge(store: Store, shards: int, k: int, deadline: float) -> dict[str, Any]:
    """Merge ranges of neurons until the deadline, at least one; return times, and counts of ranges and candidates."""
    merger = RangeMerger(store, Neurons(WIDTHS), shards, k, POLES, np.ones(len(WIDTHS)))
    items = table_ranges(sum(WIDTHS))
    seconds, wall, done, pairs = 0.0, 0.0, 0, 0

    def merge_range(item: Item) -> dict[Any, Any]:
        row = dict(merger(item))
        for output in row if "damaged" not in row else ():
            output.commit(store, row[output], PRINT)
        return row

    for part, item in enumerate(items):
        if done and time.perf_counter() + wall / done > deadline:
            break
        took, row = timed(merge_range, item)
        if "damaged" in row:
            raise RuntimeError(f"damaged partial files: {row['damaged']}")
        wall, seconds, done = wall + took.clock, seconds + took.processor, done + 1
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


@torch.inference_mode()
def bert_base_seconds() -> float:
    """Return the seconds of bert-base for a sentence of 22 tokens, in the fastest of three batches."""
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(), add_pooling_layer=False).eval()
    ids = torch.ones(BATCH, BUDGET // BATCH, dtype=torch.int64)
    each, _ = repeated(lambda: model(input_ids=ids, attention_mask=torch.ones_like(ids)), 3)
    return min(seconds.processor for seconds in each) / BATCH
