"""Times the forward pass alone: `model(ids, mask)` on batches that were prepared before the clock starts."""

import multiprocessing
from pathlib import Path
from typing import Any, NamedTuple

import torch

from bench.passes import padded, read_plainly
from bench.timing import timed
from ops.corpus.read_shard import read_shard
from ops.model.batches import encode_batches
from ops.model.load import load_model, read_facts
from ops.model.tokenizer import Tokenizer
from ops.storage.store import Store


class Forward(NamedTuple):
    """The combined speed of several processes: sentences per second and CPU-second, tokens per second, and padding."""

    sentences_per_second: float
    sentences_per_cpu_second: float
    tokens_per_second: float
    padding: float


def forward_alone(out: Path, shards: int, processes: int, budget: int, every: int, dtype: str = "float32") -> Forward:
    """Run `sample` over every `every`-th batch of a run's corpus, cut as in the job, in processes of one thread.

    Processes start together. The rate is the sum of the processes' rates, so that the slowest process does not
    determine it.
    """
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(processes)
    with context.Pool(processes, _share, (barrier,)) as pool:
        tasks = [(str(out), list(range(i, shards, processes)), budget, every, dtype) for i in range(processes)]
        found = pool.starmap(_work, tasks, chunksize=1)
    sentences, real, padded, _, cpu = (sum(column) for column in zip(*found, strict=True))
    rate = sum(own[0] / own[3] for own in found)
    return Forward(rate, sentences / cpu, rate * real / sentences, 1 - real / padded)


_barrier: Any = None


def _share(barrier: Any) -> None:
    global _barrier
    _barrier = barrier


def _work(out: str, shards: list[int], budget: int, every: int, dtype: str) -> tuple[int, int, int, float, float]:
    torch.set_num_threads(1)
    facts = read_facts("sample")
    tokenizer, model, store = Tokenizer(facts), load_model(facts, "cpu", dtype), Store(out)
    cut = [tokens for s in shards for _, tokens in encode_batches(*read_shard(store, s), tokenizer, budget)]
    inputs = padded(cut[::every], tokenizer.pad_id)
    read_plainly(model, inputs[:2])
    _barrier.wait()
    took, _ = timed(read_plainly, model, inputs)
    masks = [batch["attention_mask"] for batch in inputs]
    return sum(map(len, masks)), sum(int(mask.sum()) for mask in masks), sum(mask.numel() for mask in masks), *took
