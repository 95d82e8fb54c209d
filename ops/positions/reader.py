"""A model's states in every layer under each variant of its positions, and the losses of a decoder's predictions."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import nn

from ops.model.load import ModelFacts
from ops.model.sites import SiteReader
from ops.positions.masks import linear, use_masked_attention
from ops.positions.position_table import DECODERS, find_table
from ops.positions.variants import VARIANTS, Texts, Variant
from ops.shards import Ids

_LOGITS_AT_ONCE = 256  # number of tokens, whose logits over a vocabulary of 50,000 take 50 MB


@dataclass(frozen=True)
class Batch:
    """Some texts on the model's device.

    Attributes:
        sent_ids, ids: the ids of the texts, `[texts]` int64, and of their tokens, `[texts, longest]` int64.
        real: which positions are tokens and not padding, `[texts, longest]` bool.
    """

    sent_ids: Ids
    ids: torch.Tensor
    real: torch.Tensor

    @cached_property
    def owner(self) -> torch.Tensor:
        """The row of each token's text, `[tokens]` int64, with tokens in the order of the texts."""
        return self.real.nonzero()[:, 0]


@dataclass(frozen=True)
class States:
    """The results of a model for a batch under one variant.

    Attributes:
        layers: the states of each layer, from the first to the last, `[tokens, width]` float32.
        loss: -log of the probability of each predicted token, `[predicted]` float32; None for an encoder.
        joined: the norm of each token's sum of embeddings, and the ratio and share of its position embedding in this
            sum (`INPUT_VALUES`), `[tokens, 3]` float32; None unless requested.
        measured: which texts have a position for every token, `[texts]` bool.
    """

    layers: list[torch.Tensor]
    loss: torch.Tensor | None
    joined: torch.Tensor | None
    measured: torch.Tensor


INPUT_VALUES = ("input_norm", "ratio", "share")


@dataclass
class _Placed:
    """The position embeddings of a batch under a variant, `added` `[texts or 1, longest, width]`; more in `States`."""

    measured: torch.Tensor
    joined: torch.Tensor | None = None
    added: torch.Tensor | None = None


class VariantReader:
    """A model that reads batches under any variant.

    Args:
        model, facts: a model that is already loaded, and its facts; a decoder must have its prediction head.
        shift, seed: the options of the variants `shifted` and `shuffled`.

    Raises:
        InputError: the model has no table of position embeddings.
    """

    def __init__(self, model: Any, facts: ModelFacts, shift: int, seed: int) -> None:
        self.decoder = facts.model_type in DECODERS
        self.model: nn.Module = model.base_model if self.decoder else model
        self.head: Any = model.lm_head if self.decoder else None
        self.heads = int(model.config.num_attention_heads)
        self.dtype: torch.dtype = next(model.parameters()).dtype
        self.positions = find_table(self.model, facts)
        self.sites = SiteReader(self.model, facts.layers, "hidden")
        self.shift, self.seed = shift, seed
        if self.decoder:
            use_masked_attention(model)

    @torch.inference_mode()
    def read(self, batch: Batch, variant: str, joined: bool = False) -> States:
        """Return the results of the model for a batch under a variant, with `joined` if it is requested."""
        own = VARIANTS[variant]
        inputs: dict[str, Any] = {"input_ids": batch.ids, "attention_mask": batch.real.long()}
        tokens, device = batch.ids.shape[1], batch.ids.device
        if own.bias is not None:
            # Texts are padded on the right, and no token attends to later positions, so one mask fits all texts.
            inputs["attention_mask"] = own.bias(tokens, self.heads, self.dtype).to(device)
        if own.factor:
            inputs["factor"] = linear(tokens).to(self.dtype).to(device)
        whole = bool(batch.real.all())

        def take(states: torch.Tensor) -> torch.Tensor:
            return (states.flatten(0, 1) if whole else states[batch.real]).float()

        with self._placed(batch, own, joined) as placed:
            layers = self.sites.read(inputs, [take] * self.sites.layers)
        loss = self._loss(layers[-1], batch) if self.head is not None else None
        return States(layers, loss, placed.joined, placed.measured)

    @contextmanager
    def _placed(self, batch: Batch, variant: Variant, joined: bool) -> Iterator["_Placed"]:
        """Replace the model's position embeddings by those of a variant while a batch is read."""
        placed = _Placed(torch.ones(len(batch.ids), dtype=torch.bool, device=batch.ids.device))

        def embed(module: Any, args: Any, output: torch.Tensor) -> torch.Tensor:
            placed.added = output if variant.embeds else torch.zeros_like(output)
            if variant.positions is not None:
                places, last = args[0].expand(len(batch.ids), -1), module.num_embeddings - 1
                moved = variant.positions(Texts(places, batch.real, batch.sent_ids, self.shift, self.seed))
                placed.measured = ~((moved > last) & batch.real).any(1)
                placed.added = nn.functional.embedding(moved.clamp(max=last), module.weight)
            return placed.added

        def measure(module: Any, args: Any) -> None:
            assert placed.added is not None
            added, total = (values[batch.real].float() for values in (placed.added.expand_as(args[0]), args[0]))
            norm = torch.linalg.vector_norm(total, dim=1).clamp_min(1e-12)
            ratio = torch.linalg.vector_norm(added, dim=1) / norm
            placed.joined = torch.stack([norm, ratio, (added * total).sum(1) / norm**2], 1)

        handles = [self.positions.table.register_forward_hook(embed)]
        if joined:
            handles.append(self.positions.joined.register_forward_pre_hook(measure))
        try:
            yield placed
        finally:
            for handle in handles:
                handle.remove()

    def _loss(self, states: torch.Tensor, batch: Batch) -> torch.Tensor:
        ids = batch.ids[batch.real]
        before = predicted_tokens(batch.owner) - 1
        losses = [states.new_zeros(0)]
        for some in before.split(_LOGITS_AT_ONCE):
            logits = self.head(states[some].to(self.dtype)).float()
            losses.append(nn.functional.cross_entropy(logits, ids[some + 1], reduction="none"))
        return torch.cat(losses)


def predicted_tokens(owner: torch.Tensor) -> torch.Tensor:
    """Return the indices of all tokens except the first token of each text, `[predicted]` int64."""
    return (owner[1:] == owner[:-1]).nonzero()[:, 0] + 1
