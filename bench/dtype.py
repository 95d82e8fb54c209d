"""Compares bfloat16 with float32 for `sample` on real sentences: speed, and overlap of the top K; one line of JSON.

    python -m bench dtype

The production scorer and reducer run in one process of one thread, with the same batches for both types. The overlap of
a neuron and pole is the share of its float32 winners that bfloat16 also finds. There is no target for the overlap; it
shows how much accuracy the faster arithmetic loses. The exit status is 1 if a sentence was lost.
"""

import argparse
import json
import sys
import time

import numpy as np
import torch

from bench.running import load
from bench.texts import draw
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import encode_batches
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer
from ops.reducers.histogram import edges_from_pilot
from ops.reducers.top_k import decode_keys
from ops.topk.neurons import POLES
from ops.topk.score_shard import ShardScorer, score_batch

BUDGET = 2_048


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench dtype", description=str(__doc__).splitlines()[0])
    parser.add_argument("--sentences", type=int, default=5_000)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    facts = read_facts("sample")
    tokenizer = Tokenizer(facts)
    texts = draw(options.sentences, options.seed)
    lengths = np.array([len(t.ids) for t in tokenizer.encode(texts)])
    winners, rates, scored = {}, {}, {}
    for dtype in ("float32", "bfloat16"):
        scorer = Scorer(facts, ScoreOptions(dtype=dtype), tokenizer.pad_id)
        batches = list(encode_batches(np.arange(len(texts)), texts, lengths, tokenizer, BUDGET))
        pilot, *_ = score_batch(scorer, batches[len(batches) // 2][1])
        shard = ShardScorer(scorer, options.k, POLES, edges_from_pilot(pilot))
        started = time.perf_counter()
        found = shard.run((0, len(texts)), iter(batches), np.array([], np.int64))
        rates[dtype] = len(texts) / (time.perf_counter() - started)
        scored[dtype] = found.scored
        winners[dtype] = {p: decode_keys(shard.winners[p].result())[1].numpy() for p in POLES}
    result: dict[str, object] = {"bench": "dtype", "sentences": len(texts), "k": options.k}
    for pole in POLES:
        pairs = zip(winners["float32"][pole], winners["bfloat16"][pole], strict=True)
        shared = np.array([len(np.intersect1d(a, b)) / options.k for a, b in pairs])
        result[f"{pole}_overlap"] = {"mean": round(shared.mean(), 4), "quantile_5": round(np.quantile(shared, 0.05), 4)}
    result["sentences_per_second"] = {dtype: round(rate, 1) for dtype, rate in rates.items()}
    result["ratio"] = round(rates["bfloat16"] / rates["float32"], 2)
    right = all(n == len(texts) for n in scored.values())
    print(json.dumps({**result, "threads": torch.get_num_threads(), "counts_right": right, "load": load()}))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
