"""Trains a small TopK dictionary on a layer's residual stream, to try `--dictionary` without a download.

    ATLAS_TEST_DATA=data python -m bench.train_dictionary --out runs/sae --layer 4
    atlas run --out runs/features --preset small --corpus 'data/corpora/*.parquet' --dictionary 4=runs/sae

The program reads a seeded sample of the sentences of `bench/texts.py`, of which a fiftieth is held out. It runs the
model once, stores the states of all tokens including special tokens, and fits a TopK autoencoder to them with Adam. As
in Gao 2024, encoder and decoder are tied at the start, the decoder's rows have length 1, and a second loss makes
features that have long been inactive explain the residual. The dictionary is saved in SAELens's format. The same seed,
texts and number of threads give the same dictionary on the same hardware. The result contains the
explained variance on the held-out sentences.

Controls show what a score owes to the training (Korznikov 2026, Heap 2025). `--freeze decoder` and `--freeze encoder`
keep that part as it was drawn, its bias included, and train the other part with the same losses and steps. Next to a
frozen encoder, which cannot scale its activations, the decoder's rows may have any length. `--model random:sample`
reads a model with random weights.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from bench.dictionary import save
from bench.harness import Result, run
from bench.texts import BUDGET, draw
from ops.dictionaries.read import describe_all
from ops.dictionaries.reconstruction import Explained
from ops.dictionaries.scorer import DictionaryScorer
from ops.model.activations import ScoreOptions
from ops.model.batches import length_batches
from ops.model.load import ModelFacts, read_facts
from ops.model.tokenizer import Tokenizer, Tokens

BATCH, RATE, WARM_UP = 2_048, 1e-3, 100
Part = Literal["none", "decoder", "encoder"]
FROZEN: dict[Part, tuple[str, ...]] = {"none": (), "decoder": ("W_dec", "b_dec"), "encoder": ("W_enc", "b_enc")}
DEAD_AFTER, DEAD_K, DEAD_WEIGHT = 100, 256, 1 / 32  # steps without activation; the second loss's features and weight


def measure(
    out: str, model: str = "sample", layer: int = 4, features: int = 4_096, k: int = 32, sentences: int = 40_000,
    epochs: int = 4, threads: int = 2, seed: int = 0, freeze: Part = "none", model_seed: int | None = None,
) -> Result:  # fmt: skip
    """Train the dictionary.

    Args:
        out: folder of the dictionary.
        model: the model that is read; random:NAME has random weights.
        layer: the layer whose residual stream is read.
        features: features of the dictionary.
        k: features that are active at a token.
        sentences: sentences that are read.
        epochs: how often each token is seen.
        threads: threads of torch.
        seed: the seed of sentences, weights and order.
        freeze: the part that is not trained.
        model_seed: the seed of the weights of a model random:NAME.
    """
    torch.manual_seed(seed)
    torch.set_num_threads(threads)
    facts, texts, started = read_facts(model, model_seed), draw(sentences, seed), time.monotonic()
    held = max(len(texts) // 50, 1)
    states = read_states(facts, layer, texts[held:], threads)
    read_s = time.monotonic() - started
    weights, dead = fit(states, features, k, epochs, seed, freeze)
    save(Path(out), weights, k, facts, layer)
    return {
        "model": facts.name,
        "freeze": freeze,
        "layer": layer,
        "features": features,
        "k": k,
        "tokens": len(states),
        "dead_features": dead,
        "explained_variance_of_held_out_sentences": round(explained(facts, layer, out, texts[:held]), 4),
        "seconds_of_reading": round(read_s),
        "seconds": round(time.monotonic() - started),
        "seed": seed,
    }


def read_states(facts: ModelFacts, layer: int, texts: list[str], threads: int) -> torch.Tensor:
    """Return the residual stream after a layer at each token of the texts, `[tokens, width]` float32."""
    axes = describe_all([f"{layer}=rotated:0"], facts)  # only because it reads the right place
    tokenizer = Tokenizer(facts)
    scorer = DictionaryScorer(facts, ScoreOptions(threads=threads), tokenizer.pad_id, axes)
    found = []
    for batch in equal_lengths_together(tokenizer, texts):
        real = torch.arange(max(len(t.ids) for t in batch)) < torch.tensor([len(t.ids) for t in batch])[:, None]
        found += scorer.read_tokens(batch, [lambda states, real=real: states[real].clone()])  # type: ignore[misc]
    return torch.cat(found)


def fit(
    states: torch.Tensor, features: int, k: int, epochs: int, seed: int, freeze: Part = "none"
) -> tuple[dict[str, torch.Tensor], int]:
    """Return the weights under SAELens's names, and the number of features that are never active in the last steps."""
    generator = torch.Generator().manual_seed(seed)
    width, mean = states.shape[1], states.mean(0)
    scale = float((states - mean).norm(dim=1).mean()) / width**0.5
    held = _tied(width, features, generator)
    for name in FROZEN[freeze]:
        held[name].requires_grad_(False)
    trained = [value for value in held.values() if value.requires_grad]
    # The decoder's bias is subtracted from the encoder's input, but must not move it if the encoder is frozen.
    shift = held["b_dec"].detach().clone() if freeze == "encoder" else held["b_dec"]
    optimizer = torch.optim.Adam(trained, lr=RATE, betas=(0.9, 0.999))
    steps = epochs * (len(states) // BATCH)
    silent = torch.zeros(features, dtype=torch.int64)
    started = time.monotonic()
    order = torch.randperm(len(states), generator=generator)
    for step in range(steps):
        at = step % (len(states) // BATCH)
        if at == 0:
            order = torch.randperm(len(states), generator=generator)
        x = (states[order[at * BATCH : (at + 1) * BATCH]] - mean) / scale
        products = (x - shift) @ held["W_enc"] + held["b_enc"]
        values, places = products.topk(k, dim=1)
        left = x - (_decoded(values.relu(), places, held["W_dec"]) + held["b_dec"])
        loss = left.square().sum(1).mean()
        silent += 1
        silent[places[values > 0]] = 0
        dead = silent > DEAD_AFTER
        if int(dead.sum()) >= DEAD_K:
            more, which = products.masked_fill(~dead, -torch.inf).topk(DEAD_K, dim=1)
            second = left.detach() - _decoded(more.relu(), which, held["W_dec"])
            loss = loss + DEAD_WEIGHT * second.square().sum(1).mean()
        for group in optimizer.param_groups:
            group["lr"] = RATE * min((step + 1) / WARM_UP, 1.0, (steps - step) / (0.2 * steps))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        if freeze == "none":
            with torch.no_grad():
                held["W_dec"].div_(held["W_dec"].norm(dim=1, keepdim=True))
        if step % 50 == 49:
            took = time.monotonic() - started
            share = 1 - float(left.detach().square().sum() / (x - x.mean(0)).square().sum())
            said = f"explained {share:.3f}, {int(dead.sum()):,} features without activation"
            print(f"step {step + 1} of {steps}: {said}, {took:.0f} s", file=sys.stderr)
    return _in_units_of_states(held, shift, mean, scale), int((silent > DEAD_AFTER).sum())


def _tied(width: int, features: int, generator: torch.Generator) -> dict[str, torch.nn.Parameter]:
    """Return the weights at the start: random rows of length 1 for the decoder, the same for the encoder, no biases."""
    decoder = torch.randn(features, width, generator=generator)
    decoder /= decoder.norm(dim=1, keepdim=True)
    held = {"W_enc": decoder.T.clone(), "W_dec": decoder, "b_enc": torch.zeros(features), "b_dec": torch.zeros(width)}
    return {name: torch.nn.Parameter(value.contiguous()) for name, value in held.items()}


@torch.no_grad()
def _in_units_of_states(
    held: dict[str, torch.nn.Parameter], shift: torch.Tensor, mean: torch.Tensor, scale: float
) -> dict[str, torch.Tensor]:
    """Return the weights for the model's original states, so that activations are in the units of the states.

    Args:
        held: the weights for states from which `mean` was subtracted, and which were then divided by `scale`.
        shift: what the encoder's input was reduced by in training, `[width]`. A saved encoder's is reduced by `b_dec`.
        mean: the mean of the states, `[width]`.
        scale: the number by which the states were divided.
    """
    made = {name: value.detach().clone() for name, value in held.items()}
    made["b_enc"] = (made["b_enc"] + (made["b_dec"] - shift) @ made["W_enc"]) * scale
    made["b_dec"] = made["b_dec"] * scale + mean
    return made


def _decoded(values: torch.Tensor, places: torch.Tensor, decoder: torch.Tensor) -> torch.Tensor:
    """Return the sum of each token's active features, weighted by their activations, `[tokens, width]`."""
    return torch.zeros(len(values), len(decoder)).scatter(1, places, values) @ decoder


def explained(facts: ModelFacts, layer: int, dictionary: str, texts: list[str]) -> float:
    """Return the share of the variance of these texts' states that a saved dictionary explains."""
    tokenizer, dictionaries = Tokenizer(facts), describe_all([f"{layer}={dictionary}"], facts)
    scorer = DictionaryScorer(facts, ScoreOptions(), tokenizer.pad_id, dictionaries)
    sums = [Explained(facts.width)]
    for batch in equal_lengths_together(tokenizer, texts):
        scorer.explained(batch, sums)
    return sums[0].share() or 0.0


def equal_lengths_together(tokenizer: Tokenizer, texts: list[str]) -> Iterator[list[Tokens]]:
    """Yield the texts' tokens in batches of similar lengths."""
    tokens = tokenizer.encode(texts)
    for rows in length_batches(np.array([len(t.ids) for t in tokens]), BUDGET):
        yield [tokens[row] for row in rows]


if __name__ == "__main__":
    sys.exit(run("train_dictionary", sys.argv[1:]))
