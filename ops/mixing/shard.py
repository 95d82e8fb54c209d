"""The mixing measurement of one shard: each batch is reduced to moments by token class and by length."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ops.arrays import Float32s, Int64s
from ops.mixing.decomposition import LAYER_STAGES, MixingReader, Parts, quantities
from ops.mixing.token_classes import CLASSES, TokenClasses
from ops.model.batches import pad
from ops.model.load import ModelFacts, load_model
from ops.model.numerics import set_numerics
from ops.model.tokenizer import Tokens
from ops.reducers.grouped_moments import GroupedMoments
from ops.storage.side_by_side import side_by_side

CLASS, LENGTH = "class", "length"  # the kinds of groups of tokens
Batches = Iterator[tuple[Int64s, Sequence[Tokens]]]


@dataclass
class MixingResult:
    """One shard's result.

    Attributes:
        moments: the moments of `[layers * quantities]` values by kind of group, for each kind that has tokens. A group
            consists of the tokens of a class, as its index in `CLASSES`, or of the tokens of sequences of one length.
        scored: number of sequences that were measured.
        unscored: the id of the first sentence of each sequence with a value that is not finite.
        truncated: number of sequences that were truncated at the model's limit of positions.
        truncated_tokens: number of tokens that were cut off there.
        tokens, masked: number of measured tokens, and of mask tokens among them.
        kept: if requested, the token ids and the ratios, `[tokens, layers, stages]` float32, of each sequence, by the
            id of its first sentence.
    """

    moments: dict[str, GroupedMoments] = field(default_factory=dict)
    scored: int = 0
    unscored: list[int] = field(default_factory=list)
    truncated: int = 0
    truncated_tokens: int = 0
    tokens: int = 0
    masked: int = 0
    kept: dict[int, tuple[list[int], Float32s]] = field(default_factory=dict)


class MixingScorer:
    """A model ready to measure batches of sequences.

    Creating a scorer sets how torch computes in this process (`ops.model.numerics`).

    Attributes:
        reduces_beside: whether a batch's values are reduced while the next batch is computed. This is the case on a
            GPU, whose worker has a core that would otherwise wait.

    Raises:
        InputError: the model cannot be loaded, or its architecture is not known.
    """

    def __init__(self, facts: ModelFacts, device: str, dtype: str, threads: int | None, pad_id: int) -> None:
        set_numerics(device, threads)
        self.device, self.pad_id = torch.device(device), pad_id
        self.reader = MixingReader(load_model(facts, device, dtype), facts.model_type, facts.layers)
        self.names = quantities(self.reader.points[0].norm is not None)
        self.reduces_beside = self.device.type == "cuda"

    @torch.inference_mode()
    def measure(self, batch: Sequence[Tokens]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return all values of a batch's real tokens, and the row of the batch that contains each token.

        Returns:
            The values, `[tokens, layers, quantities]` float32 in the order of the sequences, and the rows, `[tokens]`
            int64; both on the CPU.
        """
        ids, real, _ = pad(batch, self.pad_id, self.device)
        layers = self.reader.read({"input_ids": ids, "attention_mask": real.long()}, Parts.measure)
        return torch.stack(layers, 2)[real].cpu(), real.nonzero()[:, 0].cpu()


def measure_shard(scorer: MixingScorer, classes: TokenClasses, batches: Batches, keep: bool) -> MixingResult:
    """Measure a shard's sequences; with `keep`, the ratios of every token are in the result.

    `batches` are the ids of the sequences' first sentences, and the sequences' tokens, already masked.
    """

    def measure(numbered: tuple[Int64s, Sequence[Tokens]]) -> tuple[Any, ...]:
        return *numbered, scorer.measure(numbered[1])

    result = MixingResult()
    stages = sum(name in LAYER_STAGES for name in scorer.names)
    measured = side_by_side(measure, batches, at_once=1) if scorer.reduces_beside else map(measure, batches)
    for first, batch, (values, rows) in measured:
        finite = torch.isfinite(values).all(2).all(1)
        whole = torch.ones(len(batch), dtype=torch.bool).index_put((rows[~finite],), torch.tensor(False))
        result.scored += int(whole.sum())
        result.unscored += first[~whole.numpy()].tolist()
        good = whole[rows]
        values, owner = values[good], rows[good].numpy()
        ids = np.concatenate([np.array(t.ids, np.int64) for t in batch])[good.numpy()]
        added = np.concatenate([np.array(t.added, bool) for t in batch])[good.numpy()]
        lengths = np.array([len(t.ids) for t in batch])
        result.truncated += sum(t.cut > 0 for t in batch)
        result.truncated_tokens += sum(t.cut for t in batch)
        result.tokens += len(ids)
        class_of = classes(ids, added)
        if len(ids):
            for kind, groups in ((CLASS, class_of), (LENGTH, lengths[owner])):
                moments = GroupedMoments.of(groups.astype(np.int64), values.flatten(1))
                result.moments[kind] = result.moments[kind].merge(moments) if kind in result.moments else moments
        result.masked += int((class_of == CLASSES.index("mask")).sum())
        if keep:
            ratios = values[..., :stages].numpy()
            for row in np.flatnonzero(whole.numpy()).tolist():
                result.kept[int(first[row])] = (batch[row].ids, ratios[owner == row])
    return result
