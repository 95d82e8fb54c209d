"""Measures the cost of dictionary features relative to the forward pass, and the memory over successive shards.

    python -m bench dictionary
    python -m bench dictionary --features 1000000 --model tiny

A TopK dictionary with random weights reads the last layer. Three things are timed in turn: the model's forward pass,
the encoder's own matrix product, and the complete step with winners and histograms. `ratio` is the time of the complete
step beyond the forward pass, divided by the time of the product. Every active token is counted. `tiny` is a random BERT
of two layers of 64 units with the packaged model's tokenizer.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from bench.texts import draw
from ops.dictionaries.encoder import PANEL
from ops.dictionaries.read import describe_all
from ops.dictionaries.scorer import DictionaryScorer
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import encode_batches
from ops.model.load import ModelFacts, read_facts
from ops.model.random_model import save_random
from ops.model.token_block import TokenBlock
from ops.model.tokenizer import Tokenizer
from ops.reducers.histogram import edges_of_sparse
from ops.shards import Ids
from ops.topk.score_shard import ShardScorer

FEATURES, ACTIVE, SENTENCES, SHARDS, K = 16_384, 32, 800, 4, 100
Batches = list[tuple[Ids, TokenBlock]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench dictionary", description=str(__doc__).splitlines()[0])
    parser.add_argument("--features", type=int, default=FEATURES)
    parser.add_argument("--model", default="sample", help="a model, or tiny")
    parser.add_argument("--sentences", type=int, default=SENTENCES, help="of all shards together")
    parser.add_argument("--shards", type=int, default=SHARDS)
    parser.add_argument("--token-budget", type=int, default=2_048)
    parser.add_argument("--k", type=int, default=K)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        facts = read_facts(options.model if options.model != "tiny" else str(tiny(Path(folder) / "model")))
        write(Path(folder) / "dictionary", facts, options.features, options.seed)
        result = measure(facts, Path(folder) / "dictionary", options)
    print(json.dumps({"bench": "dictionary", "features": options.features, "model": options.model, **result}))
    return 0 if result["counts_add_up"] else 1


def tiny(folder: Path) -> Path:
    """Save a random BERT of two layers of 64 units."""
    from transformers import BertConfig

    folder.mkdir()
    sizes: dict[str, Any] = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    return save_random(folder, BertConfig(vocab_size=30_522, intermediate_size=128, **sizes), 0)


def write(folder: Path, facts: ModelFacts, features: int, seed: int) -> None:
    """Write a TopK dictionary of random weights."""
    folder.mkdir()
    generator = torch.Generator().manual_seed(seed)
    decoder = torch.randn(features, facts.width, generator=generator)
    decoder /= decoder.norm(dim=1, keepdim=True)
    weights = {
        "W_enc": decoder.T.contiguous(), "W_dec": decoder, "b_enc": torch.zeros(features),
        "b_dec": torch.zeros(facts.width),
    }  # fmt: skip
    save_file(weights, folder / "sae_weights.safetensors")
    cfg = {
        "architecture": "topk", "d_in": facts.width, "d_sae": features, "k": ACTIVE,
        "metadata": {"hook_name": f"blocks.{facts.layers - 1}.hook_resid_post", "sae_lens_version": "6.0.0"},
    }  # fmt: skip
    (folder / "cfg.json").write_text(json.dumps(cfg))


def measure(facts: ModelFacts, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return the seconds per sentence of each part, and the memory after each shard."""
    tokenizer = Tokenizer(facts)
    texts = draw(options.sentences, options.seed)
    per_shard = len(texts) // options.shards
    shards = [
        batches_of(tokenizer, texts[i * per_shard : (i + 1) * per_shard], i * per_shard, options.token_budget)
        for i in range(options.shards)
    ]
    dictionaries = describe_all([f"{facts.layers}={folder}"], facts)
    plain, scorer = Scorer(facts, ScoreOptions()), DictionaryScorer(facts, ScoreOptions(pool="max"), 0, dictionaries)
    highest = torch.cat([scorer.score(tokens)[0] for _, tokens in shards[0][:1]]).amax(0)
    made = ShardScorer(scorer, options.k, ("top",), edges_of_sparse(highest))
    del highest
    encoder = torch.randn(facts.width, min(options.features, PANEL))

    def forward(batches: Batches) -> None:
        for _, tokens in batches:
            plain.score(tokens)

    def product(batches: Batches) -> None:
        for _, tokens in batches:
            states = torch.zeros(int(TokenBlock.of(tokens).offsets[-1]), facts.width)
            for _ in range(-(-options.features // PANEL)):
                states @ encoder

    seconds = {"forward": 0.0, "product": 0.0, "whole": 0.0}
    memory, tokens_active, tokens_read, scored = [], 0, 0, 0
    for i, batches in enumerate(shards):
        seconds["forward"] += timed(forward, batches)
        seconds["product"] += timed(product, batches)
        started = time.perf_counter()
        result = made.run((i * per_shard, (i + 1) * per_shard), iter(batches), np.array([i * per_shard], np.int64))
        seconds["whole"] += time.perf_counter() - started
        scored, tokens_read = scored + result.scored, tokens_read + result.tokens
        tokens_active += int(scorer.tokens_active.sum())
        memory.append(resident())
    each = {name: round(1e3 * value / scored, 3) for name, value in seconds.items()}
    extra = seconds["whole"] - seconds["forward"]
    return {
        "sentences": scored,
        "milliseconds_a_sentence": each,
        "ratio": round(extra / seconds["product"], 2),
        "resident_gb_after_each_shard": memory,
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
        "winners_gb": round(sum(w.keys.nbytes for w in made.winners.values()) / 1e9, 2),
        # A token may have fewer active features, if one of its largest products is not above 0.
        "counts_add_up": scored == per_shard * options.shards and 0 < tokens_active <= ACTIVE * tokens_read,
    }


def batches_of(tokenizer: Tokenizer, texts: list[str], first: int, budget: int) -> Batches:
    """Return the batches of a shard whose sentence ids start at `first`."""
    lengths = np.array([len(tokens.ids) for tokens in tokenizer.encode(texts)], np.int64)
    ids = np.arange(first, first + len(texts), dtype=np.int64)
    return list(encode_batches(ids, texts, lengths, tokenizer, budget))


def timed(work: Callable[[Batches], None], batches: Batches) -> float:
    """Return the seconds that some work on a shard's batches takes."""
    started = time.perf_counter()
    with torch.inference_mode():
        work(batches)
    return time.perf_counter() - started


def resident() -> float:
    """Return this process's current resident memory in gigabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * resource.getpagesize() / 1e9, 2)


if __name__ == "__main__":
    sys.exit(main())
