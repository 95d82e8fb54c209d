"""Checks that the time per sentence and a worker's memory in `jobs.topk` do not grow with the corpus.

    python -m bench growth

The model is a BERT of four layers of 256 units with random weights and the packaged tokenizer. It is small, so that
everything except the forward pass weighs more than with a usual model. Sentences are synthetic, distinct and of one
kind, and the corpus has three sizes. Time is measured for scoring after each worker's first shard, when the models are
loaded. At the largest size, a worker's memory is compared between the first and the last third of its time on shards.
The benchmark prints one line of JSON. The exit status is 1 if a count is wrong, or if time or memory differ by more
than a tenth.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from transformers import BertConfig

from bench.ingest import sentence, words
from bench.memory import MemoryWatch
from bench.running import counts_of, job, load, run_job
from bench.texts import write
from jobs.run_folder.stages import STAGES
from ops.model.random_model import save_random

SIZES = (10_000, 40_000, 160_000)
WITHIN = 0.10
MODEL: dict[str, Any] = {
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench growth", description=str(__doc__).splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="sentences")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shard-size", type=int, default=1_000)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    known = words()
    sizes, right = {}, True
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as name:
        folder = Path(name)
        model = save_random(folder / "model", BertConfig(**MODEL))
        for size in options.sizes:
            source = write(folder / f"{size}.parquet", [sentence(known, i) for i in range(size)])
            out = folder / f"run-{size}"
            ingest = ("--corpus", source, "--split", "none", "--shard-size", options.shard_size, "--model", model)
            run_job("ingest", out, *ingest)
            began = time.time()
            flags = ("--k", options.k, "--workers", options.workers, "--keep-partials")
            topk = job("topk", out, "--model", model, *flags)
            with MemoryWatch(topk.pid) as memory:
                status = topk.wait()
            if status:
                return status
            counts = counts_of("topk", out)
            right &= counts["scored"] == size
            # A shard's partial file is put in place when the shard is finished.
            done = sorted(path.stat().st_mtime for path in (out / STAGES["topk"].partials).glob("shard-*"))
            sizes[size] = figures(counts, done, options.shard_size, options.workers)
            sizes[size]["memory"] = memory_of(memory, [at - began for at in done], options.workers)
    each = [figure["ms_a_sentence"] for figure in sizes.values()]
    grown = sizes[max(sizes)]["memory"]["growth"]
    steady = max(each) <= min(each) * (1 + WITHIN)
    flat = grown is not None and grown <= WITHIN
    result = {"bench": "growth", "workers": options.workers, "k": options.k, "sizes": sizes, "counts_right": right}
    result |= {"time_spread": round(max(each) / min(each) - 1, 3), "memory_growth": grown, "within": WITHIN}
    print(json.dumps({**result, "time_steady": steady, "memory_flat": flat, "load": load()}))
    return 0 if right and steady and flat else 1


def figures(counts: dict[str, Any], done: list[float], shard: int, workers: int) -> dict[str, Any]:
    """Return the milliseconds per sentence of all scoring, and of scoring after each worker's first shard."""
    whole = counts["seconds"]["score"] / counts["scored"]
    later = (done[-1] - done[workers - 1]) / (len(done) - workers) / shard
    return {
        "ms_a_sentence": round(later * 1e3, 4),
        "ms_first_shards_included": round(whole * 1e3, 4),
        "seconds": counts["seconds"],
    }


def memory_of(memory: MemoryWatch, done: list[float], workers: int) -> dict[str, Any]:
    """Return the scoring workers' highest memory, and its growth from the first to the last third of their shards.

    Args:
        memory: the memory that was recorded.
        done: the time at which each shard ended, in seconds since recording began. The first two shards of each worker
            are ignored.
        workers: number of workers.
    """
    begin, end = done[min(2 * workers, len(done) - 1)], done[-1]
    series = [
        [size for at, size in own if begin <= at <= end] for (_, name), own in memory.series.items() if "Worker" in name
    ]
    series = sorted(series, key=len)[-workers:]
    growth = []
    for own in series:
        third = len(own) // 3
        if third:
            growth.append(statistics.median(own[-third:]) / statistics.median(own[:third]) - 1)
    peak = max((max(own, default=0) for own in series), default=0)
    return {"peak_mb": round(peak / 1e6), "growth": round(max(growth), 3) if growth else None}


if __name__ == "__main__":
    sys.exit(main())
