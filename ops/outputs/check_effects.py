"""Checks the direct effects of units: a unit is increased by one standard deviation and the model runs again."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from ops.arrays import Float64s, Int64s
from ops.model.tokenizer import Tokens
from ops.outputs.token_head import LinearHead, TokenHead
from ops.outputs.written import Written, adding
from ops.sampling import CHECKED_UNITS

LOGITS_AT_ONCE = 1 << 25  # maximum number of logits of a batch


class Checker:
    """Increases the activation of one unit after another in the same sentences, and measures the changes of the logits.

    Args:
        tokens: the ids of the tokens whose logits are measured, ascending.

    Attributes:
        positions: number of tokens in the sentences over which a logit's change is averaged.
    """

    def __init__(self, head: TokenHead, batches: Sequence[Sequence[Tokens]], pad_id: int, tokens: torch.Tensor) -> None:
        self.head, self.batches, self.pad_id, self.tokens = head, batches, pad_id, tokens.to(head.device)
        self.before, self.positions = self._mean_logits()

    def change(self, written: Written, unit: int, amount: float) -> Float64s:
        """Return each token's mean logit change when a unit's activation increases at every position, `[tokens]`."""
        vector = (written.added(unit) * amount).to(self.head.device)
        with adding(written, vector):
            after, _ = self._mean_logits()
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


def agreement(change: Float64s, effect: Float64s) -> tuple[float, float]:
    """Return the agreement of a measured change of the logits with a direct effect, both `[tokens]`.

    These are Pearson's correlation over the tokens, and the slope of the regression of the measured change on the
    direct effect; both are NaN if either is constant.
    """
    a, b = change - change.mean(), effect - effect.mean()
    # Sums are exact, because the last digits of numpy's product of long vectors depend on the number of threads.
    squares, own, product = (math.fsum(values.tolist()) for values in (b * b, a * a, a * b))
    if not (squares > 0 and own > 0):
        return math.nan, math.nan
    return product / math.sqrt(squares * own), product / squares


def direct_effect(linear: LinearHead, written: Written, unit: int, amount: float) -> Float64s:
    """Return the change of the logits that the linearised head predicts if a unit increases by `amount`, `[tokens]`."""
    vector = written.directions(torch.tensor([unit])) * amount
    found: Float64s = linear.logits(vector)[0].double().cpu().numpy()
    return found


def drawn_units(allowed: dict[int, Int64s], count: int, seed: int) -> list[tuple[int, int, int | None]]:
    """Draw equally many units from each layer, and pair each of them with another randomly drawn unit of its layer.

    Args:
        allowed: for each layer, the units that may be drawn, ascending.
        count: total number of units; if it is not a multiple of the number of layers, the first layers get one more.

    Returns:
        Tuples `(layer, unit, other)`, sorted; `other` is None if the layer has no second unit that may be drawn.
    """
    layers = [layer for layer, units in sorted(allowed.items()) if len(units)]
    triples: list[tuple[int, int, int | None]] = []
    for index, layer in enumerate(layers):
        wanted = count // len(layers) + (index < count % len(layers))
        order = np.random.default_rng([seed, CHECKED_UNITS, layer]).permutation(allowed[layer]).tolist()
        chosen = order[:wanted]
        others: list[int | None] = [*chosen[1:], *chosen[:1]] if len(chosen) > 1 else [*order[1:2], None][: len(chosen)]
        triples += [(layer, unit, other) for unit, other in zip(chosen, others, strict=True)]
    return sorted(triples, key=lambda each: each[:2])
