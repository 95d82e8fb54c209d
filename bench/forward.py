"""Times the forward pass alone: `model(ids, mask)` on batches that were prepared before the clock starts."""

import multiprocessing
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ops.corpus.read_shard import read_shard
from ops.model.batches import encode_batches, pad
from ops.model.load import load_model, read_facts
from ops.model.tokenizer import Tokenizer
from ops.storage.store import Store


@dataclass(frozen=True)
class Forward:
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


@torch.inference_mode()
def _work(out: str, shards: list[int], budget: int, every: int, dtype: str) -> tuple[int, int, int, float, float]:
    torch.set_num_threads(1)
    facts = read_facts("sample")
    tokenizer, model, store = Tokenizer(facts), load_model(facts, "cpu", dtype), Store(out)
    cut = [tokens for s in shards for _, tokens in encode_batches(*read_shard(store, s), tokenizer, budget)]
    batches = [pad(tokens, tokenizer.pad_id, torch.device("cpu"))[:2] for tokens in cut[::every]]
    inputs = [(ids, real.long()) for ids, real in batches]
    for ids, mask in inputs[:2]:
        model(input_ids=ids, attention_mask=mask)
    _barrier.wait()
    started, cpu = time.perf_counter(), time.process_time()
    for ids, mask in inputs:
        model(input_ids=ids, attention_mask=mask)
    took = time.perf_counter() - started, time.process_time() - cpu
    real_tokens = sum(int(mask.sum()) for _, mask in inputs)
    return sum(len(ids) for ids, _ in inputs), real_tokens, sum(ids.numel() for ids, _ in inputs), *took
