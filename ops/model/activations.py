"""One forward pass: sentences in, the pooled activation of every neuron out."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from ops.model.batches import pad
from ops.model.load import ModelFacts, load_model
from ops.model.numerics import set_numerics
from ops.model.pooling import Pooler
from ops.model.sites import SiteReader, Take
from ops.model.tokenizer import Tokens


class ScoreOptions(NamedTuple):
    """What an activation is: the site, the pooling, whether added tokens count, and the arithmetic."""

    site: str = "hidden"
    pool: str = "mean"
    special_tokens: str = "include"
    device: str = "cpu"
    dtype: str = "float32"
    threads: int = 1


class Scorer:
    """A model ready to score batches.

    Sets how torch computes in this process (`ops.model.numerics`).

    Raises:
        InputError: the model cannot be loaded or does not have the site.
    """

    def __init__(self, facts: ModelFacts, options: ScoreOptions, pad_id: int = 0) -> None:
        set_numerics(options.device, options.threads)
        self.options = options
        self.name = facts.name
        self.pad_id = pad_id
        self.device = torch.device(options.device)
        self.reader = SiteReader(load_model(facts, options.device, options.dtype), facts.layers, options.site)

    def score(self, batch: list[Tokens]) -> list[torch.Tensor]:
        """Return each layer's pooled activations `[sentences, units]` float32, on the model's device."""
        return self._read(*pad(batch, self.pad_id, self.device))

    @torch.inference_mode()
    def _read(self, ids: torch.Tensor, real: torch.Tensor, added: torch.Tensor) -> list[torch.Tensor]:
        counted = real & ~added if self.options.special_tokens == "exclude" else real
        pooler = Pooler(self.options.pool, counted)
        return self.reader.read({"input_ids": ids, "attention_mask": real.long()}, pooler)

    @torch.inference_mode()
    def read_tokens(self, batch: list[Tokens], takes: Sequence[Take]) -> list[torch.Tensor]:
        """Return `takes[i](states)` for each layer i, the states of its tokens being `[sentences, tokens, units]`."""
        ids, real, _ = pad(batch, self.pad_id, self.device)
        return self.reader.read_each({"input_ids": ids, "attention_mask": real.long()}, takes)

    def widths(self) -> tuple[int, ...]:
        """Return the number of units of each layer at this site, by scoring one token."""
        return tuple(layer.shape[1] for layer in self.score([Tokens([0], [0], False)]))
