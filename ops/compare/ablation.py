"""The effect of neurons on other neurons: each is set to its mean at every token, and the sentences are read again."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import nn

from ops import schema
from ops.arrays import Float64s
from ops.errors import InputError
from ops.finetune.classifier import load_head
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import length_batches
from ops.model.check_states import equal_lengths
from ops.model.load import ModelFacts
from ops.model.numerics import set_numerics
from ops.model.tokenizer import Tokenizer, Tokens
from ops.sampling import RANDOM_NEURONS
from ops.statistics.empirical_p import empirical_p
from ops.topk.neurons import Neurons

TABLE = "compare/ablation"
LIKE_SPREAD = 1.25  # maximum ratio of two standard deviations that count as similar


@dataclass(frozen=True)
class Effect:
    """The effect of setting a neuron to its mean.

    In a residual stream, the unit with the same index in a later layer keeps much of the neuron's own value. It is
    reported separately and is not among the other neurons. Distances are means over sentences, in units of the moved
    neuron's own standard deviation. For a neuron of the last layer they are NaN, and its neurons below are -1.

    Attributes:
        moved: how far the other neurons of later layers move, averaged over these neurons.
        own: of the neurons with the same unit index in a later layer of the same width, the one that moves most.
        most: the other neuron that moves most.
        output: the mean total variation distance of the classifier's probabilities; NaN without a classifier.
    """

    moved: float
    own: int
    own_moved: float
    most: int
    most_moved: float
    output: float


@dataclass(frozen=True)
class Chosen:
    """The neurons that are set to their mean, by index.

    Attributes:
        properties: for each property, the neurons with most of it (see `choose_neurons`).
        random: for each of these neurons, random neurons of similar spread (see `matched_neurons`), its control.
        std: the standard deviation of every neuron, `[neurons]`.
    """

    properties: dict[str, list[int]]
    random: dict[int, list[int]]
    std: Float64s

    @property
    def neurons(self) -> list[int]:
        """All of them, ascending."""
        return sorted(set(chain(self.random, *self.random.values())))


class Ablator:
    """Sets one neuron after another to its mean at every token, and measures how the others change.

    Args:
        options: how the model's activations are taken; the site is `hidden`.
        mean, std: the mean and the standard deviation of each neuron over the corpus, `[neurons]`. A neuron whose
            standard deviation is 0 or NaN is not among the others.

    Raises:
        InputError: the model's layers are not in one list, or batches of sentences cannot be padded.
    """

    def __init__(
        self, facts: ModelFacts, options: ScoreOptions, neurons: Neurons, mean: Float64s, std: Float64s,
        texts: list[str], token_budget: int,
    ) -> None:  # fmt: skip
        set_numerics(options.device, options.threads)
        tokenizer = Tokenizer(facts)
        self.scorer = Scorer(facts, options, tokenizer.pad_id)
        self.neurons, self.mean, self.std, self.head = neurons, mean, std, load_head(facts)
        self.model, self.layers = self.scorer.reader.model, self.scorer.reader.layer_modules
        if self.layers is None:
            raise InputError(
                f"--ablate: the layers of a {facts.model_type} model cannot be found; leave the option out"
            )
        tokens, are_equal = tokenizer.encode(texts), equal_lengths(self.scorer, tokenizer)
        sizes = np.array([len(sentence.ids) for sentence in tokens])
        self.batches = [[tokens[row] for row in rows] for rows in length_batches(sizes, token_budget, are_equal)]
        if self.head is not None:
            self.head[0].to(options.device)
        self.base = [self._read(batch) for batch in self.batches]

    def effect(self, neuron: int) -> Effect:
        """Return the effect of setting a neuron, given by number, to its mean."""
        layers, units = self.neurons.layer_and_unit(np.arange(len(self.neurons)))
        layer, unit = int(layers[neuron]), int(units[neuron])
        first = self.neurons.span(layer)[1]
        total, output, count = np.zeros(len(self.neurons) - first), 0.0, 0
        last = layer == len(self.neurons.widths)
        module = self.model if last else (self.layers or [])[layer - 1]
        handle = module.register_forward_hook(_setting(unit, float(self.mean[neuron])))
        try:
            for batch, (before, chances) in zip(self.batches, self.base, strict=True):
                after, changed = self._read(batch)
                total += np.abs(after[:, first:] - before[:, first:]).sum(0)
                count += len(before)
                if chances is not None and changed is not None:
                    output += float(np.abs(changed - chances).sum()) / 2
        finally:
            handle.remove()
        scale = self.std[first:]
        moved = np.divide(total / count, scale, out=np.full(len(total), np.nan), where=scale > 0)
        widths = np.array(self.neurons.widths)[layers - 1]
        same = (units[first:] == unit) & (widths[first:] == widths[neuron])
        others = moved[~same & (scale > 0)]
        same_unit, most = (_furthest(np.where(which, moved, np.nan), first) for which in (same, ~same))
        changed_output = output / count if self.head is not None else np.nan
        return Effect(float(others.mean()) if len(others) else np.nan, *same_unit, *most, changed_output)

    @torch.inference_mode()
    def _read(self, batch: list[Tokens]) -> tuple[Float64s, Float64s | None]:
        """Return all activations of a batch, `[sentences, neurons]`, and the classifier's probabilities."""
        states = self.scorer.score(batch, None if self.head is None else self.head[2])
        layers = len(self.neurons.widths)
        values = np.concatenate([layer.cpu().numpy() for layer in states[:layers]], 1).astype(np.float64)
        if self.head is None:
            return values, None
        return values, self.head[0](states[layers]).double().softmax(1).cpu().numpy()


def _furthest(moved: Float64s, first: int) -> tuple[int, float]:
    """Return the neuron of the largest value, and the value; -1 and NaN if all are NaN. `first` has the first value."""
    if np.isnan(moved).all():
        return -1, np.nan
    most = int(np.nanargmax(moved))
    return first + most, float(moved[most])


def _setting(unit: int, value: float) -> Any:
    """Return a hook that sets one unit of the output of a layer or a model."""

    def hook(module: nn.Module, args: Any, output: Any) -> None:
        states = output if isinstance(output, torch.Tensor) else output[0]
        # The tensor is changed in place, because it is part of whatever the module returns.
        states[..., unit] = value

    return hook


def choose_neurons(
    properties: Mapping[str, Float64s], neurons: Neurons, strongest: int, most: int, with_last: bool
) -> dict[str, list[int]]:
    """Return the neurons with the highest values of every property, highest first, at most `most` in total.

    Properties take turns in the order of their names: first each contributes its strongest neuron, then its next, until
    there are `most`.

    Args:
        properties: each neuron's value of each property, by name, `[neurons]`; neurons with NaN are not chosen.
        strongest: maximum number of neurons for each property.
        with_last: whether to include the last layer, which no other neuron follows.
    """
    stop = len(neurons) if with_last else len(neurons) - neurons.widths[-1]
    order = {
        name: np.argsort(-values[:stop], kind="stable")[: np.isfinite(values[:stop]).sum()]
        for name, values in sorted(properties.items())
    }
    chosen: dict[str, list[int]] = {}
    distinct: set[int] = set()
    for turn in range(min(strongest, stop)):
        for name, ranked in order.items():
            for neuron in ranked[turn : turn + 1].tolist():
                if neuron in distinct or len(distinct) < most:
                    distinct.add(neuron)
                    chosen.setdefault(name, []).append(neuron)
    return chosen


def matched_neurons(
    neurons: Neurons, std: Float64s, chosen: Iterable[int], each: int, seed: int
) -> dict[int, list[int]]:
    """Return, for each of these neurons, random other neurons of its layer with a similar standard deviation.

    If a neuron varies much, setting it to its mean moves other neurons for that reason alone. So the drawn neurons have
    a standard deviation within a ratio of LIKE_SPREAD, or the nearest ratios if there are too few of these. Each neuron
    takes the first suitable ones of its layer's random order. Neurons of similar spread share most of them.

    Args:
        std: the standard deviation of each neuron over the corpus, `[neurons]`; neurons with NaN are not drawn.
        each: number of neurons to draw for each chosen one; a narrow layer may have fewer.

    Returns:
        The numbers of the drawn neurons, ascending, by the number of the chosen neuron.
    """
    logs = np.log(np.maximum(std, np.finfo(np.float64).tiny))
    drawn = {}
    for neuron in sorted(set(chosen)):
        layer = int(neurons.layer_and_unit(np.array([neuron]))[0][0])
        first, stop = neurons.span(layer)
        order = np.random.default_rng([seed, RANDOM_NEURONS, layer]).permutation(stop - first)
        others = np.arange(first, stop)
        others = others[(others != neuron) & np.isfinite(std[others])]
        ratio = np.abs(logs[others] - logs[neuron])
        nearest = others[np.lexsort((order[others - first], ratio))]
        near = nearest[: max(each, int((ratio <= np.log(LIKE_SPREAD)).sum()))]
        drawn[neuron] = sorted(near[np.argsort(order[near - first], kind="stable")][:each].tolist())
    return drawn


def ablation_table(chosen: Chosen, effects: Mapping[int, Effect], neurons: Neurons, sentences: int) -> pa.Table:
    """Return `compare/ablation`, given the effect of every chosen or drawn neuron, and the number of sentences."""
    rows = []
    for name, strongest in sorted(chosen.properties.items()):
        for rank, neuron in enumerate(strongest, 1):
            effect, drawn = effects[neuron], chosen.random[neuron]
            null = [effects[number] for number in drawn]
            layer, unit = _layer_and_unit(neurons, neuron)
            layer_b, unit_b = _layer_and_unit(neurons, effect.most)
            row: dict[str, Any] = {
                "property": name, "rank": rank, "layer": layer, "unit": unit, "n": sentences,
                "std": float(chosen.std[neuron]), "n_random": len(drawn),
                "random_std": float(chosen.std[drawn].mean()) if drawn else None,
                "moved": effect.moved, **compared(effect.moved, [e.moved for e in null]),
                "own_layer": _layer_and_unit(neurons, effect.own)[0], "own_moved": effect.own_moved,
                "layer_b": layer_b, "unit_b": unit_b, "moved_b": effect.most_moved,
                "p_value_b": compared(effect.most_moved, [e.most_moved for e in null])["p_value"],
                "output": effect.output, "output_random": compared(effect.output, [e.output for e in null])["random"],
            }  # fmt: skip
            rows.append(row)
    return schema.table(TABLE, rows)


def _layer_and_unit(neurons: Neurons, neuron: int) -> tuple[int | None, int | None]:
    """Return a neuron's layer and unit; None for -1."""
    if neuron < 0:
        return None, None
    (layer,), (unit,) = neurons.layer_and_unit(np.array([neuron]))
    return int(layer), int(unit)


def compared(effect: float, null: Sequence[float]) -> dict[str, float | None]:
    """Return the mean and maximum of random neurons' effects, and the `empirical_p` of an effect among them."""
    if not (np.isfinite(effect) and null):
        return dict.fromkeys(("random", "random_high", "p_value"))
    p_value = float(empirical_p(effect, null))
    return {"random": float(np.mean(null)), "random_high": float(np.max(null)), "p_value": p_value}
