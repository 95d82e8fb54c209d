"""The scorer on a GPU over the forward pass alone and over the device's matrix products, in one line of JSON.

    python -m bench gpu

bert-base's configuration with random weights, 9,216 neurons, K = 10,000, both poles, in float32, bfloat16 and
float16; no Ray. Sentences are random tokens of lengths like those of a corpus (about 22); they are tokenized
beforehand, in the job by other cores. Thresholds are those of all sentences here, as a worker hears them that
joins a running job. Exit status 2 where there is no CUDA; `--device cpu --tiny` tries the program without one.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from transformers import BertConfig

from bench.running import load
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import length_batches, pad
from ops.model.load import read_facts
from ops.model.random_model import save_random
from ops.model.tokenizer import Tokens
from ops.reducers.histogram import edges_from_pilot
from ops.reducers.thresholds import SharedBound
from ops.shards import Ids
from ops.topk.neurons import POLES
from ops.topk.partial_file import read_matrix
from ops.topk.score_shard import ShardScorer, score_batch

T = TypeVar("T")
DTYPES = ("float32", "bfloat16", "float16")
TINY: dict[str, Any] = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
Batches = list[tuple[Ids, list[Tokens]]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench gpu", description=str(__doc__).splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument(
        "--tiny", action="store_true", help="a model of two layers and few sentences, to try the program"
    )
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--budget", type=int, default=32_768, help="tokens of a batch, padding included")
    parser.add_argument("--k", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted for all benchmarks; the output is JSON anyway")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print(
            "error: bench gpu: no CUDA device is to be seen here; --device cpu --tiny tries the program",
            file=sys.stderr,
        )
        return 2
    if options.tiny:
        options.sentences, options.k, options.budget = min(options.sentences, 400), min(options.k, 50), 1_024
    sentences = random_sentences(options.sentences, options.seed)
    lengths = np.array([len(t.ids) for t in sentences])
    batches = [(rows, [sentences[r] for r in rows]) for rows in length_batches(lengths, options.budget)]
    real, padded = int(lengths.sum()), sum(len(b) * len(b[0].ids) for _, b in batches)
    result: dict[str, object] = {"bench": "gpu", "device": name_of(options.device), "sentences": len(sentences)}
    result |= {"k": options.k, "mean_tokens": round(lengths.mean(), 1), "padding_share": round(1 - real / padded, 4)}
    right = True
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        save_random(Path(folder), BertConfig(**(TINY if options.tiny else {})))
        for dtype in DTYPES:
            figures, whole = measure(folder, options.device, dtype, options.k, batches, padded)
            result[dtype] = figures
            right &= whole
    print(json.dumps({**result, "counts_right": right, "load": load()}))
    return 0 if right else 1


def random_sentences(count: int, seed: int) -> list[Tokens]:
    """Return sentences of random tokens, log-normal in length around 22 tokens."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(np.log(19.5), 0.5, count).astype(int), 3, 512)
    return [Tokens(rng.integers(1_000, 30_000, n).tolist(), [0] * n, False) for n in lengths]


def name_of(device: str) -> str:
    """Return the device's own name."""
    return torch.cuda.get_device_name() if device == "cuda" else "cpu"


def measure(
    folder: str, device: str, dtype: str, k: int, batches: Batches, padded: int
) -> tuple[dict[str, float], bool]:
    """Return one arithmetic's figures, and whether every sentence was scored."""
    facts = read_facts(folder)
    scorer = Scorer(facts, ScoreOptions(device=device, dtype=dtype))
    pilot = torch.cat([score_batch(scorer, tokens)[0] for _, tokens in batches[:: max(len(batches) // 8, 1)]])
    edges = edges_from_pilot(pilot.cpu())
    sentences = sum(len(ids) for ids, _ in batches)
    nobody = np.array([], np.int64)
    first = ShardScorer(scorer, k, POLES, edges).run((0, sentences), iter(batches), nobody)
    shared = SharedBound(edges.numpy(), k)
    shared.update(0, read_matrix(first.table, "histogram"))
    shard = ShardScorer(scorer, k, POLES, edges)
    shard.raise_bounds(*shared.result())
    whole, found = seconds(device, lambda: shard.run((0, sentences), iter(batches), nobody))
    inputs = [pad(tokens, 0, scorer.device)[:2] for _, tokens in batches]
    model = scorer.reader.model

    @torch.inference_mode()
    def forward() -> None:
        for ids, real in inputs:
            model(input_ids=ids, attention_mask=real.long())

    alone, _ = seconds(device, forward)
    peak = matrix_products(device, dtype)
    weights = sum(p.numel() for n, p in model.named_parameters() if "embeddings" not in n and "pooler" not in n)
    used = 2 * weights * padded / whole
    figures = {
        "scorer_sentences_per_second": round(sentences / whole, 1),
        "forward_sentences_per_second": round(sentences / alone, 1),
        "over_forward": round(alone / whole, 3),
        "matrix_product_tflops": round(peak / 1e12, 2),
        "scorer_tflops": round(used / 1e12, 3),
        "over_matrix_products": round(used / peak, 3),
    }
    return figures, found.scored == sentences == first.scored


def matrix_products(device: str, dtype: str) -> float:
    """Return the operations a second of a large matrix product."""
    size = 8_192 if device == "cuda" else 512
    a, b = (torch.randn(size, size, device=device, dtype=getattr(torch, dtype)) for _ in range(2))
    rounds = 20
    torch.mm(a, b)
    took, _ = seconds(device, lambda: [torch.mm(a, b) for _ in range(rounds)])
    return 2 * size**3 * rounds / took


def seconds(device: str, work: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds of some work, the device's queue included, and its result."""
    if device == "cuda":
        torch.cuda.synchronize()
    started = time.perf_counter()
    result = work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - started, result


if __name__ == "__main__":
    sys.exit(main())
