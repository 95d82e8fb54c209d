"""Measures the speed of `jobs.topk` divided by that of the forward pass alone.

    python -m bench end_to_end

Both use `sample`, the same batches of the same real sentences (bench/texts.py), float32, and two processes of one
thread. The forward pass is measured before and after the job. The job's time covers scoring, partial files, merge and
tables; start-up and pilot are reported separately. Time in which one worker still loads its model while another scores
counts as start-up. On a busy machine, look at the ratio of the workers' processor time. The processor matters: with
AVX-512 the forward pass takes half the time, so everything else weighs twice as much. `feature_tokens_per_second` is
the number of units times the tokens that the job reads per second.
The exit status is 1 if a count is wrong, or if the ratio is below 0.95 (below 0.90 if K is 1,000 or more).
"""

import pyarrow.dataset as ds  # type: ignore[import-untyped]

from bench.forward import forward_alone
from bench.harness import Result, temporary_folder
from bench.passes import BUDGET
from bench.running import run_job
from bench.texts import draw, write

TARGETS = {1_000: 0.90, 0: 0.95}  # the minimum ratio, by the smallest K to which it applies


def measure(
    sentences: int = 20_000, workers: int = 2, shard_size: int = 1_000, k: int = 100, every: int = 1, seed: int = 0
) -> Result:
    """Run the job, and the forward pass before and after it.

    Args:
        sentences: number of real sentences.
        workers: single-threaded processes, for the job and for the pass without it.
        shard_size: sentences of a shard.
        k: winners of a neuron and pole.
        every: measure the pass without the job on one batch in this many.
        seed: the seed of the draw of sentences.
    """
    with temporary_folder() as folder:
        out = folder / "run"
        source = write(folder / "texts.parquet", draw(sentences, seed))
        ingested = run_job("ingest", out, "--corpus", source, "--split", "none", "--shard-size", shard_size)
        shards = -(-ingested["sentences"] // shard_size)
        before = forward_alone(out, shards, workers, BUDGET, every)
        counts = run_job("topk", out, "--k", k, "--workers", workers, "--token-budget", BUDGET)
        after = forward_alone(out, shards, workers, BUDGET, every)
        rows = ds.dataset(out / "topk").count_rows()
    seconds, scored = counts["seconds"], counts["scored"]
    right = scored == ingested["sentences"] and rows == counts["neurons"] * 2 * min(k, scored)
    alone, alone_cpu, tokens, _ = (sum(pair) / 2 for pair in zip(before, after, strict=True))
    job, tokens_each = scored / (seconds["score"] + seconds["merge"]), tokens / alone
    target = next(ratio for least, ratio in TARGETS.items() if k >= least)
    return {
        "sentences": scored,
        "workers": workers,
        "units": counts["neurons"],
        "tokens": round(scored * tokens_each),
        "feature_tokens_per_second": round(counts["neurons"] * job * tokens_each),
        "job_sentences_per_second": round(job, 1),
        "forward_sentences_per_second": [round(f.sentences_per_second, 1) for f in (before, after)],
        "forward_tokens_per_second": round(tokens),
        "padding_share": round(before.padding, 4),
        "ratio": round(job / alone, 3),
        "ratio_of_scoring": round(scored / seconds["score"] / alone, 3),
        "ratio_of_workers_cpu": round(scored / seconds["worker_cpu"] / alone_cpu, 3),
        "seconds": seconds,
        "counts_right": right,
        "target": target,
    }, right and job / alone >= target
