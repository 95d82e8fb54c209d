"""Compares the speed of `jobs.topk` with a simple script that finds the same winners.

    python -m bench plain_script

The script is one that a researcher writes in an afternoon. It runs transformers in the order of the corpus, with
batches of 32 and with all cores as torch's threads. It takes the mean over tokens of every hidden state, and applies
`torch.topk` for both poles to the best so far and the batch. It is timed only on the last sentences, because reaching
them would take minutes; its state is computed from all earlier sentences. The job, with two processes of one thread, is
timed over all sentences: scoring, partial files and merge, without start-up. The exit status is 1 if a winner differs
by more than rounding or if a target is missed.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import torch

from bench.harness import Result, temporary_folder
from bench.resources import timed
from bench.running import run_job
from bench.texts import draw, write
from ops.model.load import load_model, read_facts
from ops.model.transformers_calls import quiet_transformers

TARGETS = {1_000: 2.7, 10_000: 10.0}
BATCH, WITHIN = 32, 1e-5
POLES = {"top": True, "bottom": False}
State = dict[str, tuple[torch.Tensor, torch.Tensor]]


def measure(start: int = 10_000, sentences: int = 640, k: tuple[int, ...] = tuple(TARGETS), seed: int = 0) -> Result:
    """Time both at each K.

    Args:
        start: sentences from which the script's state is made.
        sentences: sentences after them, on which the script is timed.
        k: winners of a neuron and pole; several are possible.
        seed: the seed of the draw of sentences.
    """
    every = start + sentences
    with temporary_folder() as folder:
        source = write(folder / "texts.parquet", draw(every, seed))
        jobs = {one: run_topk(folder / f"run-{one}", source, every, one) for one in k}
        texts = pq.ParquetDataset(folder / f"run-{k[0]}" / "corpus").read(["text"])["text"].to_pylist()
        script = Script()
        pooled = torch.cat([script.pool(texts[i : i + BATCH]) for i in range(0, start, BATCH)])[:start]
        found = {}
        for one, counts in jobs.items():
            took, state = timed(script.find, best({}, pooled, 0, one), texts, start, one)
            seconds = counts["seconds"]
            plain, ours = (len(texts) - start) / took.clock, every / (seconds["score"] + seconds["merge"])
            found[f"k_{one}"] = {
                "plain_sentences_per_second": round(plain, 1),
                "ours_sentences_per_second": round(ours, 1),
                "ratio": round(ours / plain, 2),
                "target": TARGETS.get(one),
                "same_winners": counts["scored"] == every and agrees(state, folder / f"run-{one}"),
                "seconds": seconds,
            }
    return {
        "sentences": every,
        **found,
        "counts_right": all(one["same_winners"] for one in found.values()),
        "targets_met": all(one["ratio"] >= (one["target"] or 0) for one in found.values()),
    }


def run_topk(out: Path, source: str, sentences: int, k: int) -> dict[str, Any]:
    """Run the job with two workers and two shards, and return its counts.

    There are only two shards, one for each worker, because the end of a shard sorts all winners so far. At full size
    the ends of shards are rare.
    """
    run_job("ingest", out, "--corpus", source, "--split", "none", "--shard-size", -(-sentences // 2))
    return run_job("topk", out, "--k", k, "--workers", 2)


class Script:
    """The plain script."""

    def __init__(self) -> None:
        from transformers import AutoTokenizer

        torch.set_num_threads(os.cpu_count() or 1)
        facts = read_facts("sample")
        with quiet_transformers():
            self.tokenizer: Any = AutoTokenizer.from_pretrained(
                facts.location.path, model_max_length=facts.position_limit
            )
        self.model = load_model(facts, "cpu", "float32")

    @torch.inference_mode()
    def pool(self, texts: list[str]) -> torch.Tensor:
        """Return the mean over tokens of every layer's states, `[sentences, neurons]`."""
        inputs = self.tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
        mask = inputs["attention_mask"][..., None].float()
        states = self.model(**inputs, output_hidden_states=True).hidden_states[1:]
        return torch.cat([(state * mask).sum(1) / mask.sum(1) for state in states], 1)

    def find(self, state: State, texts: list[str], start: int, k: int) -> State:
        """Return the state after the sentences from `start` on, batch after batch."""
        for first in range(start, len(texts), BATCH):
            state = best(state, self.pool(texts[first : first + BATCH]), first, k)
        return state


def best(state: State, pooled: torch.Tensor, first: int, k: int) -> State:
    """Return the `k` best of those so far and of some sentences, whose ids start at `first`, for each pole."""
    ids = torch.arange(first, first + len(pooled))[:, None].expand_as(pooled)
    found: State = {}
    for pole, largest in POLES.items():
        values, own = pooled, ids
        if state:
            values, own = torch.cat([state[pole][0], values]), torch.cat([state[pole][1], own])
        chosen = values.topk(min(k, len(values)), dim=0, largest=largest)
        found[pole] = chosen.values, own.gather(0, chosen.indices)
    return found


def agrees(state: State, out: Path) -> bool:
    """Return whether the table has the same winners as the script, except for ties at the last rank within rounding."""
    table = ds.dataset(out / "topk").to_table(columns=["pole", "activation", "sent_id"])
    pole = table["pole"].to_numpy()
    for name, largest in POLES.items():
        values, ids = (part.T.numpy() for part in state[name])
        activation, sent_id = (
            table[column].to_numpy()[pole == name].reshape(values.shape) for column in ("activation", "sent_id")
        )
        if np.abs(values - activation).max() > WITHIN:
            return False
        last = values.min(1) if largest else values.max(1)
        for neuron in range(len(values)):
            own = dict(zip(ids[neuron].tolist(), values[neuron].tolist(), strict=True))
            other = dict(zip(sent_id[neuron].tolist(), activation[neuron].tolist(), strict=True))
            if any(abs((own | other)[i] - last[neuron]) > WITHIN for i in own.keys() ^ other.keys()):
                return False
    return True
