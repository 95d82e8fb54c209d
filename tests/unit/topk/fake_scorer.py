"""A scorer whose activations are known beforehand, and batches of sentences for it."""

from collections.abc import Iterator
from typing import cast

import numpy as np
import torch

from ops.model.activations import Scorer
from ops.model.tokenizer import Tokens


class FakeScorer:
    """Return given activations; a sentence's one token is its id."""

    device = torch.device("cpu")

    def __init__(self, values: np.ndarray, widths: tuple[int, ...], sparse: bool) -> None:
        self.values, self.widths, self.sparse = torch.from_numpy(values), widths, sparse
        self.layers = tuple(range(1, len(widths) + 1))
        self.tokens_active = torch.zeros(sum(widths), dtype=torch.int64)

    def reset(self) -> None:
        """Forget what was counted."""

    def score(self, batch: list[Tokens]) -> list[torch.Tensor]:
        return list(self.values[[t.ids[0] for t in batch]].split(self.widths, 1))


def fake_scorer(values: np.ndarray, widths: tuple[int, ...], sparse: bool = False) -> Scorer:
    """Return a scorer that gives these activations, `[sentences, units of all layers]`."""
    return cast(Scorer, FakeScorer(values, widths, sparse))


def batches(first: int, stop: int) -> Iterator[tuple[np.ndarray, list[Tokens]]]:
    """Yield the sentences of a shard in a random order, seven at a time."""
    ids = np.random.default_rng(first).permutation(np.arange(first, stop))
    for start in range(0, len(ids), 7):
        own = ids[start : start + 7]
        yield own, [Tokens([int(i)], [0], False) for i in own]
