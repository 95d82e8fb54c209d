"""One forward pass: sentences in, the pooled activation of every neuron out."""

from itertools import chain
from typing import NamedTuple

import numpy as np
import torch

from ops.model.load import ModelFacts, load_model
from ops.model.pooling import Pooler
from ops.model.sites import SiteReader
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

    Sets the number of torch's threads of this process and switches TF32 off, so that a batch gives the same bits
    wherever it runs on the same kind of hardware.

    Raises:
        InputError: the model cannot be loaded or does not have the site.
    """

    def __init__(self, facts: ModelFacts, options: ScoreOptions, pad_id: int = 0) -> None:
        if options.device == "cpu":
            torch.set_num_threads(options.threads)
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        self.options = options
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

    def widths(self) -> tuple[int, ...]:
        """Return the number of units of each layer at this site, by scoring one token."""
        return tuple(layer.shape[1] for layer in self.score([Tokens([0], [0], False)]))


def pad(batch: list[Tokens], pad_id: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return ids (int64), real tokens and added tokens (bool), each `[sentences, longest]`, padded on the right."""
    lengths = np.array([len(t.ids) for t in batch])
    real = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(real.shape, pad_id, np.int64)
    ids[real] = np.fromiter(chain.from_iterable(t.ids for t in batch), np.int64, lengths.sum())
    added = np.zeros(real.shape, bool)
    added[real] = np.fromiter(chain.from_iterable(t.added for t in batch), bool, lengths.sum())
    return torch.from_numpy(ids).to(device), torch.from_numpy(real).to(device), torch.from_numpy(added).to(device)
