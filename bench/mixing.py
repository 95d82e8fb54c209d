"""Measures the cost of mixing relative to the forward pass alone and to the published method, in one line of JSON.

    python -m bench mixing

The same batches of 128-token sequences go in turn through the plain model with SDPA, through `ops.mixing.shard` (from
tokens to merged moments), and through the direct implementation. The latter builds an array of heads x tokens x tokens
x width. Times are processor time (user and system, one thread), so that other load on the machine matters little.
Sequences come from the Parquet files of the folder corpora/ below ATLAS_TEST_DATA if that is set, otherwise from
docstrings. The exit status is 1 if a value differs or a target is missed.
"""

import argparse
import json
import statistics
import sys

import numpy as np
import torch

from bench.direct_mixing import DirectMixing
from bench.passes import add_options, interleaved, padded, ratio, read_plainly
from bench.texts import draw
from ops.mixing.shard import MixingScorer, measure_shard
from ops.mixing.token_classes import TokenClasses
from ops.model.load import load_model, read_facts
from ops.model.tokenizer import Tokenizer, Tokens

LENGTH = 128
FORWARD_TARGET, DIRECT_TARGET, TOLERANCE = 1.5, 30, 1e-4


def main() -> int:
    """Run the benchmark and print its line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "one that jobs.mixing takes")
    parser.add_argument("--batch", type=int, default=8, help="sequences of a batch (the direct way takes 0.3 GB each)")
    parser.add_argument("--batches", type=int, default=2)
    options = parser.parse_args()
    facts = read_facts(options.model)
    tokenizer = Tokenizer(facts)
    batches = sequences(tokenizer, options.batches, options.batch, options.seed)
    scorer = MixingScorer(facts, "cpu", "float32", 1, tokenizer.pad_id)
    plain = load_model(facts, "cpu", "float32")
    reference = DirectMixing(load_model(facts, "cpu", "float32"), facts.model_type, facts.layers)
    classes = TokenClasses(tokenizer)
    inputs = padded(batches, tokenizer.pad_id)

    def forward() -> None:
        read_plainly(plain, inputs)

    def ours() -> None:
        numbered = ((np.arange(len(batch)), batch) for batch in batches)
        measure_shard(scorer, classes, numbered, keep=False)

    def direct() -> None:
        for batch in inputs:
            reference.read(batch)

    seconds = interleaved({"forward": forward, "ours": ours, "direct": direct}, options.repeats)
    difference = 0.0
    for tokens, given in zip(batches, inputs, strict=True):
        expected = torch.stack(reference.read(given), 2).flatten(0, 1)
        difference = max(difference, float((scorer.measure(tokens)[0] - expected).abs().max()))
    median = {name: statistics.median(times) for name, times in seconds.items()}
    over_forward, over_ours = ratio(seconds["ours"], seconds["forward"]), ratio(seconds["direct"], seconds["ours"])
    result = {
        "model": options.model,
        "sequences": options.batches * options.batch,
        "tokens_each": LENGTH,
        "forward_sdpa_cpu_s": round(median["forward"], 3),
        "ours_cpu_s": round(median["ours"], 3),
        "direct_cpu_s": round(median["direct"], 3),
        "ours_over_forward": round(over_forward, 3),
        "direct_over_ours": round(over_ours, 1),
        "largest_difference": difference,
        "values_agree": difference < TOLERANCE,
        "targets_met": over_forward <= FORWARD_TARGET and over_ours >= DIRECT_TARGET,
    }
    print(json.dumps({"bench": "mixing", **result}))
    return 0 if result["values_agree"] and result["targets_met"] else 1


def sequences(tokenizer: Tokenizer, batches: int, size: int, seed: int) -> list[list[Tokens]]:
    """Return batches of sequences of 128 tokens each, cut from concatenated real sentences."""
    whole = [i for t in tokenizer.encode(draw(batches * size * LENGTH // 4, seed)) for i in t.ids[1:-1]]
    inner = LENGTH - 2
    first, last = tokenizer.encode(["a"])[0].ids[:: len(tokenizer.encode(["a"])[0].ids) - 1]
    rows = [
        Tokens([first, *whole[i * inner : (i + 1) * inner], last], [1, *[0] * inner, 1], False)
        for i in range(batches * size)
    ]
    if len(rows[-1].ids) != LENGTH:
        raise ValueError(f"bench mixing: {len(whole)} tokens are too few for {len(rows)} sequences of {LENGTH}")
    return [rows[i * size : (i + 1) * size] for i in range(batches)]


if __name__ == "__main__":
    sys.exit(main())
