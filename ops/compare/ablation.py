"""What neurons do to others: each is set to its mean at every token, and the sentences are read again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import nn

from ops.arrays import Float64s, Int64s
from ops.errors import InputError
from ops.finetune.classifier import load_head
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import length_batches
from ops.model.check_states import lengths_of_batches
from ops.model.load import ModelFacts
from ops.model.numerics import set_numerics
from ops.model.tokenizer import Tokenizer
from ops.sampling import RANDOM_NEURONS
from ops.schema import schema
from ops.topk.neurons import Neurons

TABLE = "compare/ablation"


@dataclass(frozen=True)
class Effect:
    """What setting a neuron to its mean does.

    Attributes:
        moved: mean over sentences and the neurons of later layers of how far one moves, in its own standard deviations;
            NaN in the last layer.
        most: the neuron that moves most.
        most_moved: how far, on average over sentences, in its standard deviations.
        output: how far the classifier's probabilities move, mean total variation (0 to 1); NaN without a classifier.
    """

    moved: float
    most: int
    most_moved: float
    output: float


class Ablator:
    """Sets one neuron after another to its mean at every token, and measures what the others do.

    Args:
        facts, options: the model, and how its activations are taken; the site is `hidden`.
        neurons: all of them.
        mean, std: of each over the corpus, `[neurons]`.
        texts, n_tokens: the sentences and their tokens.
        token_budget: of a batch.

    Raises:
        InputError: the model's layers do not stand in one list, or sentences' batches cannot be padded.
    """

    def __init__(
        self,
        facts: ModelFacts,
        options: ScoreOptions,
        neurons: Neurons,
        mean: Float64s,
        std: Float64s,
        texts: list[str],
        n_tokens: Int64s,
        token_budget: int,
    ) -> None:
        set_numerics(options.device, options.threads)
        tokenizer = Tokenizer(facts)
        self.scorer = Scorer(facts, options, tokenizer.pad_id)
        self.neurons, self.mean, self.std, self.head = neurons, mean, std, load_head(facts)
        self.model, self.layers = self.scorer.reader.model, self.scorer.reader.layer_modules
        if self.layers is None:
            raise InputError(f"--ablate: where the layers of a {facts.model_type} lie is not known; leave it out")
        lengths = lengths_of_batches(self.scorer, tokenizer)
        self.batches = [
            tokenizer.encode([texts[row] for row in rows]) for rows in length_batches(n_tokens, token_budget, lengths)
        ]
        if self.head is not None:
            self.head[0].to(options.device)
        self.base = [self._read(i) for i in range(len(self.batches))]

    def effect(self, neuron: int) -> Effect:
        """Return what setting a neuron, by number, to its mean does."""
        layers, units = self.neurons.layer_and_unit(np.array([neuron]))
        layer, unit = int(layers[0]), int(units[0])
        first = sum(self.neurons.widths[:layer])
        total, output, count = np.zeros(len(self.neurons) - first), 0.0, 0
        last = layer == len(self.neurons.widths)
        module = self.model if last else (self.layers or [])[layer - 1]
        handle = module.register_forward_hook(_setting(unit, float(self.mean[neuron])))
        try:
            for place, (before, chances) in enumerate(self.base):
                after, changed = self._read(place)
                total += np.abs(after[:, first:] - before[:, first:]).sum(0)
                count += len(before)
                if chances is not None and changed is not None:
                    output += float(np.abs(changed - chances).sum()) / 2
        finally:
            handle.remove()
        scale = self.std[first:]
        moved = np.divide(total / count, scale, out=np.zeros(len(total)), where=scale > 0)
        most = int(moved.argmax()) if len(moved) else -1
        return Effect(
            float(moved[scale > 0].mean()) if (scale > 0).any() else np.nan,
            first + most if len(moved) else -1,
            float(moved[most]) if len(moved) else np.nan,
            output / count if self.head is not None else np.nan,
        )

    @torch.inference_mode()
    def _read(self, place: int) -> tuple[Float64s, Float64s | None]:
        """Return all activations of a batch, `[sentences, neurons]`, and the classifier's probabilities."""
        found = self.scorer.score(self.batches[place], None if self.head is None else self.head[2])
        layers = len(self.neurons.widths)
        values = np.concatenate([layer.cpu().numpy() for layer in found[:layers]], 1).astype(np.float64)
        if self.head is None:
            return values, None
        return values, self.head[0](found[layers]).double().softmax(1).cpu().numpy()


def _setting(unit: int, value: float) -> Any:
    """Return a hook that sets one unit of what a layer, or a model, returns."""

    def hook(module: nn.Module, args: Any, output: Any) -> Any:
        states = output if isinstance(output, torch.Tensor) else output[0]
        # In place: whatever the module returns holds this tensor.
        states[..., unit] = value
        return None

    return hook


def choose_neurons(
    properties: Mapping[str, Float64s], neurons: Neurons, strongest: int, most: int, with_last: bool
) -> dict[str, list[int]]:
    """Return the strongest neurons of every property, the strongest first, together at most `most` distinct ones.

    First the strongest of every property are taken in the order of their names, then the next, until there are `most`.

    Args:
        properties: values by name, `[neurons]`.
        neurons: all of them.
        strongest: neurons of a property.
        most: distinct neurons in all.
        with_last: take those of the last layer too, which no other neuron follows.
    """
    stop = len(neurons) if with_last else len(neurons) - neurons.widths[-1]
    order = {name: np.argsort(-values[:stop], kind="stable") for name, values in sorted(properties.items())}
    found: dict[str, list[int]] = {name: [] for name in order}
    distinct: set[int] = set()
    for place in range(min(strongest, stop)):
        for name, own in order.items():
            neuron = int(own[place])
            if neuron in distinct or len(distinct) < most:
                distinct.add(neuron)
                found[name].append(neuron)
    return {name: own for name, own in found.items() if own}


def random_neurons(neurons: Neurons, layers: Sequence[int], each: int, seed: int) -> dict[int, list[int]]:
    """Return for each of these layers (from 1) some of its neurons by number, drawn at random, ascending."""
    found = {}
    for layer in sorted(set(layers)):
        first, width = sum(neurons.widths[: layer - 1]), neurons.widths[layer - 1]
        rng = np.random.default_rng([seed, RANDOM_NEURONS, layer])
        found[layer] = sorted((first + rng.choice(width, min(each, width), replace=False)).tolist())
    return found


def ablation_table(
    chosen: Mapping[str, Sequence[int]],
    drawn: Mapping[int, Sequence[int]],
    effects: Mapping[int, Effect],
    neurons: Neurons,
    sentences: int,
) -> pa.Table:
    """Return `compare/ablation`.

    Args:
        chosen: as `choose_neurons` returns it.
        drawn: as `random_neurons` returns it, the null.
        effects: of every neuron that is chosen or drawn.
        neurons: all of them.
        sentences: that were read.
    """
    rows = []
    for name in sorted(chosen):
        for rank, neuron in enumerate(chosen[name], 1):
            own = effects[neuron]
            (layer,), (unit,) = neurons.layer_and_unit(np.array([neuron]))
            (layer_b,), (unit_b,) = neurons.layer_and_unit(np.array([max(own.most, 0)]))
            row: dict[str, Any] = {"property": name, "rank": rank, "layer": int(layer), "unit": int(unit)}
            row |= {"n": sentences, "moved": _number(own.moved)}
            others = [effects[i] for i in drawn[int(layer)] if i != neuron]
            row |= null_of(own.moved, [e.moved for e in others], "random")
            follows = own.most >= 0
            row |= {"layer_b": int(layer_b) if follows else None, "unit_b": int(unit_b) if follows else None}
            row |= {"moved_b": _number(own.most_moved), "output": _number(own.output)}
            row |= {"output_random": null_of(own.output, [e.output for e in others], "random")["random"]}
            rows.append(row)
    return pa.Table.from_pylist(rows, schema(TABLE))


def null_of(own: float, others: Sequence[float], name: str) -> dict[str, float | None]:
    """Return the mean and highest of random neurons' effects, and the share of all, the own one counted, as large."""
    if not (np.isfinite(own) and others):
        return {name: None, f"{name}_high": None, "p_value": None}
    values = np.array(others)
    share = (1 + (values >= own).sum()) / (1 + len(values))
    return {name: float(values.mean()), f"{name}_high": float(values.max()), "p_value": float(share)}


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
