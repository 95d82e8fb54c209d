"""Measures the cost of psi for every token in every head relative to the forward pass.

    python -m bench psi

Batches of real sentences (sorted by length, 2,048 tokens) run through the packaged model without and with psi in turn,
on one thread. On a busy machine, trust the ratio of CPU seconds. The exit status is 1 if a count or a value differs, or
if either ratio misses the target.
"""

import statistics

import torch

from bench.harness import Result
from bench.resources import interleaved, processor_ratio
from bench.texts import padded, read_plainly, tokenized
from ops.model.attention_modules import PROJECTIONS, head_projections, word_embeddings
from ops.model.load import load_model, read_facts
from ops.psi.psi import VALUES, ContextualPsi
from ops.reducers.grouped_moments import GroupedSums

TARGET, TOLERANCE = 1.25, 1e-4


@torch.inference_mode()
def measure(sentences: int = 1_000, repeats: int = 5, seed: int = 0) -> Result:
    """Time both ways.

    Args:
        sentences: number of sentences.
        repeats: times that each way is measured, one after the other.
        seed: the seed of the draw of sentences.
    """
    torch.set_num_threads(1)
    facts = read_facts("sample")
    tokenizer, batches = tokenized(facts, sentences, seed)
    model = load_model(facts, "cpu", "float32")
    layers = head_projections(model, facts)
    reader = ContextualPsi(model, layers)
    sums = GroupedSums(len(word_embeddings(model, facts)), len(layers) * len(VALUES) * reader.heads)
    inputs = padded((tokens for _, tokens in batches), tokenizer.pad_id)

    def with_psi() -> None:
        for batch in inputs:
            real = batch["attention_mask"].bool()
            values = reader.read(batch, real)
            assert bool(torch.isfinite(values).all())
            sums.update(batch["input_ids"][real], values.flatten(1))

    seconds = interleaved({"plain": lambda: read_plainly(model, inputs), "psi": with_psi}, repeats)
    plain_s, psi_s = (statistics.median(one.clock for one in seconds[name]) for name in ("plain", "psi"))
    cpu_ratio = processor_ratio(seconds["psi"], seconds["plain"])
    tokens = sum(int(batch["attention_mask"].sum()) for batch in inputs)
    largest = max(difference(reader, batch) for batch in inputs)
    return {
        "sentences": sentences,
        "tokens": tokens,
        "plain_s": round(plain_s, 3),
        "with_psi_s": round(psi_s, 3),
        "ratio": round(psi_s / plain_s, 3),
        "cpu_ratio": round(cpu_ratio, 3),
        "largest_difference": largest,
        "counts_agree": int(sums.count.sum()) == tokens * (repeats + 1),
        "values_agree": largest < TOLERANCE,
        "targets_met": max(psi_s / plain_s, cpu_ratio) <= TARGET,
    }


def difference(reader: ContextualPsi, inputs: dict[str, torch.Tensor]) -> float:
    """Return the largest relative difference between psi and a float64 recomputation from the batch's hidden states."""
    real = inputs["attention_mask"].bool()
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
