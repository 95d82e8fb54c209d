"""Compares the speed of `jobs.topk` with a simple script that finds the same winners, and prints one line of JSON.

    python -m bench plain_script

The script is one that a researcher writes in an afternoon. It runs transformers in the order of the corpus, with
batches of 32 and with all cores as torch's threads. It takes the mean over tokens of every hidden state, and applies
`torch.topk` for both poles to the best so far and the batch. It is timed only on the last sentences, because reaching
them would take minutes; its state is computed from all earlier sentences. The job, with two processes of one thread, is
timed over all sentences: scoring, partial files and merge, without start-up. The exit status is 1 if a winner differs
by more than rounding or if a target is missed.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import torch

from bench.running import load, run_job
from bench.texts import draw, write
from ops.model.load import load_model, quiet_transformers, read_facts

TARGETS = {1_000: 2.7, 10_000: 10.0}
BATCH, WITHIN = 32, 1e-5
POLES = {"top": True, "bottom": False}
State = dict[str, tuple[torch.Tensor, torch.Tensor]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench plain_script", description=str(__doc__).splitlines()[0])
    parser.add_argument("--start", type=int, default=10_000, help="sentences that the script's state is made from")
    parser.add_argument("--sentences", type=int, default=640, help="sentences after them, which the script is timed on")
    parser.add_argument("--k", type=int, nargs="+", default=list(TARGETS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    result: dict[str, Any] = {"bench": "plain_script", "sentences": options.start + options.sentences}
    right, met = True, True
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as name:
        folder = Path(name)
        source = write(folder / "texts.parquet", draw(options.start + options.sentences, options.seed))
        script, plain, done = Script(), {}, {}
        for k in options.k:
            out = folder / f"run-{k}"
            # There are only two shards, one for each worker, because the end of a shard sorts all winners so far. At
            # full size the ends of shards are rare.
            size = -(-(options.start + options.sentences) // 2)
            ingested = run_job("ingest", out, "--corpus", source, "--split", "none", "--shard-size", size)
            done[k] = run_job("topk", out, "--k", k, "--workers", 2)
            right &= done[k]["scored"] == ingested["sentences"]
        texts = pq.ParquetDataset(out / "corpus").read(["text"])["text"].to_pylist()
        pooled = torch.cat([script.pool(texts[i : i + BATCH]) for i in range(0, options.start, BATCH)])[: options.start]
        for k in options.k:
            state = script.begin(pooled, k)
            started = time.perf_counter()
            for i in range(options.start, len(texts), BATCH):
                state = script.step(state, script.pool(texts[i : i + BATCH]), i, k)
            plain[k] = (len(texts) - options.start) / (time.perf_counter() - started)
            ours = done[k]["scored"] / (done[k]["seconds"]["score"] + done[k]["seconds"]["merge"])
            same = agrees(state, folder / f"run-{k}", k)
            right &= same
            met &= ours / plain[k] >= TARGETS.get(k, 0)
            result[f"k_{k}"] = {
                "plain_sentences_per_second": round(plain[k], 1),
                "ours_sentences_per_second": round(ours, 1),
                "ratio": round(ours / plain[k], 2),
                "target": TARGETS.get(k),
                "same_winners": same,
                "seconds": done[k]["seconds"],
            }
    print(json.dumps({**result, "counts_right": right, "targets_met": met, "load": load()}))
    return 0 if right and met else 1


class Script:
    """The plain script."""

    @torch.inference_mode()
    def __init__(self) -> None:
        from transformers import AutoTokenizer

        torch.set_num_threads(os.cpu_count() or 1)
        facts = read_facts("sample")
        with quiet_transformers():
            self.tokenizer: Any = AutoTokenizer.from_pretrained(facts.path, model_max_length=facts.position_limit)
        self.model = load_model(facts, "cpu", "float32")

    @torch.inference_mode()
    def pool(self, texts: list[str]) -> torch.Tensor:
        """Return the mean over tokens of every layer's states, `[sentences, neurons]`."""
        inputs = self.tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
        mask = inputs["attention_mask"][..., None].float()
        states = self.model(**inputs, output_hidden_states=True).hidden_states[1:]
        return torch.cat([(state * mask).sum(1) / mask.sum(1) for state in states], 1)

    def begin(self, pooled: torch.Tensor, k: int) -> State:
        """Return the state that the script would have after some sentences."""
        k = min(k, len(pooled))
        return {pole: pooled.topk(k, dim=0, largest=largest) for pole, largest in POLES.items()}  # type: ignore[misc]

    def step(self, state: State, pooled: torch.Tensor, first: int, k: int) -> State:
        """Return the best of the previous best and of a batch whose ids start at `first`."""
        ids = torch.arange(first, first + len(pooled))[:, None].expand_as(pooled)
        found: State = {}
        for pole, largest in POLES.items():
            values, own = torch.cat([state[pole][0], pooled]), torch.cat([state[pole][1], ids])
            best = values.topk(min(k, len(values)), dim=0, largest=largest)
            found[pole] = best.values, own.gather(0, best.indices)
        return found


def agrees(state: State, out: Path, k: int) -> bool:
    """Return whether the table has the same winners as the script, except for ties at the last rank within rounding."""
    table = ds.dataset(out / "topk").to_table(columns=["pole", "activation", "sent_id"])
    pole = table["pole"].to_numpy()
    for name, largest in POLES.items():
        values, ids = (part.T.numpy() for part in state[name])
        here = pole == name
        activation = table["activation"].to_numpy()[here].reshape(values.shape)
        sent_id = table["sent_id"].to_numpy()[here].reshape(values.shape)
        if np.abs(values - activation).max() > WITHIN:
            return False
        last = values.min(1) if largest else values.max(1)
        for neuron in range(len(values)):
            own = dict(zip(ids[neuron].tolist(), values[neuron].tolist(), strict=True))
            other = dict(zip(sent_id[neuron].tolist(), activation[neuron].tolist(), strict=True))
            if any(abs((own | other)[i] - last[neuron]) > WITHIN for i in own.keys() ^ other.keys()):
                return False
    return True


if __name__ == "__main__":
    sys.exit(main())
