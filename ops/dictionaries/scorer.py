"""One forward pass that returns the pooled activation of every feature of some dictionaries for each sentence."""

import os
from collections.abc import Sequence
from functools import partial
from itertools import accumulate

import torch

from ops.dictionaries.description import Description
from ops.dictionaries.encoder import PANEL, Encoder
from ops.dictionaries.read import load, same_points
from ops.dictionaries.reconstruction import Explained
from ops.model.activations import ScoreOptions, Scorer
from ops.model.attention import batch_without_padding
from ops.model.compiled_pooling import pool_block, pool_places
from ops.model.direction import is_decoder
from ops.model.load import ModelFacts
from ops.model.pooling import Pooler
from ops.model.sites import HookPointReader, Take
from ops.model.tokenizer import Tokens

# Number of features that are encoded at a time if memory allows. On a CPU, a batch then fits in the cache; on a GPU,
# the block is large enough to keep the GPU busy. A batch has at most 2^13 tokens on a CPU and 2^17 on a GPU.
_CPU_BLOCK, _GPU_BLOCK = 2 * PANEL, 16 * PANEL
_PART_OF_FREE = 8


class DictionaryScorer(Scorer):
    """A model with dictionaries that read its states, ready to score batches; the units are features.

    In a decoder, the first token of a sentence is skipped if added tokens are skipped, whether or not the tokenizer
    added it, because its state is disproportionately large.

    Attributes:
        tokens_active: number of tokens at which each feature is above 0 since the last `reset`, `[features]`.

    Args:
        facts, options, pad_id: as for `Scorer`; the site is ignored.
        dictionaries: sorted by layer, at least one.
        block: number of features that are encoded at a time; None to choose it by the free memory.

    Raises:
        InputError: the model or a dictionary cannot be loaded, or the model lacks a hook point that is read.
    """

    def __init__(
        self,
        facts: ModelFacts,
        options: ScoreOptions,
        pad_id: int,
        dictionaries: Sequence[Description],
        block: int | None = None,
    ) -> None:
        self.dictionaries = tuple(dictionaries)
        super().__init__(facts, options, pad_id)
        self.leaves_first = options.special_tokens == "exclude" and is_decoder(facts)
        block = block or block_by_memory(self.device)
        self.encoders = [Encoder(own, load(own), block, self.device) for own in self.dictionaries]
        self.sparse = self.dictionaries[0].sparse
        self.tokens_active = torch.zeros(0, dtype=torch.int64)
        self.reset()

    def _reader(self, model: torch.nn.Module, layers: int) -> HookPointReader:  # type: ignore[override]
        return HookPointReader(model, layers, [dictionary.point for dictionary in self.dictionaries])

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers whose features are scored."""
        return tuple(dictionary.layer for dictionary in self.dictionaries)

    def widths(self) -> tuple[int, ...]:
        """Return the number of features of each of these layers."""
        return tuple(dictionary.features for dictionary in self.dictionaries)

    def reset(self) -> None:
        """Restart the counts of active tokens."""
        self.tokens_active = torch.zeros(sum(self.widths()), dtype=torch.int64, device=self.device)

    def _takes(self, pooler: Pooler) -> list[Take]:
        starts = accumulate(self.widths(), initial=0)
        return [partial(self._pooled, own, pooler, first) for own, first in zip(self.encoders, starts, strict=False)]

    def _pooled(self, encoder: Encoder, pooler: Pooler, first: int, states: torch.Tensor) -> torch.Tensor:
        if self.sparse and pooler.pool == "max" and states.device.type == "cpu":
            return self._highest(encoder, pooler.counted, first, states)
        sentences, tokens, width = states.shape
        output = torch.empty(sentences, encoder.features, device=states.device)
        for start, values in encoder.blocks(states.reshape(-1, width)):
            activations = values.view(sentences, tokens, -1)
            pooled = pooler(activations)
            stop = start + values.shape[1]
            output[:, start:stop] = pooled
            if self.sparse:
                counted = pooler.counted & torch.isfinite(pooled).all(1)[:, None]
                active = (activations > 0) & counted[..., None]
                self.tokens_active[first + start : first + stop] += active.sum((0, 1))
        return output

    def _highest(self, encoder: Encoder, counted: torch.Tensor, first: int, states: torch.Tensor) -> torch.Tensor:
        """Return the same as `_pooled` for the highest activations of sparse features, computed on a CPU."""
        finite = (torch.isfinite(states).all(2) | ~counted).all(1) & counted.any(1)
        counted = counted & finite[:, None]
        sentence = torch.nonzero(counted)[:, 0].numpy()
        highest = torch.zeros(len(states), encoder.features)
        tokens, active = states[counted], self.tokens_active[first : first + encoder.features].numpy()
        if encoder.description.kind == "topk":
            values, places = encoder.largest(tokens)
            pool_places(values.numpy(), places.numpy(), sentence, highest.numpy(), active)
        else:
            for start, values in encoder.blocks(tokens):
                here = slice(start, start + values.shape[1])
                pool_block(values.numpy(), sentence, highest.numpy()[:, here], active[here])
        return highest.masked_fill_(~finite[:, None], torch.nan)

    def site_states(self, batch: Sequence[Tokens]) -> list[torch.Tensor]:
        """Return the pooled states at each dictionary's hook point, `[sentences, width]`."""
        return self.read_tokens(batch, [self.prepare(batch)[1]] * len(self.encoders))

    def overflowing(self, batch: Sequence[Tokens]) -> Description | None:
        """Return the first dictionary with activations that are not finite although the states it reads are."""
        for own, states, features in zip(self.dictionaries, self.site_states(batch), self.score(batch), strict=True):
            if bool((states.isfinite().all(1) & ~features.isfinite().all(1)).any()):
                return own
        return None

    @torch.inference_mode()
    def read_units(self, batch: Sequence[Tokens], wanted: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
        """Return some features' activations at each token, as `Scorer.read_units` does, one block at a time."""

        def take(encoder: Encoder, rows: torch.Tensor, units: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
            sentences, tokens, width = states.shape
            activations = torch.zeros(len(rows), tokens, device=states.device)
            for start, values in encoder.blocks(states.reshape(-1, width)):
                block = values.view(sentences, tokens, -1)
                here = torch.nonzero((units >= start) & (units < start + values.shape[1]))[:, 0].to(states.device)
                row, unit = rows.to(states.device)[here], units.to(states.device)[here] - start
                activations[here] = block[row, :, unit]
            return activations

        takes = [partial(take, encoder, *own) for encoder, own in zip(self.encoders, wanted, strict=True)]
        return torch.cat(self.read_tokens(batch, takes))

    @torch.inference_mode()
    def explained(self, batch: Sequence[Tokens], sums: Sequence[Explained | None]) -> None:
        """Add a batch's counted tokens to the sums that measure how well each dictionary reconstructs its target.

        They are None for a dictionary that has no decoder.
        """
        inputs, pooler, block = self.prepare(batch)
        points = same_points(self.dictionaries)
        reader = HookPointReader(self.reader.model, self.reader.layers, points)
        with batch_without_padding(block.of_one_length):
            each = reader.read(inputs, [lambda states: states[pooler.counted]] * len(points))
        by_point = dict(zip(points, each, strict=True))
        for encoder, total in zip(self.encoders, sums, strict=True):
            described = encoder.description
            if total is not None and described.target is not None:
                total.add(encoder.target(by_point[described.target]), encoder.reconstruct(by_point[described.point]))


def block_by_memory(device: torch.device) -> int:
    """Return how many features are encoded at a time, so that a batch's values take a small part of free memory."""
    block, tokens = (_CPU_BLOCK if device.type == "cpu" else _GPU_BLOCK), 1 << 13
    if device.type == "cuda":
        free, tokens = torch.cuda.mem_get_info(device)[0], 1 << 17
    else:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    while block > PANEL and 4 * block * tokens > free // _PART_OF_FREE:
        block //= 2
    return block
