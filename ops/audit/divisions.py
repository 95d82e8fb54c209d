"""The part of the corpus that a sentence is in: its data set or, for the controls, a random part or half of that."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ops import sampling
from ops.arrays import Float64s, Int32s, Int64s, Integers

DATASETS, PERMUTED, HALVES = "datasets", "permuted", "halves"
NO_PART = -1
# The fewest winners of a neuron and pole in a data set, and documents of these winners. A half may have half of them.
LEAST_WINNERS, LEAST_DOCUMENTS = 20, 10


@dataclass(frozen=True)
class Division:
    """The corpus in parts. A finding in one part is tested in the other parts of its group.

    Attributes:
        name: `DATASETS`, `PERMUTED` or `HALVES`.
        parts: the names of the D parts.
        group: the group of each part, from 0, `[D]`.
        of_row: the part of each annotated sentence, `NO_PART` if it has none, `[rows]` int32.
        sizes: number of the corpus's sentences in each part, `[D]`.
    """

    name: str
    parts: tuple[str, ...]
    group: Int32s
    of_row: Int32s
    sizes: Float64s

    @classmethod
    def by_dataset(cls, dataset: Integers, names: Sequence[str], audited: Sequence[str], sizes: Sequence[int]) -> Self:
        """Return the corpus by data set.

        Args:
            dataset: code of each annotated sentence's data set, `[rows]`.
            names: the name of each data set, by code.
            audited: the names of the data sets that are audited.
            sizes: number of the corpus's sentences in each of these.
        """
        place = {name: number for number, name in enumerate(audited)}
        part = np.array([*(place.get(name, NO_PART) for name in names), NO_PART], np.int32)
        group = np.zeros(len(audited), np.int32)
        return cls(DATASETS, tuple(audited), group, part[dataset], np.asarray(sizes, np.float64))

    def permuted(self, document: Int64s, baseline: Int64s, seed: int) -> Self:
        """Assign documents to parts at random: each part becomes a sample of all parts, with equally many documents.

        With equal numbers of documents, the parts have about equal numbers of winners, as data sets do. The card
        learned in a part with few winners would be poor, and the card of any other part would beat it. A sentence
        without a part stays without one. The sizes of the parts in the corpus are estimated from the baseline.

        Args:
            document: code of the document of each annotated sentence, `[rows]`.
        """
        inside = self.of_row != NO_PART
        documents = np.unique(document[inside])
        part = np.arange(len(documents), dtype=np.int32) % len(self)
        rng = np.random.default_rng([seed, sampling.AUDIT_LABELS])
        of_document = np.full(int(document.max(initial=-1)) + 1, NO_PART, np.int32)
        of_document[documents] = rng.permutation(part)
        of_row = np.where(inside, of_document[document], NO_PART).astype(np.int32)
        return self._divided(PERMUTED, self.parts, self.group, of_row, baseline, np.array([self.sizes.sum()]))

    def halves(self, document: Int64s, baseline: Int64s, seed: int) -> Self:
        """Split the documents of each part into two halves, which form a group. For the arguments see `permuted`."""
        rng = np.random.default_rng([seed, sampling.AUDIT_HALVES])
        half = rng.integers(0, 2, int(document.max(initial=-1)) + 1).astype(np.int32)
        inside = self.of_row != NO_PART
        of_row = np.where(inside, 2 * self.of_row + half[document], NO_PART).astype(np.int32)
        parts = tuple(f"{name}, half {number}" for name in self.parts for number in (1, 2))
        group = np.repeat(np.arange(len(self.parts), dtype=np.int32), 2)
        return self._divided(HALVES, parts, group, of_row, baseline, self.sizes)

    def _divided(
        self, name: str, parts: tuple[str, ...], group: Int32s, of_row: Int32s, baseline: Int64s, totals: Float64s
    ) -> Self:
        """Return a division whose groups have these sizes; the baseline tells how they are divided among the parts."""
        inside = of_row[baseline][of_row[baseline] != NO_PART]
        count = np.bincount(inside, minlength=len(parts)).astype(np.float64)
        sizes = totals[group] * count / np.maximum(np.bincount(group, count), 1)[group]
        return replace(self, name=name, parts=parts, group=group, of_row=of_row, sizes=sizes)

    def __len__(self) -> int:
        return len(self.parts)
