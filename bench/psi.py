"""Measures the cost of psi for every token in every head relative to the forward pass, and prints one line of JSON.

    python -m bench psi

Sentences come from the Parquet files of the folder corpora/ below ATLAS_TEST_DATA if that is set, otherwise from
docstrings. Each batch (sorted by length, 2,048 tokens) runs through the packaged model without and with psi in turn, on
one thread. On a busy machine, trust the ratio of CPU seconds. The exit status is 1 if a count or a value differs, or if
either ratio misses the target.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from bench.texts import draw
from ops.model.batches import length_batches, pad
from ops.model.head_projections import PROJECTIONS, head_projections, word_embeddings
from ops.model.load import load_model, read_facts
from ops.model.tokenizer import Tokenizer
from ops.psi.contextual import ContextualPsi
from ops.psi.psi import VALUES
from ops.reducers.grouped_moments import GroupedSums

TARGET = 1.25
BUDGET = 2_048


def main() -> int:
    """Run the benchmark and print its line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=1_000, help="sentences")
    parser.add_argument("--repeats", type=int, default=5, help="times each batch is run both ways")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    result = measure(draw(options.sentences, options.seed), options.repeats)
    print(json.dumps({"bench": "psi", **result}))
    return 0 if result["counts_agree"] and result["values_agree"] and result["targets_met"] else 1


@torch.inference_mode()
def measure(texts: list[str], repeats: int) -> dict[str, object]:
    """Return every measurement: without and with psi, the sum over batches of the median over repeats."""
    torch.set_num_threads(1)
    facts = read_facts("sample")
    model, tokenizer = load_model(facts, "cpu", "float32"), Tokenizer(facts)
    layers = head_projections(model, facts)
    reader = ContextualPsi(model, layers)
    columns = len(layers) * len(VALUES) * reader.heads
    sums = GroupedSums(len(word_embeddings(model, facts)), columns)
    encoded = tokenizer.encode(texts)
    lengths = np.array([len(t.ids) for t in encoded])
    plain_s, psi_s, plain_cpu, psi_cpu, differences = 0.0, 0.0, 0.0, 0.0, []
    for rows in length_batches(lengths, BUDGET):
        ids, real, _ = pad([encoded[r] for r in rows], tokenizer.pad_id, torch.device("cpu"))
        inputs = {"input_ids": ids, "attention_mask": real.long()}

        def with_psi(
            inputs: dict[str, torch.Tensor] = inputs, ids: torch.Tensor = ids, real: torch.Tensor = real
        ) -> torch.Tensor:
            values = reader.read(inputs, real)
            assert bool(torch.isfinite(values).all())
            sums.update(ids[real], values.flatten(1))
            return values

        def plain(inputs: dict[str, torch.Tensor] = inputs) -> object:
            return model(**inputs)

        plain()
        seconds = [(*timed(plain), *timed(with_psi)) for _ in range(repeats)]
        medians = [statistics.median(s) for s in zip(*seconds, strict=True)]
        plain_s, plain_cpu = plain_s + medians[0], plain_cpu + medians[1]
        psi_s, psi_cpu = psi_s + medians[2], psi_cpu + medians[3]
        differences.append(difference(reader, inputs, real))
    ratio, cpu_ratio = psi_s / plain_s, psi_cpu / plain_cpu
    return {
        "sentences": len(texts),
        "tokens": int(lengths.sum()),
        "plain_s": round(plain_s, 3),
        "with_psi_s": round(psi_s, 3),
        "ratio": round(ratio, 3),
        "cpu_ratio": round(cpu_ratio, 3),
        "largest_difference": max(differences),
        "counts_agree": int(sums.count.sum()) == int(lengths.sum()) * repeats,
        "values_agree": max(differences) < 1e-4,
        "targets_met": max(ratio, cpu_ratio) <= TARGET,
    }


def difference(reader: ContextualPsi, inputs: dict[str, torch.Tensor], real: torch.Tensor) -> float:
    """Return the largest relative difference between psi and a float64 recomputation from the batch's hidden states."""
    found = reader.read(inputs, real)
    states = reader.model(**inputs, output_hidden_states=True).hidden_states
    worst = 0.0
    for i, layer in enumerate(reader.layers):
        x = states[i][real].double()
        weight = layer.weight.double()
        projected = (x @ weight.flatten(0, 2).T).view(-1, *weight.shape[:3])
        norm = x.norm(dim=1)[:, None, None] * (weight.shape[2] / weight.shape[3]) ** 0.5
        expected = projected.norm(dim=3) / norm
        worst = max(worst, float(((found[:, i, : len(PROJECTIONS)] - expected) / expected).abs().max()))
    return worst


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of one execution, in wall-clock time and in this process's CPU time."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - cpu


if __name__ == "__main__":
    sys.exit(main())
