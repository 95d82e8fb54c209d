"""A shard's sums in addition to its winners: moments, histogram, the sample, and sentences that are not finite."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array

from ops.arrays import Float32s, Int64s
from ops.model.batches import to_device
from ops.reducers.histogram import Histogram
from ops.reducers.moments import Moments, QueuedMoments
from ops.reducers.top_k import MAX_IDS, TopK
from ops.shards import Ids
from ops.topk.dataset_winners import DatasetWinners

SENTENCES_PER_BLOCK = 256  # sentences that are added in one update
SPARSE_CELLS = 1 << 25  # activations that are added in one update if features are sparse, as a million features may be


@dataclass
class ShardTotals:
    """A shard's sums.

    Attributes:
        moments: the moments of the shard's finite sentences.
        histogram: the counts of the finite sentences, `[neurons, bins]` int64.
        kept: the activations of each sampled sentence by its id: `[neurons]` float32, or `[1, neurons]` if sparse.
        unscored: the ids of the sentences that are not finite, by reason.
        scored: number of finite sentences.
        tokens: number of tokens of all sentences.
    """

    moments: Moments
    histogram: Int64s
    kept: dict[int, Float32s | csr_array] = field(default_factory=dict)
    unscored: dict[str, list[int]] = field(default_factory=dict)
    scored: int = 0
    tokens: int = 0

    @property
    def sampled(self) -> list[int]:
        """The ids of the sampled sentences that are finite, ascending."""
        return sorted(self.kept)

    def keep(self, sentence: int, values: Float32s, sparse: bool) -> None:
        """Keep a sampled sentence's activations, `[neurons]`."""
        self.kept[sentence] = csr_array(values[None]) if sparse else values


class HostSums:
    """The sums of a shard on a CPU: accumulates activations batch by batch, and updates the winners with them.

    Args:
        winners: the winners so far of each pole.
        edges: the inner edges of the histogram.
        sample: the ids of the sentences whose activations are kept.
        layers: the layers' indices, in the order in which `add` gets their activations.
        sparse: whether most activations are 0; then only the nonzero activations of a sampled sentence are stored.
        within: the winners so far within each data set; None if there are no such winners.
    """

    def __init__(
        self,
        winners: dict[str, TopK],
        edges: torch.Tensor,
        sample: Ids,
        layers: Sequence[int],
        sparse: bool = False,
        within: DatasetWinners | None = None,
    ) -> None:
        self.winners, self.sample, self.layers, self.sparse = winners, sample, layers, sparse
        self.within = within or DatasetWinners()
        # The most sentences of a block; None for any number.
        self.most = max(min(SENTENCES_PER_BLOCK, SPARSE_CELLS // len(edges)), 1) if sparse else None
        self.waiting: list[tuple[Ids, torch.Tensor]] = []
        self.histogram = Histogram(edges)
        self.totals = ShardTotals(Moments.empty(len(edges)), np.zeros(0, np.int64))

    def add(self, ids: Ids, layers: list[torch.Tensor]) -> None:
        """Add a batch, given by its sentences' ids and each layer's activations `[sentences, units]` float32."""
        totals = self.totals
        values, finite, reasons = finite_rows(layers, self.layers)
        for row, reason in reasons.items():
            totals.unscored.setdefault(reason, []).append(int(ids[row]))
        if reasons:
            values, ids = values[finite], ids[finite.cpu().numpy()]
        totals.scored += len(ids)
        self._wait(ids, values)

    def finish(self) -> ShardTotals:
        """Return the sums of all batches."""
        self.reduce_waiting()
        self.totals.histogram = self.histogram.result().cpu().numpy()
        return self.totals

    def _wait(self, ids: Ids, values: torch.Tensor) -> None:
        """Reduce some sentences once enough of them wait, because every update of the reducers has a fixed cost."""
        self.waiting.append((ids, values))
        if sum(len(ids) for ids, _ in self.waiting) >= (self.most or SENTENCES_PER_BLOCK):
            self.reduce_waiting()

    def reduce_waiting(self) -> None:
        """Reduce the sentences that wait, in blocks."""
        if self.waiting:
            ids, values = zip(*self.waiting, strict=True)
            self.waiting = []
            every, joined = np.concatenate(ids), torch.cat(values) if len(values) > 1 else values[0]
            step = self.most or max(len(every), 1)
            for start in range(0, len(every), step):
                self._reduce(every[start : start + step], joined[start : start + step])

    def _reduce(self, ids: Ids, values: torch.Tensor) -> None:
        self._take_winners(ids, values)
        self.totals.moments = self.totals.moments.update(values)
        self.histogram.update(values)
        for row in np.flatnonzero(np.isin(ids, self.sample)).tolist():
            self.totals.keep(int(ids[row]), values[row].cpu().numpy(), self.sparse)

    def _take_winners(self, ids: Ids, values: torch.Tensor) -> None:
        """Update the winners so far, over all sentences and within data sets, with `[sentences, neurons]` values."""
        signed = {pole: values if pole == "top" else -values for pole in self.winners}
        numbers = to_device(ids, values.device)
        for pole, reducer in self.winners.items():
            reducer.update(signed[pole], numbers)
        self.within.update(ids, numbers, signed)


class QueuedSums(HostSums):
    """The sums of a shard on a GPU: all data stays in the GPU's queue and memory, and is read once at the end."""

    def __init__(self, winners: dict[str, TopK], edges: torch.Tensor, *others: Any, **named: Any) -> None:
        super().__init__(winners, edges, *others, **named)
        self.moments = QueuedMoments(len(edges), edges.device)
        self.ids: list[Ids] = []
        self.broken: list[torch.Tensor] = []  # position, from 1, of a sentence's first non-finite layer; 0 if finite
        self.kept: list[tuple[Ids, torch.Tensor]] = []

    def add(self, ids: Ids, layers: list[torch.Tensor]) -> None:
        """Add a batch without waiting for the device."""
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < MAX_IDS:
            raise ValueError(f"sentence ids are outside [0, 2**32): {int(ids.min())} to {int(ids.max())}")
        bad = torch.stack([~torch.isfinite(layer).all(1) for layer in layers])
        any_bad = bad.any(0)
        self.ids.append(ids)
        self.broken.append(torch.where(any_bad, bad.int().argmax(0) + 1, 0))
        # NaN never passes a bound, and it marks the sentences that the sums must skip.
        self._wait(ids, torch.cat(layers, 1).masked_fill_(any_bad[:, None], torch.nan))

    def finish(self) -> ShardTotals:
        """Return the sums of all batches; this waits for the device."""
        self.reduce_waiting()
        totals = self.totals
        totals.moments, totals.histogram = self.moments.result(), self.histogram.result().cpu().numpy()
        totals.scored = totals.moments.n
        broken = torch.cat(self.broken).cpu().numpy() if self.broken else np.zeros(0, np.int64)
        ids = np.concatenate(self.ids) if self.ids else np.zeros(0, np.int64)
        for row in np.flatnonzero(broken).tolist():
            totals.unscored.setdefault(_reason(self.layers[int(broken[row]) - 1]), []).append(int(ids[row]))
        for own, values in self.kept:
            for i, row in zip(own.tolist(), values.cpu().numpy(), strict=True):
                if not np.isnan(row[0]):
                    totals.keep(i, row, self.sparse)
        return totals

    def _reduce(self, ids: Ids, values: torch.Tensor) -> None:
        values = values.T.contiguous().T  # transposed once, for the winners of both poles and the histogram
        self._take_winners(ids, values)
        finite = ~torch.isnan(values[:, 0])
        self.moments.update(values, finite)
        self.histogram.update(values, finite)
        rows = np.flatnonzero(np.isin(ids, self.sample))
        if len(rows):
            self.kept.append((ids[rows], values.index_select(0, to_device(rows, values.device))))


def finite_rows(
    layers: list[torch.Tensor], numbers: Sequence[int]
) -> tuple[torch.Tensor, torch.Tensor, dict[int, str]]:
    """Return a batch's values `[sentences, neurons]`, which rows are finite, and why the others are not.

    Args:
        layers: each layer's activations, `[sentences, units]`.
        numbers: the layers' indices.
    """
    values = torch.cat(layers, 1) if len(layers) > 1 else layers[0]
    finite = torch.isfinite(values).all(1)
    reasons: dict[int, str] = {}
    if not bool(finite.all()):
        good = torch.stack([torch.isfinite(layer).all(1) for layer in layers]).cpu()
        for row in np.flatnonzero(~finite.cpu().numpy()).tolist():
            reasons[row] = _reason(numbers[int((~good[:, int(row)]).nonzero()[0])])
    return values, finite, reasons


def _reason(layer: int) -> str:
    return f"non-finite activation, first in layer {layer}"
