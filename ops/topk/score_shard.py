"""One shard through the model: batches in a fixed order, each reduced at once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch

from ops.model.activations import Scorer
from ops.model.tokenizer import Tokens
from ops.reducers.histogram import Histogram
from ops.reducers.moments import Moments
from ops.reducers.top_k import TopK
from ops.shards import Ids
from ops.topk.partial_file import shard_table, winners_in_shard

Floats = npt.NDArray[np.float32]

BLOCK = 256  # sentences
WARM_LENGTH = 16  # tokens of a sentence


@dataclass
class ShardResult:
    """One shard's outcome: the table of its partial file, what was not finite, and the ids of its activation sample."""

    table: pa.Table
    unscored: dict[str, list[int]] = field(default_factory=dict)
    sampled: list[int] = field(default_factory=list)
    scored: int = 0
    tokens: int = 0


class ShardScorer:
    """Scores shard after shard, keeping each pole's winners so far, so that later shards have less to hand over.

    That a sentence is not among the winners so far is a fact about the corpus: whatever lies below K distinct sentences
    cannot win. A shard hands over those of its sentences that are among the winners so far; a shard that comes again
    hands over the same ones, or fewer, since equal pairs count once.

    Args:
        scorer: the model.
        k: winners for each neuron and pole.
        poles: `top`, `bottom` or both.
        edges: the histogram's inner edges `[neurons, bins - 1]` float32.
    """

    def __init__(self, scorer: Scorer, k: int, poles: tuple[str, ...], edges: torch.Tensor) -> None:
        self.scorer = scorer
        self.k, self.poles = k, poles
        self.edges = edges.to(scorer.device)
        self.winners = {p: TopK(len(edges), k, scorer.device) for p in poles}

    def warm_up(self, tokens: int, limit: int) -> None:
        """Score some made-up sentences, so that the first shard does not pay for what is prepared at first use.

        Args:
            tokens: in all, about as many as a batch will have.
            limit: most tokens of a sentence.
        """
        length = min(tokens, WARM_LENGTH, limit)
        values, _, _ = score_batch(self.scorer, [Tokens([0] * length, [0] * length, False)] * (tokens // length))
        Histogram(self.edges).update(values)

    def raise_bounds(self, top: Floats, bottom: Floats) -> None:
        """Take over bounds of the whole corpus, each `[neurons]`, as `ops.reducers.thresholds` returns them."""
        for pole, bound in (("top", top), ("bottom", -bottom)):
            if pole in self.winners:
                self.winners[pole].raise_bound(torch.from_numpy(bound))

    def run(
        self,
        span: tuple[int, int],
        batches: Iterator[tuple[Ids, list[Tokens]]],
        sample: Ids,
        newer_bounds: Callable[[], tuple[Floats, Floats] | None] = lambda: None,
    ) -> ShardResult:
        """Score one shard.

        Args:
            span: its sentence ids run from `span[0]` to `span[1]` - 1.
            batches: all its sentences.
            sample: ids whose activations are kept whole.
            newer_bounds: returns the corpus's bounds where there are newer ones, else None; asked before the first and
                after the last batch, so that a long shard hands over no more than it must.
        """
        self._update_bounds(newer_bounds)
        moments = Moments.empty(len(self.edges))
        histogram = Histogram(self.edges)
        kept: dict[int, np.ndarray] = {}
        result = ShardResult(pa.table({}))
        for block_ids, values in _blocks(self._score(batches, result)):
            numbers = torch.from_numpy(block_ids).to(values.device)
            for p in self.poles:
                self.winners[p].update(values if p == "top" else -values, numbers)
            moments = moments.update(values)
            histogram.update(values)
            for row in np.flatnonzero(np.isin(block_ids, sample)).tolist():
                kept[int(block_ids[row])] = values[row].cpu().numpy()
        result.sampled = sorted(kept)
        width = len(self.edges)
        rows = np.array([kept[i] for i in result.sampled], np.float32).reshape(len(kept), width)
        self._update_bounds(newer_bounds)
        poles = {}
        for p in self.poles:
            activations, sent_ids = winners_in_shard(self.winners[p].result(), *span, self.winners[p].bound)
            poles[p] = (activations if p == "top" else negate(activations), sent_ids)
        result.table = shard_table(poles, moments, histogram.result().cpu().numpy(), rows.T)
        return result

    def _score(
        self, batches: Iterator[tuple[Ids, list[Tokens]]], result: ShardResult
    ) -> Iterator[tuple[Ids, torch.Tensor]]:
        """Return the ids and values of each batch's finite sentences, and count all in `result`."""
        for ids, tokens in batches:
            values, finite, reasons = score_batch(self.scorer, tokens)
            for row, reason in reasons.items():
                result.unscored.setdefault(reason, []).append(int(ids[row]))
            if reasons:
                values, ids = values[finite], ids[finite.cpu().numpy()]
            result.scored += len(ids)
            result.tokens += sum(len(t.ids) for t in tokens)
            yield ids, values

    def _update_bounds(self, newer_bounds: Callable[[], tuple[Floats, Floats] | None]) -> None:
        bounds = newer_bounds()
        if bounds is not None:
            self.raise_bounds(*bounds)


def _blocks(scored: Iterator[tuple[Ids, torch.Tensor]]) -> Iterator[tuple[Ids, torch.Tensor]]:
    """Join small batches, since an update of the reducers costs by the call as well as by the sentence."""
    ids: list[Ids] = []
    values: list[torch.Tensor] = []
    for some_ids, some_values in scored:
        ids.append(some_ids)
        values.append(some_values)
        if sum(map(len, ids)) >= BLOCK:
            yield np.concatenate(ids), torch.cat(values)
            ids.clear()
            values.clear()
    if ids:
        yield np.concatenate(ids), torch.cat(values)


def score_batch(scorer: Scorer, tokens: list[Tokens]) -> tuple[torch.Tensor, torch.Tensor, dict[int, str]]:
    """Score one batch: values `[sentences, neurons]` float32, which rows are finite, and why the others are not."""
    layers = scorer.score(tokens)
    values = torch.cat(layers, 1)
    finite = torch.isfinite(values).all(1)
    reasons: dict[int, str] = {}
    if not bool(finite.all()):
        good = torch.stack([torch.isfinite(layer).all(1) for layer in layers]).cpu()
        for row in np.flatnonzero(~finite.cpu().numpy()).tolist():
            first = int((~good[:, int(row)]).nonzero()[0]) + 1
            reasons[row] = f"non-finite activation, first in layer {first}"
    return values, finite, reasons


def negate(activations: pa.ListArray) -> pa.ListArray:
    """Return a list column with every number negated; zero stays 0.0."""
    values = 0.0 - activations.flatten().to_numpy(zero_copy_only=False)
    return pa.ListArray.from_arrays(activations.offsets, pa.array(values.astype(np.float32)))
