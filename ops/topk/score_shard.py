"""Scoring of one shard: its batches pass through the model in a fixed order, and each is reduced immediately."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import torch
from scipy.sparse import csr_array, vstack

from ops.arrays import Float32s, Int64s
from ops.model.activations import Scorer
from ops.model.batches import TokenBlock
from ops.model.tokenizer import Tokens
from ops.reducers.histogram import LEAST_ACTIVE, Histogram
from ops.reducers.top_k import QueuedTopK, TopK
from ops.shards import Ids
from ops.topk.dataset_winners import DatasetWinners
from ops.topk.datasets import NO_DATASETS, Datasets
from ops.topk.partial_file import ShardRows, of_all_table, shard_table, winners_in_shard
from ops.topk.room import device_rooms
from ops.topk.shard_sums import HostSums, QueuedSums, ShardTotals, finite_rows

WARM_LENGTH = 16  # tokens of a made-up sentence for the warm-up


class ShardScorer:
    """Scores one shard after another and keeps each pole's winners so far, so that later shards return fewer rows.

    A sentence beaten by K distinct sentences cannot win, whichever shard it is in. So a shard returns only those of its
    sentences that are among the winners so far. A shard that is scored again returns the same sentences or fewer,
    because equal pairs count once.

    Args:
        scorer: the model.
        k: number of winners of each neuron and pole.
        poles: `top`, `bottom` or both.
        edges: the histogram's inner edges `[neurons, bins - 1]` float32.
        queued: whether batches are queued on the device without the host waiting for results (None: on every device
            except a CPU). Winners are the same; the returned rows and the last digits of the moments may differ.
        room: number of slots of each neuron's winners if batches are queued (None: chosen by the free memory).
        datasets: the data sets that also have their own winners.

    If units are sparse features, an activation of 0 never wins, and a shard also counts each feature's active tokens.
    """

    def __init__(
        self,
        scorer: Scorer,
        k: int,
        poles: tuple[str, ...],
        edges: torch.Tensor,
        queued: bool | None = None,
        room: int | None = None,
        datasets: Datasets = NO_DATASETS,
    ) -> None:
        self.scorer = scorer
        self.k, self.poles = k, poles
        self.queued = scorer.device.type != "cpu" if queued is None else queued
        self.edges = edges.to(scorer.device)
        self.sparse = scorer.sparse
        own_room = room
        if room is None and self.queued and scorer.device.type == "cuda":
            free, _ = torch.cuda.mem_get_info(scorer.device)
            room, own_room = device_rooms(free, len(edges), k, len(poles), datasets)
        self.winners = self._reducers(k, room)
        self.within = DatasetWinners(datasets, [self._reducers(datasets.k, own_room) for _ in datasets.names])
        self.runs = 0

    def _reducers(self, k: int, room: int | None) -> dict[str, TopK]:
        kind = QueuedTopK if self.queued else TopK
        reducers: dict[str, TopK] = {p: kind(len(self.edges), k, self.scorer.device, room) for p in self.poles}
        if self.sparse:
            reducers["top"].raise_bound(torch.full((len(self.edges),), LEAST_ACTIVE))
        return reducers

    def warm_up(self, tokens: int, limit: int) -> None:
        """Score some made-up sentences, so that the first shard does not pay for initialisation.

        Args:
            tokens: total number of tokens, about the same as in a batch.
            limit: maximum number of tokens of a sentence.
        """
        length = min(tokens, WARM_LENGTH, limit)
        values, _, _ = score_batch(self.scorer, [Tokens([0] * length, [0] * length, False)] * (tokens // length))
        if not self.queued:
            Histogram(self.edges).update(values)

    def raise_bounds(self, *bounds: Float32s) -> None:
        """Adopt bounds, each `[neurons]`, as `ops.reducers.thresholds` returns them.

        They are the top's and the bottom's bound of the complete corpus, and then those of the data sets in their
        order, if there are any.
        """
        every = (self.winners, *self.within.reducers)
        for reducers, top, bottom in zip(every, bounds[::2], bounds[1::2], strict=False):
            for pole, bound in (("top", top), ("bottom", -bottom)):
                if pole in reducers:
                    reducers[pole].raise_bound(torch.from_numpy(bound))

    def run(
        self,
        span: tuple[int, int],
        batches: Iterator[tuple[Ids, Sequence[Tokens]]],
        sample: Ids,
        newer_bounds: Callable[[], tuple[Float32s, ...] | None] = lambda: None,
    ) -> tuple[ShardRows, ShardTotals]:
        """Score one shard, and return the rows of its partial file and its sums.

        The rows are computed from the winners so far: read them or call `hold` before the next shard begins.

        Args:
            span: the shard's sentence ids, from `span[0]` to `span[1]` - 1.
            batches: all sentences of the shard.
            sample: the ids of the sentences whose activations are all stored.
            newer_bounds: returns the arguments of `raise_bounds` if there are newer bounds, otherwise None. It is
                called before the first and after the last batch, so that a long shard returns no unnecessary rows.
        """
        self.runs += 1
        self._update_bounds(newer_bounds)
        sums = (QueuedSums if self.queued else HostSums)(
            self.winners, self.edges, sample, self.scorer.layers, self.sparse, self.within
        )
        if self.sparse:
            self.scorer.reset()
        for ids, tokens in batches:
            sums.add(ids, self.scorer.score(tokens))
            sums.totals.tokens += int(TokenBlock.of(tokens).offsets[-1])
        totals = sums.finish()
        self._update_bounds(newer_bounds)
        return self.rows_of(span, totals), totals

    def rows_of(self, span: tuple[int, int], totals: ShardTotals) -> ShardRows:
        """Return the rows of a shard from its sums and from the winners so far that are in its range of ids."""
        neurons, run = len(self.edges), self.runs
        sampled, active = self._sampled(totals), None
        if self.sparse:
            active = self.scorer.tokens_active.cpu().numpy().copy()
        largest = int(totals.histogram.max(initial=0))
        candidates = {p: self.winners[p].candidates() for p in self.poles}
        of_datasets = self.within.candidates(*span)

        def make(first: int, stop: int) -> pa.Table:
            if self.runs != run:
                raise RuntimeError("the rows of a shard are read or held before the next shard begins")
            cut = slice(first, stop)
            poles = {p: winners_in_shard(candidates[p][cut], *span, self.winners[p].bound[cut], p) for p in self.poles}
            within = {p: of_datasets(p, cut) for p in self.poles} if self.within.reducers else {}
            moments = totals.moments.of_neurons(first, stop)
            counts = None if active is None else active[cut]
            return shard_table(poles, moments, totals.histogram[cut], sampled[cut], largest, counts, within)

        def of_all(first: int, stop: int) -> pa.Table:
            return of_all_table(totals.histogram[first:stop], sampled[first:stop], largest)

        return ShardRows(neurons, make, of_all)

    def _sampled(self, totals: ShardTotals) -> Float32s | csr_array:
        """Return the activations of the sampled sentences by neuron, with sentence ids ascending."""
        if self.sparse:
            none = csr_array((0, len(self.edges)), dtype=np.float32)
            return vstack([none, *(totals.kept[i] for i in totals.sampled)], "csr").T.tocsr()
        kept = np.array([totals.kept[i] for i in totals.sampled], np.float32).reshape(-1, len(self.edges))
        return np.ascontiguousarray(kept.T)  # so that a slice of the neurons needs no copy

    def _update_bounds(self, newer_bounds: Callable[[], tuple[Float32s, ...] | None]) -> None:
        bounds = newer_bounds()
        if bounds is not None:
            self.raise_bounds(*bounds)


def score_batch(scorer: Scorer, tokens: Sequence[Tokens]) -> tuple[torch.Tensor, torch.Tensor, dict[int, str]]:
    """Return a batch's values `[sentences, neurons]` float32, which rows are finite, and why the others are not."""
    return finite_rows(scorer.score(tokens), scorer.layers)


def score_batches(
    scorer: Scorer, batches: Iterable[tuple[Int64s, Sequence[Tokens]]], sentences: int
) -> tuple[Float32s, dict[int, str]]:
    """Return the values of sentences, `[sentences, neurons]` float32, and why those that are not finite are not.

    Args:
        scorer: the model.
        batches: the places of each batch's sentences among all of them, and their tokens.
        sentences: the number of sentences.
    """
    values = np.zeros((sentences, 0), np.float32)
    reasons: dict[int, str] = {}
    for places, tokens in batches:
        block, _, why = score_batch(scorer, tokens)
        if not values.shape[1]:
            values = np.empty((sentences, block.shape[1]), np.float32)
        values[places] = block.cpu().numpy()
        reasons |= {int(places[row]): reason for row, reason in why.items()}
    return values, reasons
