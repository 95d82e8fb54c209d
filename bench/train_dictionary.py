"""Trains a small TopK dictionary on a layer's residual stream, to try `--dictionary` without a download.

    ATLAS_TEST_DATA=data python -m bench.train_dictionary --out runs/sae --layer 4
    atlas run --out runs/features --preset small --corpus 'data/corpora/*.parquet' --dictionary 4=runs/sae

The program reads a seeded sample of the sentences of `bench/texts.py`, of which a fiftieth is held out. It runs the
model once, stores the states of all tokens including special tokens, and fits a TopK autoencoder to them with Adam. As
in Gao 2024, encoder and decoder are tied at the start, the decoder's rows have length 1, and a second loss makes
features that have long been inactive explain the residual. The dictionary is saved in SAELens's format. The same seed,
texts and number of threads give the same dictionary on the same hardware. The program prints one line of JSON with the
explained variance on the held-out sentences.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from bench.texts import draw
from ops.dictionaries.read import describe_all
from ops.dictionaries.reconstruction import Explained
from ops.dictionaries.scorer import DictionaryScorer
from ops.model.activations import ScoreOptions
from ops.model.batches import length_batches
from ops.model.load import ModelFacts, read_facts
from ops.model.tokenizer import Tokenizer

FEATURES, K, SENTENCES = 4_096, 32, 40_000
BATCH, RATE, WARM_UP, EPOCHS = 2_048, 1e-3, 100, 4
DEAD_AFTER, DEAD_K, DEAD_WEIGHT = 100, 256, 1 / 32  # steps without activation; the second loss's features and weight
BUDGET = 2_048  # number of tokens in a batch of the model


def main() -> int:
    """Train the dictionary, and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder of the dictionary")
    parser.add_argument("--model", default="sample")
    parser.add_argument("--layer", type=int, default=4)
    parser.add_argument("--features", type=int, default=FEATURES)
    parser.add_argument("--k", type=int, default=K, help="features that are active at a token")
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="how often each token is seen")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    facts, texts, started = read_facts(options.model), draw(options.sentences, options.seed), time.monotonic()
    held = max(len(texts) // 50, 1)
    states = read_states(facts, options.layer, texts[held:], options.threads)
    read_s = time.monotonic() - started
    weights, dead = fit(states, options.features, options.k, options.epochs, options.seed)
    out = Path(options.out)
    save(out, weights, options.k, facts.name, options.layer)
    result = {
        "layer": options.layer,
        "features": options.features,
        "k": options.k,
        "tokens": len(states),
        "dead_features": dead,
        "explained_variance_of_held_out_sentences": round(explained(facts, options.layer, out, texts[:held]), 4),
        "seconds_of_reading": round(read_s),
        "seconds": round(time.monotonic() - started),
        "seed": options.seed,
    }
    print(json.dumps(result))
    return 0


def read_states(facts: ModelFacts, layer: int, texts: list[str], threads: int) -> torch.Tensor:
    """Return the residual stream after a layer at each token of the texts, `[tokens, width]` float32."""
    tokenizer = Tokenizer(facts)
    axes = describe_all([f"{layer}=rotated:0"], facts)  # only because it reads the right place
    scorer = DictionaryScorer(facts, ScoreOptions(threads=threads), tokenizer.pad_id, axes)
    tokens = tokenizer.encode(texts)
    found = []
    for rows in length_batches(np.array([len(t.ids) for t in tokens]), BUDGET):
        batch = [tokens[row] for row in rows]
        real = torch.arange(max(len(t.ids) for t in batch)) < torch.tensor([len(t.ids) for t in batch])[:, None]
        found += scorer.read_tokens(batch, [lambda states, real=real: states[real].clone()])  # type: ignore[misc]
    return torch.cat(found)


def fit(states: torch.Tensor, features: int, k: int, epochs: int, seed: int) -> tuple[dict[str, torch.Tensor], int]:
    """Return the weights under SAELens's names, and the number of features that are never active in the last steps."""
    generator = torch.Generator().manual_seed(seed)
    width, mean = states.shape[1], states.mean(0)
    scale = float((states - mean).norm(dim=1).mean()) / width**0.5
    decoder = torch.randn(features, width, generator=generator)
    decoder /= decoder.norm(dim=1, keepdim=True)
    held: dict[str, Any] = {
        "W_enc": decoder.T.clone(), "W_dec": decoder, "b_enc": torch.zeros(features), "b_dec": torch.zeros(width)
    }  # fmt: skip
    held = {name: torch.nn.Parameter(value.contiguous()) for name, value in held.items()}
    optimizer = torch.optim.Adam(held.values(), lr=RATE, betas=(0.9, 0.999))
    steps = epochs * (len(states) // BATCH)
    silent = torch.zeros(features, dtype=torch.int64)
    started = time.monotonic()
    order = torch.randperm(len(states), generator=generator)
    for step in range(steps):
        at = step % (len(states) // BATCH)
        if at == 0:
            order = torch.randperm(len(states), generator=generator)
        x = (states[order[at * BATCH : (at + 1) * BATCH]] - mean) / scale
        products = (x - held["b_dec"]) @ held["W_enc"] + held["b_enc"]
        values, places = products.topk(k, dim=1)
        left = x - _decoded(values.relu(), places, held)
        loss = left.square().sum(1).mean()
        silent += 1
        silent[places[values > 0]] = 0
        dead = silent > DEAD_AFTER
        if int(dead.sum()) >= DEAD_K:
            more, which = products.masked_fill(~dead, -torch.inf).topk(DEAD_K, dim=1)
            second = left.detach() - _decoded(more.relu(), which, held, with_bias=False)
            loss = loss + DEAD_WEIGHT * second.square().sum(1).mean()
        for group in optimizer.param_groups:
            group["lr"] = RATE * min((step + 1) / WARM_UP, 1.0, (steps - step) / (0.2 * steps))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(held.values(), 1.0)
        optimizer.step()
        with torch.no_grad():
            held["W_dec"] /= held["W_dec"].norm(dim=1, keepdim=True)
        if step % 50 == 49:
            took = time.monotonic() - started
            share = 1 - float(left.detach().square().sum() / (x - x.mean(0)).square().sum())
            said = f"explained {share:.3f}, {int(dead.sum()):,} features without activation"
            print(f"step {step + 1} of {steps}: {said}, {took:.0f} s", file=sys.stderr)
    with torch.no_grad():
        # The weights are rescaled to the model's original states, so activations are in the units of the states.
        made = {name: value.detach().clone() for name, value in held.items()}
        made["b_enc"], made["b_dec"] = made["b_enc"] * scale, made["b_dec"] * scale + mean
    return made, int((silent > DEAD_AFTER).sum())


def _decoded(
    values: torch.Tensor, places: torch.Tensor, held: dict[str, torch.Tensor], with_bias: bool = True
) -> torch.Tensor:
    """Return the sum of each token's active features, weighted by their activations, `[tokens, width]`."""
    whole = torch.zeros(len(values), len(held["W_dec"])).scatter(1, places, values)
    found = whole @ held["W_dec"]
    return found + held["b_dec"] if with_bias else found


def save(out: Path, weights: dict[str, torch.Tensor], k: int, model: str, layer: int) -> None:
    """Write a TopK dictionary as SAELens 6 does."""
    out.mkdir(parents=True, exist_ok=True)
    width, features = weights["W_enc"].shape
    cfg = {
        "architecture": "topk", "d_in": width, "d_sae": features, "k": k, "rescale_acts_by_decoder_norm": False,
        "dtype": "float32", "device": "cpu", "apply_b_dec_to_input": True, "normalize_activations": "none",
        "reshape_activations": "none",
        "metadata": {
            "model_name": model, "hook_name": f"blocks.{layer - 1}.hook_resid_post", "prepend_bos": False,
            "sae_lens_version": "6.0.0",
        },
    }  # fmt: skip
    (out / "cfg.json").write_text(json.dumps(cfg, indent=2) + "\n", encoding="utf-8")
    save_file({name: value.contiguous() for name, value in weights.items()}, out / "sae_weights.safetensors")


def explained(facts: ModelFacts, layer: int, out: Path, texts: list[str]) -> float:
    """Return the share of the variance of these texts' states that a saved dictionary explains."""
    tokenizer, dictionaries = Tokenizer(facts), describe_all([f"{layer}={out}"], facts)
    scorer = DictionaryScorer(facts, ScoreOptions(), tokenizer.pad_id, dictionaries)
    sums = [Explained(facts.width)]
    tokens = tokenizer.encode(texts)
    for rows in length_batches(np.array([len(t.ids) for t in tokens]), BUDGET):
        scorer.explained([tokens[row] for row in rows], sums)
    return sums[0].share() or 0.0


if __name__ == "__main__":
    sys.exit(main())
