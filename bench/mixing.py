"""Measures the cost of mixing relative to the forward pass alone.

    python -m bench mixing

The same batches of 128-token sequences of real text go in turn through the plain model with SDPA, and through
`ops.mixing.shard` (from tokens to merged moments). Times are processor time (user and system, one thread), so that
other load on the machine matters little. The exit status is 1 if the target is missed.
"""

import numpy as np

from bench.harness import Result
from bench.resources import interleaved, median_processor, processor_ratio
from bench.texts import draw, padded, read_plainly
from ops.mixing.shard import MixingScorer, measure_shard
from ops.mixing.token_classes import TokenClasses
from ops.model.load import load_model, read_facts
from ops.model.tokenizer import Tokenizer, Tokens

LENGTH = 128
TARGET = 1.5


def measure(model: str = "sample", repeats: int = 5, batch: int = 8, batches: int = 2, seed: int = 0) -> Result:
    """Time both ways.

    Args:
        model: one that jobs.mixing takes.
        repeats: times that each way is measured, one after the other.
        batch: sequences of a batch.
        batches: number of batches.
        seed: the seed of the draw of sentences.
    """
    facts = read_facts(model)
    tokenizer = Tokenizer(facts)
    rows = sequences(tokenizer, batches, batch, seed)
    scorer, classes = MixingScorer(facts, "cpu", "float32", 1, tokenizer.pad_id), TokenClasses(tokenizer)
    plain, inputs = load_model(facts, "cpu", "float32"), padded(rows, tokenizer.pad_id)

    def ours() -> None:
        measure_shard(scorer, classes, ((np.arange(len(own)), own) for own in rows), keep=False)

    seconds = interleaved({"forward": lambda: read_plainly(plain, inputs), "ours": ours}, repeats)
    over_forward = processor_ratio(seconds["ours"], seconds["forward"])
    return {
        "model": model,
        "sequences": batches * batch,
        "tokens_each": LENGTH,
        "forward_sdpa_cpu_s": median_processor(seconds["forward"]),
        "ours_cpu_s": median_processor(seconds["ours"]),
        "ours_over_forward": round(over_forward, 3),
        "targets_met": over_forward <= TARGET,
    }


def sequences(tokenizer: Tokenizer, batches: int, size: int, seed: int) -> list[list[Tokens]]:
    """Return batches of sequences of 128 tokens each, cut from concatenated real sentences."""
    whole = [i for t in tokenizer.encode(draw(batches * size * LENGTH // 4, seed)) for i in t.ids[1:-1]]
    inner = LENGTH - 2
    first, *_, last = tokenizer.encode(["a"])[0].ids
    rows = [
        Tokens([first, *whole[i * inner : (i + 1) * inner], last], [1, *[0] * inner, 1], False)
        for i in range(batches * size)
    ]
    if len(rows[-1].ids) != LENGTH:
        raise ValueError(f"bench mixing: {len(whole)} tokens are too few for {len(rows)} sequences of {LENGTH}")
    return [rows[i * size : (i + 1) * size] for i in range(batches)]
