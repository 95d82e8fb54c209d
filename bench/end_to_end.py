"""Measures the speed of `jobs.topk` divided by that of the forward pass alone, and prints one line of JSON.

    python -m bench end_to_end

Both use `sample`, the same batches of the same real sentences (bench/texts.py), float32, and two processes of one
thread. The forward pass is measured before and after the job. The job's time covers scoring, partial files, merge and
tables; start-up and pilot are reported separately. Time in which one worker still loads its model while another scores
counts as start-up. On a busy machine, look at the ratio of the workers' processor time. The processor matters: with
AVX-512 the forward pass takes half the time, so everything else weighs twice as much.
The exit status is 1 if a count is wrong, or if the ratio is below 0.95 (below 0.90 if K is 1,000 or more).
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import pyarrow.dataset as ds  # type: ignore[import-untyped]
import torch

from bench.forward import forward_alone
from bench.running import load, run_job
from bench.texts import draw, write

TARGETS = {0: 0.95, 1_000: 0.90}  # the minimum ratio, by the smallest K to which it applies
BUDGET = 2_048


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench end_to_end", description=str(__doc__).splitlines()[0])
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument(
        "--workers", type=int, default=2, help="single-threaded processes, for the job and for the pass without it"
    )
    parser.add_argument("--shard-size", type=int, default=1_000)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument(
        "--every", type=int, default=1, help="measure the pass without the job on one batch in this many"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        out = Path(folder) / "run"
        source = write(Path(folder) / "texts.parquet", draw(options.sentences, options.seed))
        ingested = run_job("ingest", out, "--corpus", source, "--split", "none", "--shard-size", options.shard_size)
        shards = -(-ingested["sentences"] // options.shard_size)
        before = forward_alone(out, shards, options.workers, BUDGET, options.every)
        flags = ("--k", options.k, "--workers", options.workers, "--token-budget", BUDGET)
        counts = run_job("topk", out, *flags)
        after = forward_alone(out, shards, options.workers, BUDGET, options.every)
        rows = ds.dataset(out / "topk").count_rows()
    seconds = counts["seconds"]
    winners = counts["neurons"] * 2 * min(options.k, counts["scored"])
    right = counts["scored"] == ingested["sentences"] and rows == winners
    alone = (before.sentences_per_second + after.sentences_per_second) / 2
    job = counts["scored"] / (seconds["score"] + seconds["merge"])
    target = next(ratio for k, ratio in sorted(TARGETS.items(), reverse=True) if options.k >= k)
    alone_cpu = (before.sentences_per_cpu_second + after.sentences_per_cpu_second) / 2
    result = {
        "bench": "end_to_end",
        "sentences": counts["scored"],
        "workers": options.workers,
        "job_sentences_per_second": round(job, 1),
        "forward_sentences_per_second": [round(f.sentences_per_second, 1) for f in (before, after)],
        "forward_tokens_per_second": round((before.tokens_per_second + after.tokens_per_second) / 2),
        "padding_share": round(before.padding, 4),
        "ratio": round(job / alone, 3),
        "ratio_of_scoring": round(counts["scored"] / seconds["score"] / alone, 3),
        "ratio_of_workers_cpu": round(counts["scored"] / seconds["worker_cpu"] / alone_cpu, 3),
        "seconds": seconds,
        "counts_right": right,
        "target": target,
        "processor": torch.backends.cpu.get_cpu_capability(),
        "load": load(),
    }
    print(json.dumps(result))
    return 0 if right and job / alone >= target else 1


if __name__ == "__main__":
    sys.exit(main())
