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

import multiprocessing
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.dataset as ds  # type: ignore[import-untyped]
import torch

from bench.harness import Result, temporary_folder
from bench.resources import timed
from bench.running import run_job
from bench.texts import BUDGET, draw, padded, read_plainly, write
from ops.corpus.read_shard import read_shard
from ops.model.batches import encode_batches
from ops.model.load import load_model, read_facts
from ops.model.tokenizer import Tokenizer
from ops.storage.store import Store

TARGETS = {1_000: 0.90, 0: 0.95}  # the minimum ratio, by the smallest K to which it applies


def measure(sentences: int = 20_000, workers: int = 2, shard_size: int = 1_000, k: int = 100, seed: int = 0) -> Result:
    """Run the job, and the forward pass before and after it.

    Args:
        sentences: number of real sentences.
        workers: single-threaded processes, for the job and for the pass without it.
        shard_size: sentences of a shard.
        k: winners of a neuron and pole.
        seed: the seed of the draw of sentences.
    """
    with temporary_folder() as folder:
        out = folder / "run"
        source = write(folder / "texts.parquet", draw(sentences, seed))
        ingested = run_job("ingest", out, "--corpus", source, "--split", "none", "--shard-size", shard_size)
        shards = -(-ingested["sentences"] // shard_size)
        before = forward_alone(out, shards, workers)
        counts = run_job("topk", out, "--k", k, "--workers", workers, "--token-budget", BUDGET)
        after = forward_alone(out, shards, workers)
        rows = ds.dataset(out / "topk").count_rows()
    seconds, scored = counts["seconds"], counts["scored"]
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
        "counts_right": scored == ingested["sentences"] and rows == counts["neurons"] * 2 * min(k, scored),
        "target": target,
        "target_met": job / alone >= target,
    }


class Forward(NamedTuple):
    """The combined speed of several processes: sentences per second and CPU-second, tokens per second, and padding."""

    sentences_per_second: float
    sentences_per_cpu_second: float
    tokens_per_second: float
    padding: float


def forward_alone(out: Path, shards: int, processes: int) -> Forward:
    """Run `sample` over the batches of a run's corpus, cut as in the job, in processes of one thread.

    Processes start together. The rate is the sum of the processes' rates, so that the slowest process does not
    determine it.
    """
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(processes) as pool:
        together = manager.Barrier(processes)
        tasks = [(str(out), list(range(i, shards, processes)), together) for i in range(processes)]
        found = pool.starmap(_forward_share, tasks, chunksize=1)
    sentences, real, padded, _, cpu = (sum(column) for column in zip(*found, strict=True))
    rate = sum(own[0] / own[3] for own in found)
    return Forward(rate, sentences / cpu, rate * real / sentences, 1 - real / padded)


def _forward_share(out: str, shards: list[int], together: Any) -> tuple[int, int, int, float, float]:
    """Return a process's sentences, tokens, places including padding, and seconds by the clock and the processor."""
    torch.set_num_threads(1)
    facts = read_facts("sample")
    tokenizer, model, store = Tokenizer(facts), load_model(facts, "cpu", "float32"), Store(out)
    cut = [tokens for s in shards for _, tokens in encode_batches(*read_shard(store, s), tokenizer, BUDGET)]
    inputs = padded(cut, tokenizer.pad_id)
    read_plainly(model, inputs[:2])
    together.wait()
    took, _ = timed(read_plainly, model, inputs)
    masks = [batch["attention_mask"] for batch in inputs]
    return sum(map(len, masks)), sum(int(mask.sum()) for mask in masks), sum(mask.numel() for mask in masks), *took
