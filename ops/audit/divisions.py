"""The part of the corpus that a sentence is in: its data set or, for the controls, a random part or half of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ops import sampling
from ops.arrays import Float64s, Int32s, Int64s, Integers

DATASETS, PERMUTED, HALVES = "datasets", "permuted", "halves"
NO_PART = -1


@dataclass(frozen=True)
class Division:
    """The corpus in parts; a finding in one part is tested in the others of its group.

    Attributes:
        name: `DATASETS`, `PERMUTED` or `HALVES`.
        parts: names of the D parts.
        group: of each part, from 0, `[D]`.
        of_row: the part of each annotated sentence, `NO_PART` if it has none, `[rows]` int32.
        sizes: sentences of the corpus in each part, `[D]`.
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
            names: of all data sets, by code.
            audited: names of those that are audited.
            sizes: sentences of each of these in the corpus.
        """
        part = np.full(len(names) + 1, NO_PART, np.int32)
        place = {name: number for number, name in enumerate(audited)}
        for code, name in enumerate(names):
            part[code] = place.get(name, NO_PART)
        group = np.zeros(len(audited), np.int32)
        return cls(DATASETS, tuple(audited), group, part[dataset], np.asarray(sizes, np.float64))

    def permuted(self, document: Int64s, baseline: Int64s, seed: int) -> Self:
        """Permute the parts over documents: each becomes a sample of all of them, with an equal number of documents.

        With equal numbers, the parts also have about equally many winners, as data sets do. A part with few winners
        would learn a poor card, which that of any other part would beat. A sentence without a part keeps none. The
        sizes of the parts in the corpus are estimated from the baseline.

        Args:
            document: code of the document of each annotated sentence, `[rows]`.
            baseline: rows of the baseline.
            seed: of the draw.
        """
        inside = self.of_row != NO_PART
        documents = np.unique(document[inside])
        part = np.arange(len(documents), dtype=np.int32) % len(self)
        rng = np.random.default_rng([seed, sampling.AUDIT_LABELS])
        of_document = np.full(int(document.max(initial=-1)) + 1, NO_PART, np.int32)
        of_document[documents] = rng.permutation(part)
        of_row = np.where(inside, of_document[document], NO_PART).astype(np.int32)
        share = _counted(of_row[baseline], len(self.parts))
        sizes = self.sizes.sum() * share / max(share.sum(), 1)
        return replace(self, name=PERMUTED, of_row=of_row, sizes=sizes)

    def halves(self, document: Int64s, baseline: Int64s, seed: int) -> Self:
        """Split the documents of each part into two halves, a group for each part; arguments as of `permuted`."""
        rng = np.random.default_rng([seed, sampling.AUDIT_HALVES])
        half = rng.integers(0, 2, int(document.max(initial=-1)) + 1).astype(np.int32)
        inside = self.of_row != NO_PART
        of_row = np.where(inside, 2 * self.of_row + half[document], NO_PART).astype(np.int32)
        share = _counted(of_row[baseline], 2 * len(self.parts)).reshape(-1, 2)
        sizes = self.sizes[:, None] * share / np.maximum(share.sum(1, keepdims=True), 1)
        parts = tuple(f"{name}, half {number}" for name in self.parts for number in (1, 2))
        group = np.repeat(np.arange(len(self.parts), dtype=np.int32), 2)
        return replace(self, name=HALVES, parts=parts, group=group, of_row=of_row, sizes=sizes.ravel())

    def __len__(self) -> int:
        return len(self.parts)


def _counted(parts: Int32s, number: int) -> Float64s:
    return np.bincount(parts[parts != NO_PART], minlength=number).astype(np.float64)
