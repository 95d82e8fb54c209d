"""Measures the cost of `jobs.positions` relative to its forward passes alone.

    python -m bench positions

The same batches of real sentences, cut as in the job, go in turn through the plain model and through
`ops.positions.shard` (from tokens to sums). The plain model reads them once for each variant and once with its own
positions; a decoder also computes its loss, which perplexities need. Times are processor time (user and system, one
thread), so that other load on the machine matters little. The pilot, a fiftieth of a corpus, is added.
The exit status is 1 if a value differs or the target is missed.
"""

from typing import Any

import numpy as np
import torch

from bench.harness import Result
from bench.resources import interleaved, median_processor, processor_ratio
from bench.texts import BUDGET, Inputs, draw, padded, read_plainly
from ops.mixing.token_classes import TokenClasses
from ops.model.load import ModelFacts, load_model, read_facts
from ops.positions.encode import Encoder
from ops.positions.pilot import PILOT_SHARE, mean_states
from ops.positions.position_table import DECODERS, find_table
from ops.positions.reader import VariantReader
from ops.positions.shard import PositionsResult, PositionsScorer
from ops.positions.sums import CLASS
from ops.positions.variants import choose_variants

TARGET, TOLERANCE = 1.1, 1e-4


def measure(model: str = "sample", sentences: int = 400, repeats: int = 5, seed: int = 0) -> Result:
    """Time both ways.

    Args:
        model: one that jobs.positions takes.
        sentences: number of sentences.
        repeats: times that each way is measured, one after the other.
        seed: the seed of the draw of sentences.
    """
    facts = read_facts(model)
    decoder = facts.model_type in DECODERS
    variants, encoder = choose_variants((), decoder), Encoder(facts)
    pad_id = encoder.tokenizer.pad_id
    batches = list(encoder.batches(np.arange(sentences), draw(sentences, seed), BUDGET))
    reader = VariantReader(load_model(facts, "cpu", "float32", predicts=decoder), facts, 16, seed)
    torch.set_num_threads(1)
    pilot = mean_states(reader, variants, iter(batches[::4]), pad_id, "cpu")
    classes = TokenClasses(encoder.tokenizer)
    scorer = PositionsScorer(reader, classes, variants, pilot.means, pilot.panel, pad_id, encoder.limit, "cpu")
    plain: Any = load_model(facts, "cpu", "float32", predicts=decoder)
    inputs = padded((batch for _, batch in batches), pad_id)
    passes = [{**b, "labels": b["input_ids"].masked_fill(b["attention_mask"] == 0, -100)} for b in inputs]
    results: list[PositionsResult] = []
    ways = {
        "forward": lambda: read_plainly(plain, passes if decoder else inputs, 1 + len(variants)),
        "ours": lambda: results.append(scorer.measure_shard(iter(batches))),
    }
    seconds = interleaved(ways, repeats)
    over = processor_ratio(seconds["ours"], seconds["forward"]) + 1 / PILOT_SHARE
    found = results[-1].sums.result().moments[CLASS, "none"].joined()
    difference = abs(float(found.mean[0, -2]) - plain_cosine(plain.base_model, facts, inputs))
    return {
        "model": model,
        "sentences": sentences,
        "tokens": int(found.count[0]),
        "variants": list(variants),
        "forward_passes_cpu_s": median_processor(seconds["forward"]),
        "ours_cpu_s": median_processor(seconds["ours"]),
        "ours_and_pilot_over_forward": round(over, 3),
        "cosine": round(float(found.mean[0, -2]), 6),
        "difference_from_plain": difference,
        "values_agree": difference < TOLERANCE,
        "target_met": over <= TARGET,
    }


@torch.inference_mode()
def plain_cosine(model: torch.nn.Module, facts: ModelFacts, inputs: Inputs) -> float:
    """Return the mean cosine between the last states with and without position embeddings, by transformers alone."""
    with_positions = [model(**batch).last_hidden_state for batch in inputs]
    find_table(model, facts).table.weight.zero_()
    cosines = [
        torch.cosine_similarity(before, model(**batch).last_hidden_state, dim=-1)[batch["attention_mask"].bool()]
        for before, batch in zip(with_positions, inputs, strict=True)
    ]
    return float(torch.cat(cosines).double().mean())
