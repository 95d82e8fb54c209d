"""Compares bfloat16 with float32 for `sample` on real sentences: speed, and overlap of the top K.

    python -m bench dtype

The production scorer and reducer run in one process of one thread, with the same batches for both types. The overlap of
a neuron and pole is the share of its float32 winners that bfloat16 also finds. There is no target for the overlap; it
shows how much accuracy the faster arithmetic loses. The exit status is 1 if a sentence was lost.
"""

from typing import Any

import numpy as np
import torch

from bench.harness import Result
from bench.resources import timed
from bench.texts import tokenized
from ops.model.activations import ScoreOptions, Scorer
from ops.model.load import read_facts
from ops.reducers.histogram import edges_from_pilot
from ops.reducers.top_k import decode_keys
from ops.topk.neurons import POLES
from ops.topk.score_shard import ShardScorer, score_batch


def measure(sentences: int = 5_000, k: int = 100, seed: int = 0) -> Result:
    """Score the sentences with both types.

    Args:
        sentences: number of real sentences.
        k: winners of a neuron and pole.
        seed: the seed of the draw of sentences.
    """
    facts = read_facts("sample")
    winners, rates, scored = {}, {}, {}
    tokenizer, batches = tokenized(facts, sentences, seed)
    for dtype in ("float32", "bfloat16"):
        scorer = Scorer(facts, ScoreOptions(dtype=dtype), tokenizer.pad_id)
        pilot, *_ = score_batch(scorer, batches[len(batches) // 2][1])
        shard = ShardScorer(scorer, k, POLES, edges_from_pilot(pilot))
        took, (_, found) = timed(shard.run, (0, sentences), iter(batches), np.array([], np.int64))
        rates[dtype], scored[dtype] = sentences / took.clock, found.scored
        winners[dtype] = {p: decode_keys(shard.winners[p].result())[1].numpy() for p in POLES}
    result: dict[str, Any] = {"sentences": sentences, "k": k}
    for pole in POLES:
        pairs = zip(winners["float32"][pole], winners["bfloat16"][pole], strict=True)
        shared = np.array([len(np.intersect1d(a, b)) / k for a, b in pairs])
        result[f"{pole}_overlap"] = {"mean": round(shared.mean(), 4), "quantile_5": round(np.quantile(shared, 0.05), 4)}
    return {
        **result,
        "sentences_per_second": {dtype: round(rate, 1) for dtype, rate in rates.items()},
        "ratio": round(rates["bfloat16"] / rates["float32"], 2),
        "threads": torch.get_num_threads(),
        "counts_right": all(n == sentences for n in scored.values()),
    }
