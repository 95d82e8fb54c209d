"""The measurement of one shard: the model reads each batch under `default` and every variant, and sums are kept."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from ops.arrays import Bools, Float32s, Int64s
from ops.mixing.token_classes import CLASSES, TokenClasses
from ops.model.batches import pad
from ops.model.tokenizer import Tokens
from ops.positions.compare import Vectors, cosines
from ops.positions.pairs import Panel, draw_partners, sum_of_pairs, text_sums
from ops.positions.reader import Batch, States, VariantReader, predicted_tokens
from ops.positions.sums import CLASS, INPUT, LOSS, PAIR, POSITION, TEXT, UNITS, WITHIN, Sums
from ops.positions.variants import DEFAULT
from ops.shards import Ids

Batches = Iterator[tuple[Ids, Sequence[Tokens]]]
_MOST_LOSS = 80.0  # nats: a perplexity of 5e34, which float32 can represent
Means = dict[str, Float32s]


@dataclass
class PositionsResult:
    """The result of one shard.

    Attributes:
        sums: the sums from which the tables are made.
        scored: number of texts that were measured.
        unscored: the ids of the texts with a value that is not finite.
        truncated: number of texts that were truncated.
        truncated_tokens: number of tokens that were cut off.
        tokens: number of tokens that were measured.
        beyond: for each variant, the ids of the texts that are left out because they need positions beyond the model's
            table (`shifted`).
        unpredicted: number of texts with one token, in which nothing is predicted (decoders).
        features: for each text of the label check, its token ids, and for each variant the mean of its last layer's
            states.
    """

    sums: Sums
    scored: int = 0
    unscored: list[int] = field(default_factory=list)
    truncated: int = 0
    truncated_tokens: int = 0
    tokens: int = 0
    beyond: dict[str, list[int]] = field(default_factory=dict)
    unpredicted: int = 0
    features: dict[int, tuple[list[int], dict[str, Float32s]]] = field(default_factory=dict)


class PositionsScorer:
    """Measures batches of texts.

    Args:
        reader: the model.
        classes: the token classes of the model's tokenizer.
        variants: the variants to measure in addition to `default`.
        means: for each variant and `default`, each layer's mean state, `[layers, width]`.
        panel: the tokens with which other tokens are paired, at least one.
        pad_id: the id of the padding token.
        limit: maximum number of tokens of a text.
        device: the model's device.
    """

    def __init__(
        self,
        reader: VariantReader,
        classes: TokenClasses,
        variants: tuple[str, ...],
        means: Means,
        panel: Panel,
        pad_id: int,
        limit: int,
        device: str,
    ) -> None:
        self.reader, self.classes, self.variants = reader, classes, variants
        self.pad_id, self.limit, self.device = pad_id, limit, torch.device(device)
        self.means = {name: torch.from_numpy(mean).to(self.device) for name, mean in means.items()}
        states = torch.from_numpy(panel.states).to(self.device)
        self.panel = [Vectors.of(s, m) for s, m in zip(states, self.means[DEFAULT], strict=True)]
        self.panel_texts = panel.sent_ids

    def measure_shard(self, batches: Batches, sampled: Iterable[int] = ()) -> PositionsResult:
        """Measure a shard's texts; `sampled` are the ids of the texts whose features the label check needs."""
        result = PositionsResult(Sums(self.device), beyond={name: [] for name in self.variants})
        wanted = set(sampled)
        for sent_ids, batch in batches:
            self.measure(sent_ids, batch, result, wanted)
        return result

    @torch.inference_mode()
    def measure(self, sent_ids: Ids, batch: Sequence[Tokens], result: PositionsResult, sampled: set[int]) -> None:
        """Measure a batch and add it to a result."""
        ids, real, added = pad(batch, self.pad_id, self.device)
        texts = Batch.of(sent_ids, ids, real)
        groups = _Groups(texts, torch.from_numpy(self.classes(*_ids_and_added(ids, real, added))))
        groups.pair(self.panel_texts, self.reader.seed)
        default = self.reader.read(texts, DEFAULT, joined=True)
        vectors = [Vectors.of(s, m) for s, m in zip(default.layers, self.means[DEFAULT], strict=True)]
        finite = torch.isfinite(torch.stack([v.norms for v in vectors])).all(0)
        found = {
            DEFAULT: _Found(default, None, self._pairs(vectors, groups), text_sums(vectors, groups.lengths), texts)
        }
        found[DEFAULT].pool_sampled(sent_ids, sampled)
        for name in self.variants:
            states = self.reader.read(texts, name)
            own = [Vectors.of(s, m) for s, m in zip(states.layers, self.means[name], strict=True)]
            same = _columns([cosines(v, d) for v, d in zip(own, vectors, strict=True)])
            finite &= torch.isfinite(same).all(1) | ~states.measured[texts.owner]
            found[name] = _Found(states, same, self._pairs(own, groups), text_sums(own, groups.lengths), texts)
            found[name].pool_sampled(sent_ids, sampled)
        whole = torch.ones(len(batch), dtype=torch.bool, device=self.device)
        whole[texts.owner[~finite]] = False
        for own_values in found.values():
            if own_values.loss is not None:
                whole[texts.owner[predicted_tokens(texts.owner)][~torch.isfinite(own_values.loss)]] = False
        kept = whole.cpu().numpy()
        for name, own_values in found.items():
            self._add(result, name, own_values, found[DEFAULT].sums, groups, whole)
            if name in result.beyond:
                result.beyond[name] += sent_ids[kept & ~own_values.measured.cpu().numpy()].tolist()
        result.scored += int(kept.sum())
        result.unscored += sent_ids[~kept].tolist()
        result.truncated += sum(t.cut > 0 for t in batch)
        result.truncated_tokens += sum(t.cut for t in batch)
        result.tokens += int(whole[texts.owner].sum())
        if self.reader.decoder:
            result.unpredicted += sum(len(t.ids) < 2 for t in batch)
        for row in np.flatnonzero(kept).tolist():
            if int(sent_ids[row]) in sampled:
                own_features = {name: f.features[row] for name, f in found.items() if bool(f.measured[row])}
                result.features[int(sent_ids[row])] = (batch[row].ids, own_features)

    def _pairs(self, layers: list[Vectors], groups: "_Groups") -> torch.Tensor:
        """Return the cosines of each token's state with its partner's default state, `[tokens, 2 * layers]`."""
        return _columns([cosines(own, panel[groups.partners]) for own, panel in zip(layers, self.panel, strict=True)])

    def _add(
        self,
        result: PositionsResult,
        name: str,
        found: "_Found",
        default_sums: torch.Tensor,
        groups: "_Groups",
        whole: torch.Tensor,
    ) -> None:
        sums, texts = result.sums, groups.texts
        measured = whole & found.measured
        good = measured[texts.owner]
        if found.same is not None:
            values = found.same[good]
            sums.add(CLASS, name, groups.classes.to(self.device)[good], values, len(CLASSES))
            sums.add(POSITION, name, groups.places[good], values, self.limit)
            sums.count(CLASS, name, values)
        units, within = sum_of_pairs(found.sums[measured], default_sums[measured], groups.lengths[measured])
        sums.total(UNITS, name, units)
        sums.total(WITHIN, name, within)
        pair = found.pair[good & groups.apart]
        sums.add(PAIR, name, torch.zeros(len(pair), dtype=torch.int64, device=self.device), pair, 1)
        sums.count(PAIR, name, pair)
        if found.joined is not None:
            sums.add(INPUT, name, groups.places[good], found.joined[good], self.limit)
        if found.loss is not None:
            predicted = predicted_tokens(texts.owner)
            there = good[predicted]
            loss, owner = found.loss[there], texts.owner[predicted][there]
            # float32 cannot represent 1/p of the rarest tokens; float64 can represent it and its square.
            loss = loss.double()
            both = torch.stack([loss, loss.clamp(max=_MOST_LOSS).exp()], 1)
            sums.add(LOSS, name, groups.places[predicted][there], both, self.limit)
            number = torch.bincount(owner, minlength=len(whole))
            total = torch.zeros(len(whole), dtype=torch.float64, device=self.device).index_add_(0, owner, both[:, 0])
            perplexity = (total / number)[number > 0].clamp(max=_MOST_LOSS).exp()[:, None]
            sums.add(TEXT, name, torch.zeros(len(perplexity), dtype=torch.int64, device=self.device), perplexity, 1)


class _Groups:
    """The class, the position in the text and the partner of each token of a batch, and the length of each text."""

    def __init__(self, texts: Batch, classes: torch.Tensor) -> None:
        self.texts = texts
        self.classes = classes.long()
        self.places = texts.real.nonzero()[:, 1]
        self.lengths = texts.real.sum(1)

    def pair(self, panel: Ids, seed: int) -> None:
        """Draw each token's partner from a panel; `panel` contains the id of the text of each of its tokens."""
        owner, places = self.texts.owner.cpu().numpy(), self.places.cpu().numpy()
        drawn = draw_partners(panel, self.texts.sent_ids[owner], places, seed)
        self.partners, self.apart = (torch.from_numpy(values).to(self.places.device) for values in drawn)


class _Found:
    """The values of a batch under one variant, kept until it is known which texts are finite under all variants."""

    def __init__(
        self, states: States, same: torch.Tensor | None, pair: torch.Tensor, sums: torch.Tensor, texts: Batch
    ) -> None:
        self.same, self.pair, self.sums = same, pair, sums
        self.loss, self.joined, self.measured = states.loss, states.joined, states.measured
        self._last, self._texts = states.layers[-1], texts
        self.features: dict[int, Float32s] = {}

    def pool_sampled(self, sent_ids: Ids, sampled: set[int]) -> None:
        """Store the mean states of the sampled texts by row, and release the states of all tokens."""
        for row, sent_id in enumerate(sent_ids.tolist()):
            if sent_id in sampled:
                self.features[row] = self._last[self._texts.owner == row].mean(0).cpu().numpy()
        del self._last


def _columns(layers: list[torch.Tensor]) -> torch.Tensor:
    """Return the concatenated values of all layers, `[rows, layers * values]`."""
    return torch.cat(layers, 1)


def _ids_and_added(ids: torch.Tensor, real: torch.Tensor, added: torch.Tensor) -> tuple[Int64s, Bools]:
    return ids[real].cpu().numpy(), added[real].cpu().numpy()
