"""The measurement of one shard: the model reads each batch under `default` and every variant, and sums are kept."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch

from ops.arrays import Float32s, Int64s
from ops.mixing.token_classes import CLASSES, TokenClasses
from ops.model.batches import pad
from ops.model.tokenizer import Tokens
from ops.positions.reader import Batch, States, VariantReader, predicted_tokens
from ops.positions.similarity import Panel, Vectors, cosines, draw_partners, sum_of_pairs, text_sums
from ops.positions.sums import CLASS, INPUT, LOSS, PAIR, POSITION, TEXT, UNITS, WITHIN, Sums, Totals
from ops.positions.variants import DEFAULT
from ops.shards import Ids
from ops.storage.arrays import read_arrays, write_arrays

Batches = Iterator[tuple[Ids, Sequence[Tokens]]]
_MOST_LOSS = 80.0  # nats: a perplexity of 5e34, which float32 can represent
Means = dict[str, Float32s]


class Features(NamedTuple):
    """The measured texts of the label check, by ascending id.

    Attributes:
        sent_ids, lengths: the id and the number of tokens of each text, `[texts]`.
        tokens: the token ids, text after text, `[tokens]`.
        vectors: the mean of the last layer's states under `default` and each variant, `[texts, 1 + variants, width]`;
            NaN under a variant that has no position for each token of the text. Its shape is `[0]` without texts.
    """

    sent_ids: Int64s
    lengths: Int64s
    tokens: Int64s
    vectors: Float32s


@dataclass
class PositionsResult:
    """The result of one shard.

    Attributes:
        sums: the sums from which the tables are made.
        unscored: the ids of the texts with a value that is not finite.
        truncated_tokens: number of tokens that were cut off.
        beyond: for each variant, the ids of the texts that are left out because they need positions beyond the model's
            table (`shifted`).
        unpredicted: number of texts with one token, in which nothing is predicted (decoders).
        features: for each text of the label check, its id, its token ids, and the mean of the last layer's states under
            `default` and each variant, `[1 + variants, width]`; NaN where it needs positions beyond the model's table.
    """

    sums: Sums
    scored: int = 0
    unscored: list[int] = field(default_factory=list)
    truncated: int = 0
    truncated_tokens: int = 0
    tokens: int = 0
    beyond: dict[str, list[int]] = field(default_factory=dict)
    unpredicted: int = 0
    features: list[tuple[int, list[int], Float32s]] = field(default_factory=list)

    def to_table(self) -> pa.Table:
        """Return the totals and the features as a table of arrays, which `merge_tables` reads."""
        texts = sorted(self.features, key=lambda text: text[0])
        features = Features(
            np.array([sent_id for sent_id, _, _ in texts], np.int64),
            np.array([len(tokens) for _, tokens, _ in texts], np.int64),
            np.array([token for _, tokens, _ in texts for token in tokens], np.int64),
            np.array([vectors for _, _, vectors in texts], np.float32),
        )
        return write_arrays(**self.sums.result().to_arrays(), **features._asdict())


def merge_tables(tables: Iterable[pa.Table]) -> tuple[Totals, Features]:
    """Merge the tables of shards in the order of the shards, so that rounding is the same in every run."""
    totals, features = Totals(), []
    for table in tables:
        arrays = read_arrays(table)
        features.append([arrays.pop(name) for name in Features._fields])
        totals = totals.merge(Totals.from_arrays(arrays))
    with_texts = [columns for columns in features if len(columns[0])] or features[:1]
    return totals, Features(*(np.concatenate(column) for column in zip(*with_texts, strict=True)))


class PositionsScorer:
    """Measures batches of texts.

    Args:
        reader, classes: the model, and the token classes of its tokenizer.
        variants: the variants to measure in addition to `default`.
        means: for each variant and `default`, each layer's mean state, `[layers, width]`.
        panel: the tokens with which other tokens are paired, at least one.
        pad_id, limit: the id of the padding token, and maximum number of tokens of a text.
    """

    def __init__(
        self, reader: VariantReader, classes: TokenClasses, variants: tuple[str, ...], means: Means, panel: Panel,
        pad_id: int, limit: int, device: str,
    ) -> None:  # fmt: skip
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
        texts = Batch(sent_ids, ids, real)
        classes = torch.from_numpy(self.classes(ids[real].cpu().numpy(), added[real].cpu().numpy()))
        groups = _Groups(texts, classes, self.panel_texts, self.reader.seed)
        rows = [row for row, sent_id in enumerate(sent_ids.tolist()) if sent_id in sampled]
        whole = torch.ones(len(batch), dtype=torch.bool, device=self.device)
        values: dict[str, _Values] = {}
        for name in (DEFAULT, *self.variants):
            states = self.reader.read(texts, name, joined=name == DEFAULT)
            vectors = [Vectors.of(s, m) for s, m in zip(states.layers, self.means[name], strict=True)]
            if name == DEFAULT:
                default, same = vectors, None
                finite = torch.isfinite(torch.stack([v.norms for v in vectors])).all(0)
            else:
                same = torch.cat([cosines(v, d) for v, d in zip(vectors, default, strict=True)], 1)
                finite = torch.isfinite(same).all(1) | ~states.measured[texts.owner]
            whole[texts.owner[~finite]] = False
            if states.loss is not None:
                whole[texts.owner[predicted_tokens(texts.owner)][~torch.isfinite(states.loss)]] = False
            values[name] = self._values(states, vectors, same, groups, rows)
        kept = whole.cpu().numpy()
        for name, of_variant in values.items():
            self._add(result.sums, name, of_variant, values[DEFAULT].sums, groups, whole)
            if name in result.beyond:
                result.beyond[name] += sent_ids[kept & ~of_variant.measured.cpu().numpy()].tolist()
        result.scored += int(kept.sum())
        result.unscored += sent_ids[~kept].tolist()
        result.truncated += sum(t.cut > 0 for t in batch)
        result.truncated_tokens += sum(t.cut for t in batch)
        result.tokens += int(whole[texts.owner].sum())
        if self.reader.decoder:
            result.unpredicted += sum(len(t.ids) < 2 for t in batch)
        for i, row in enumerate(rows):
            if kept[row]:
                features = np.stack([of_variant.features[i] for of_variant in values.values()])
                result.features.append((int(sent_ids[row]), batch[row].ids, features))

    def _values(
        self, states: States, vectors: list[Vectors], same: torch.Tensor | None, groups: "_Groups", rows: list[int]
    ) -> "_Values":
        """Return what is needed of a batch under one variant; `rows` are the texts whose features are needed."""
        partners = [cosines(own, panel[groups.partners]) for own, panel in zip(vectors, self.panel, strict=True)]
        last, owner = states.layers[-1], groups.texts.owner
        none = last.new_full(last.shape[1:], torch.nan)
        features = [last[owner == row].mean(0) if states.measured[row] else none for row in rows]
        return _Values(
            same=same, pair=torch.cat(partners, 1), sums=text_sums(vectors, groups.lengths), loss=states.loss,
            joined=states.joined, measured=states.measured, features=[own.cpu().numpy() for own in features],
        )  # fmt: skip

    def _add(
        self, sums: Sums, name: str, values: "_Values", default: torch.Tensor, groups: "_Groups", whole: torch.Tensor
    ) -> None:
        texts = groups.texts
        measured = whole & values.measured
        good = measured[texts.owner]
        if values.same is not None:
            same = values.same[good]
            sums.add(CLASS, name, groups.classes[good], same, len(CLASSES))
            sums.add(POSITION, name, groups.places[good], same, self.limit)
            sums.count(CLASS, name, same)
        units, within = sum_of_pairs(values.sums[measured], default[measured], groups.lengths[measured])
        sums.total(UNITS, name, units)
        sums.total(WITHIN, name, within)
        pair = values.pair[good & groups.apart]
        sums.add_ungrouped(PAIR, name, pair)
        sums.count(PAIR, name, pair)
        if values.joined is not None:
            sums.add(INPUT, name, groups.places[good], values.joined[good], self.limit)
        if values.loss is not None:
            predicted = predicted_tokens(texts.owner)
            is_kept = good[predicted]
            # float32 cannot represent 1/p of the rarest tokens; float64 can represent it and its square.
            loss, owner = values.loss[is_kept].double(), texts.owner[predicted][is_kept]
            both = torch.stack([loss, loss.clamp(max=_MOST_LOSS).exp()], 1)
            sums.add(LOSS, name, groups.places[predicted][is_kept], both, self.limit)
            number = torch.bincount(owner, minlength=len(whole))
            total = torch.zeros(len(whole), dtype=torch.float64, device=self.device).index_add_(0, owner, loss)
            sums.add_ungrouped(TEXT, name, (total / number)[number > 0].clamp(max=_MOST_LOSS).exp()[:, None])


class _Groups:
    """The class, the position in the text and the partner of each token of a batch, and the length of each text.

    Partners are drawn from a panel; `panel` contains the id of the text of each of its tokens.
    """

    def __init__(self, texts: Batch, classes: torch.Tensor, panel: Ids, seed: int) -> None:
        self.texts = texts
        self.places = texts.real.nonzero()[:, 1]
        self.lengths = texts.real.sum(1)
        self.classes = classes.long().to(self.places.device)
        owner, places = texts.owner.cpu().numpy(), self.places.cpu().numpy()
        drawn = draw_partners(panel, texts.sent_ids[owner], places, seed)
        self.partners, self.apart = (torch.from_numpy(values).to(self.places.device) for values in drawn)


@dataclass(frozen=True, kw_only=True)
class _Values:
    """The values of a batch under one variant, kept until it is known which texts are finite under all variants."""

    same: torch.Tensor | None
    pair: torch.Tensor
    sums: torch.Tensor
    loss: torch.Tensor | None
    joined: torch.Tensor | None
    measured: torch.Tensor
    features: list[Float32s]
