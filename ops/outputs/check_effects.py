"""Whether the direct effect is what happens: a unit is raised by one standard deviation and the model runs again."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ops.arrays import Float64s, Int64s
from ops.model.tokenizer import Tokens
from ops.outputs.token_head import LinearHead, TokenHead
from ops.outputs.written import Written, adding
from ops.sampling import CHECKED_UNITS

_LOGITS_AT_ONCE = 1 << 25  # of a batch


class Checker:
    """Raises one unit after another in the same sentences.

    Args:
        head: the model.
        batches: the sentences.
        pad_id: the tokenizer's padding token.
        tokens: ids of the tokens that are looked at, ascending.

    Attributes:
        positions: tokens over which a logit's change is averaged.
    """

    def __init__(self, head: TokenHead, batches: Sequence[Sequence[Tokens]], pad_id: int, tokens: torch.Tensor) -> None:
        self.head, self.batches, self.pad_id, self.tokens = head, batches, pad_id, tokens.to(head.device)
        self.before, self.positions = self._mean_logits()

    def change(self, written: Written, unit: int, amount: float) -> Float64s:
        """Return the mean change of each token's logit when a unit's activation rises at every token, `[tokens]`."""
        vector = (written.added(unit) * amount).to(self.head.device)
        handle = adding(written, vector)
        try:
            after, _ = self._mean_logits()
        finally:
            handle.remove()
        return after - self.before

    @torch.inference_mode()
    def _mean_logits(self) -> tuple[Float64s, int]:
        total, positions = np.zeros(len(self.tokens)), 0
        for batch in self.batches:
            inputs, counted = self.head.inputs(batch, self.pad_id)
            logits = self.head.model(**inputs).logits.reshape(*counted.shape, -1)[counted]
            total += logits.sum(0, dtype=torch.float64)[self.tokens].cpu().numpy()
            positions += len(logits)
        return total / max(positions, 1), positions


@dataclass(frozen=True)
class Agreement:
    """How a measured change of the logits compares with a direct effect.

    Attributes:
        correlation: Pearson's, over the tokens; NaN where one of them is constant.
        slope: of the measured change by the direct effect; NaN where this is constant.
    """

    correlation: float
    slope: float


def agreement(change: Float64s, effect: Float64s) -> Agreement:
    """Return how a change of the logits compares with a direct effect, both `[tokens]`."""
    a, b = change - change.mean(), effect - effect.mean()
    # Summed exactly: the last digits of a product of long vectors depend on the threads of numpy's library.
    squares, own, product = (math.fsum(values.tolist()) for values in (b * b, a * a, a * b))
    if not (squares > 0 and own > 0):
        return Agreement(np.nan, np.nan)
    return Agreement(product / np.sqrt(squares * own), product / squares)


def direct_effect(linear: LinearHead, written: Written, unit: int, amount: float) -> Float64s:
    """Return the change of the logits that the linearised head gives for a unit, `[tokens]`."""
    vector = written.directions(torch.tensor([unit])) * amount
    found: Float64s = linear.logits(vector)[0].double().cpu().numpy()
    return found


def batch_budget(vocabulary: int, token_budget: int) -> int:
    """Return the tokens of a batch whose logits are all held."""
    return max(min(token_budget, _LOGITS_AT_ONCE // max(vocabulary, 1)), 1)


def drawn_units(allowed: dict[int, Int64s], count: int, seed: int) -> list[tuple[int, int, int | None]]:
    """Draw units in equal numbers from each layer, and for each another one of its layer that was drawn.

    Args:
        allowed: by layer the units that may be drawn, ascending.
        count: how many in all; the first layers have one more where they do not come out even.
        seed: the run's.

    Returns:
        `(layer, unit, other)`, sorted; `other` is None where a layer has no second unit.
    """
    layers = [layer for layer, units in sorted(allowed.items()) if len(units)]
    found: list[tuple[int, int, int | None]] = []
    for place, layer in enumerate(layers):
        wanted = count // len(layers) + (place < count % len(layers))
        order = np.random.default_rng([seed, CHECKED_UNITS, layer]).permutation(allowed[layer]).tolist()
        own = order[:wanted]
        others: list[int | None] = [*own[1:], *own[:1]] if len(own) > 1 else [*order[1:2], None][: len(own)]
        found += [(layer, unit, other) for unit, other in zip(own, others, strict=True)]
    return sorted(found, key=lambda each: each[:2])
