"""Measures the cost of dictionary features relative to the forward pass, and the memory over successive shards.

    python -m bench dictionary
    python -m bench dictionary --features 1000000 --model tiny

A TopK dictionary with random weights reads the last layer. Three things are timed in turn: the model's forward pass,
the encoder's own matrix product, and the complete step with winners and histograms. `ratio` is the time of the complete
step beyond the forward pass, divided by the time of the product. `feature_tokens_per_second` is the number of features
times the tokens that the complete step, forward pass included, reads per second. Every active token is counted. `tiny`
is a random BERT of two layers of 64 units with the packaged model's tokenizer.
"""

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import BertConfig

from bench.gpu import TINY
from bench.harness import Result, temporary_folder
from bench.resources import resident, timed
from bench.texts import Batches, batches_of, draw
from ops.dictionaries.encoder import PANEL
from ops.dictionaries.read import describe_all
from ops.dictionaries.scorer import DictionaryScorer
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import TokenBlock
from ops.model.load import ModelFacts, read_facts
from ops.model.random_weights import save_random
from ops.model.tokenizer import Tokenizer
from ops.reducers.histogram import edges_of_sparse
from ops.topk.score_shard import ShardScorer

ACTIVE = 32


def measure(
    features: int = 16_384, model: str = "sample", sentences: int = 800, shards: int = 4, k: int = 100,
    seed: int = 0,
) -> Result:  # fmt: skip
    """Time the three passes over each shard.

    Args:
        features: features of the dictionary.
        model: a model, or tiny.
        sentences: sentences of all shards together.
        shards: number of shards.
        k: winners of a feature.
        seed: the seed of sentences and weights.
    """
    with temporary_folder() as folder:
        facts = read_facts(model if model != "tiny" else str(save_random(folder, BertConfig(**TINY))))
        write(folder / "dictionary", facts, features, seed)
        dictionaries = describe_all([f"{facts.layers}={folder / 'dictionary'}"], facts)
        scorer, plain = (
            DictionaryScorer(facts, ScoreOptions(pool="max"), 0, dictionaries),
            Scorer(facts, ScoreOptions()),
        )
        tokenizer = Tokenizer(facts)
    texts = draw(sentences, seed)
    size = len(texts) // shards
    spans = [(first, first + size) for first in range(0, size * shards, size)]
    each = [batches_of(tokenizer, texts[first:stop], first) for first, stop in spans]
    highest = torch.cat([scorer.score(tokens)[0] for _, tokens in each[0][:1]]).amax(0)
    shard = ShardScorer(scorer, k, ("top",), edges_of_sparse(highest))
    encoder = torch.randn(facts.width, min(features, PANEL))
    seconds = {"forward": 0.0, "product": 0.0, "whole": 0.0}
    memory, tokens_active, tokens_read, scored = [], 0, 0, 0
    for span, batches in zip(spans, each, strict=True):
        seconds["forward"] += timed(forward, plain, batches)[0].clock
        seconds["product"] += timed(product, encoder, features, batches)[0].clock
        took, (_, result) = timed(shard.run, span, iter(batches), np.array(span[:1]))
        seconds["whole"] += took.clock
        scored, tokens_read = scored + result.scored, tokens_read + result.tokens
        tokens_active += int(scorer.tokens_active.sum())
        memory.append(gigabytes(resident()["VmRSS"]))
    return {
        "features": features,
        "model": model,
        "sentences": scored,
        "tokens": tokens_read,
        "feature_tokens_per_second": round(features * tokens_read / seconds["whole"]),
        "milliseconds_a_sentence": {name: round(1e3 * value / scored, 3) for name, value in seconds.items()},
        "ratio": round((seconds["whole"] - seconds["forward"]) / seconds["product"], 2),
        "resident_gb_after_each_shard": memory,
        "peak_gb": gigabytes(resident()["VmHWM"]),
        "winners_gb": gigabytes(sum(w.keys.nbytes for w in shard.winners.values())),
        # A token may have fewer active features, if one of its largest products is not above 0.
        "counts_add_up": scored == size * shards and 0 < tokens_active <= ACTIVE * tokens_read,
    }


@torch.inference_mode()
def forward(plain: Scorer, batches: Batches) -> None:
    """Score batches without the dictionary."""
    for _, tokens in batches:
        plain.score(tokens)


@torch.inference_mode()
def product(encoder: torch.Tensor, features: int, batches: Batches) -> None:
    """Multiply as many states as the batches have tokens by an encoder, panel after panel."""
    for _, tokens in batches:
        states = torch.zeros(int(TokenBlock.of(tokens).offsets[-1]), len(encoder))
        for _ in range(-(-features // PANEL)):
            states @ encoder


def gigabytes(size: int) -> float:
    """Return bytes as gigabytes, to two digits."""
    return round(size / 1e9, 2)


def write(folder: Path, facts: ModelFacts, features: int, seed: int) -> None:
    """Write a TopK dictionary of random weights."""
    generator = torch.Generator().manual_seed(seed)
    decoder = torch.randn(features, facts.width, generator=generator)
    decoder /= decoder.norm(dim=1, keepdim=True)
    biases = {"b_enc": torch.zeros(features), "b_dec": torch.zeros(facts.width)}
    save(folder, {"W_enc": decoder.T, "W_dec": decoder, **biases}, ACTIVE, facts, facts.layers)


def save(out: Path, weights: dict[str, torch.Tensor], k: int, facts: ModelFacts, layer: int) -> None:
    """Write a TopK dictionary of a layer's residual stream as SAELens 6 does."""
    model = {"model_name": facts.name} | ({} if facts.seed is None else {"model_seed": facts.seed})
    out.mkdir(parents=True, exist_ok=True)
    width, features = weights["W_enc"].shape
    cfg = {
        "architecture": "topk", "d_in": width, "d_sae": features, "k": k, "rescale_acts_by_decoder_norm": False,
        "dtype": "float32", "device": "cpu", "apply_b_dec_to_input": True, "normalize_activations": "none",
        "reshape_activations": "none",
        "metadata": {
            **model, "hook_name": f"blocks.{layer - 1}.hook_resid_post", "prepend_bos": False,
            "sae_lens_version": "6.0.0",
        },
    }  # fmt: skip
    (out / "cfg.json").write_text(json.dumps(cfg, indent=2) + "\n", encoding="utf-8")
    save_file({name: value.contiguous() for name, value in weights.items()}, out / "sae_weights.safetensors")
