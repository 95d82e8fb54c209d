"""Simulates how many candidates shards return to the merge, with and without shared thresholds.

    python -m bench sharing

The ratio of sentences to K is that of 82 million to 10,000. The simulation uses the production reducer, histograms and
bounds on synthetic activations, with 8 workers whose shards end at different times. The ideal is one reducer that has
seen every earlier sentence: it returns K (1 + ln(N / K)) candidates for each neuron and pole. The benchmark prints one
line of JSON. The exit status is 1 if the target is missed or a winner is lost.
"""

import argparse
import heapq
import json
import math
import sys
from collections.abc import Iterator
from functools import partial
from typing import cast

import numpy as np
import torch

from ops.arrays import Float32s
from ops.model.activations import Scorer
from ops.model.tokenizer import Tokens
from ops.reducers.histogram import edges_from_pilot
from ops.reducers.thresholds import SharedBound
from ops.reducers.top_k import TopK, decode_keys
from ops.topk.neurons import POLES
from ops.topk.partial_file import read_counts, read_keys
from ops.topk.score_shard import ShardScorer

K, SHARD, SHARDS, WORKERS, PILOT = 100, 1_000, 820, 8, 4_096
TARGET = 1.5


class Synthetic:
    """A replacement for a model: columns of activations, each from a distribution, some of them with heavy tails."""

    device = torch.device("cpu")
    layers = (1,)
    sparse = False

    def __init__(self, seed: int, columns: int) -> None:
        rng = np.random.default_rng(seed)
        n = SHARD * SHARDS
        draws = [rng.normal(size=n), rng.standard_t(4, n), rng.lognormal(0, 1, n), rng.uniform(size=n)]
        self.values = torch.from_numpy(np.array([draws[i % 4] for i in range(columns)], np.float32).T.copy())
        for i in range(4, columns):
            self.values[:, i] = self.values[torch.from_numpy(rng.permutation(n)), i]

    def score(self, batch: list[Tokens]) -> list[torch.Tensor]:
        """Return the activations of the batch's sentences, whose token ids are the sentence ids here."""
        first, stop = batch[0].ids[0], batch[-1].ids[0]
        return [self.values[first : stop + 1]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench sharing", description=str(__doc__).splitlines()[0])
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    model = Synthetic(options.seed, options.columns)
    edges = edges_from_pilot(model.values[:: len(model.values) // PILOT])
    expected = {p: exact(model.values if p == "top" else -model.values) for p in POLES}
    result: dict[str, object] = {"bench": "sharing", "workers": options.workers, "k": K, "shards": SHARDS}
    ideal = 1 + math.log(SHARD * SHARDS / K)
    result["ideal_in_k"] = round(ideal, 2)
    whole = True
    for name, sharing in (("shared", True), ("alone", False)):
        handed, same = simulate(model, edges, options.workers, sharing, expected)
        whole = whole and same
        result[f"{name}_in_k"] = round(handed, 2)
        result[f"{name}_over_ideal"] = round(handed / ideal, 2)
    met = cast(float, result["shared_over_ideal"]) <= TARGET
    print(json.dumps({**result, "no_winner_lost": whole, "target": TARGET, "target_met": met}))
    return 0 if met and whole else 1


def exact(values: torch.Tensor) -> torch.Tensor:
    """Return the winners' keys from one reducer over all sentences."""
    reducer = TopK(values.shape[1], K)
    reducer.update(values, torch.arange(len(values)))
    return reducer.result()


def simulate(
    model: Synthetic, edges: torch.Tensor, workers: int, sharing: bool, expected: dict[str, torch.Tensor]
) -> tuple[float, bool]:
    """Return the candidates per neuron and pole in units of K, and whether the winners are correct."""
    rng = np.random.default_rng(1)
    pool = [ShardScorer(cast(Scorer, model), K, POLES, edges) for _ in range(workers)]
    shared = SharedBound(edges.numpy(), K)
    waiting = iter(rng.permutation(SHARDS).tolist())
    merged = {p: TopK(len(edges), K) for p in POLES}
    handed = 0
    running: list[tuple[float, int, int, tuple[Float32s, Float32s]]] = []

    def start(now: float, worker: int) -> None:
        shard = next(waiting, None)
        if shard is not None:
            heapq.heappush(running, (now + rng.uniform(0.8, 1.2), worker, shard, shared.result()))

    for worker in range(workers):
        start(0.0, worker)
    while running:
        now, worker, shard, known = heapq.heappop(running)
        news = iter([known, shared.result()] if sharing else [None, None])
        span = (shard * SHARD, (shard + 1) * SHARD)
        result = pool[worker].run(span, batches(*span), np.array([], np.int64), partial(next, news))
        for p in POLES:
            neuron, keys = read_keys(result.table, p)
            handed += len(keys)
            merged[p].merge_keys(neuron, keys)
        shared.update(shard, read_counts(result.table))
        start(now, worker)
    same = all(bool((decode_keys(merged[p].result())[1] == decode_keys(expected[p])[1]).all()) for p in POLES)
    return handed / (len(edges) * len(POLES) * K), same


def batches(first: int, stop: int) -> Iterator[tuple[np.ndarray, list[Tokens]]]:
    """Yield a shard as one batch, in which each sentence's single token is its sentence id."""
    yield np.arange(first, stop), [Tokens([i], [0], False) for i in range(first, stop)]


if __name__ == "__main__":
    sys.exit(main())
