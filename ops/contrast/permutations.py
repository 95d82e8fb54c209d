"""Permuted labels: how large the largest separation of all units is if nothing but chance tells the groups apart."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import rankdata

from ops.arrays import Float64s, Floats, Int64s
from ops.contrast.groups import Contrast
from ops.sampling import CONTRAST_LABELS, CONTRAST_PERMUTATIONS
from ops.shards import spans

PURE = 0.9  # share of documents with one group only, from which on labels are permuted over documents
_AT_ONCE = 50  # permutations in memory


@dataclass(frozen=True)
class Permutations:
    """Permutations of a contrast's labels over items: documents, or sentences.

    Labels are permuted over documents, within data sets, if 90 % of the documents hold one group only and each group
    has such a document; a document that holds both gives away its share of group a. Otherwise they are permuted over
    sentences, within documents.

    Attributes:
        items: the item of each sentence, `[n]`.
        labels: the share of each item's sentences that is in group a, `[items]`.
        strata: the stratum of each item, within which labels are permuted, `[items]`.
    """

    items: Int64s
    labels: Float64s
    strata: Int64s
    seeds: tuple[int, ...]

    @classmethod
    def of(cls, contrast: Contrast, seed: int, purpose: int = CONTRAST_PERMUTATIONS) -> "Permutations":
        """Return the permutations of a contrast; each seed and each purpose of `ops.sampling` has others."""
        documents, is_a = contrast.documents, contrast.is_a
        share = np.bincount(documents, is_a) / np.bincount(documents)
        seeds = (seed, purpose, crc32(contrast.group.encode()))
        if np.isin(share, (0, 1)).mean() >= PURE and np.isin((0, 1), share).all():
            strata = np.zeros(len(share), np.int64)
            strata[documents] = contrast.datasets
            return cls(documents, share, strata, seeds)
        return cls(np.arange(len(is_a)), is_a.astype(np.float64), documents, seeds)

    def drawn(self, count: int) -> Iterator[Float64s]:
        """Yield the permuted labels, some permutations at a time, `[permutations, items]`."""
        random, by_stratum = np.random.default_rng(self.seeds), np.argsort(self.strata, kind="stable")
        for first, stop in spans(count, _AT_ONCE):
            order = np.argsort(self.strata + random.random((stop - first, len(self.labels))), axis=1)
            permuted = np.empty(order.shape)
            permuted[:, by_stratum] = self.labels[order]
            yield permuted

    def standardised(self, values: Floats, count: int) -> tuple[Float64s, Float64s]:
        """Return how far each area is from its mean over permutations, and the largest distance of each permutation.

        The distances, `[units]`, and the largest absolute ones, `[permutations]`, are in standard deviations over the
        permutations. Without confounding by data set the mean is 0.5. `values` are those of the units, `[n, units]`.
        """
        n = len(self.items)
        ranks = rankdata(values, axis=0) - (n + 1) / 2
        sizes = np.bincount(self.items).astype(np.float64)
        sums = csr_array((np.ones(n), (self.items, np.arange(n))), shape=(len(sizes), n)) @ ranks

        def areas(labels: Float64s) -> Float64s:
            n_a = labels @ sizes
            return np.asarray((labels @ sums) / (n_a * (n - n_a))[:, None])

        permuted = np.concatenate([areas(labels) for labels in self.drawn(count)])
        mean, deviation = permuted.mean(0), permuted.std(0)
        z = np.zeros_like(permuted)
        np.divide(permuted - mean, deviation, out=z, where=deviation > 0)
        observed = areas(self.labels[None])[0] - mean
        distances = np.divide(observed, deviation, out=np.zeros_like(mean), where=deviation > 0)
        return distances, np.abs(z).max(1, initial=0.0)


def with_permuted_labels(contrast: Contrast, seed: int) -> Contrast:
    """Return a contrast with permuted labels, as a control.

    The permutation is not among those that p-values are made from. Where a document gets a share of group a, each of
    its sentences is in group a with this probability.
    """
    permutations = Permutations.of(contrast, seed, CONTRAST_LABELS)
    (labels,) = next(permutations.drawn(1))
    drawn = np.random.default_rng((*permutations.seeds, 1)).random(len(contrast.rows))
    return replace(contrast, is_a=drawn < labels[permutations.items])
