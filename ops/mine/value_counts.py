"""What values a property has among a neuron's winners, against the baseline."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ops.compiled import compiled
from ops.patterns.sequences import Sequences
from ops.statistics.association import Measures, measures

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class ValueCounts:
    """How often each value of a property occurs: `count int64 [n_values]` out of `n`.

    A reducer of disjoint sets of sentences: `merge` adds, which is associative and commutative; `without`
    takes a part off again.
    """

    count: Counts
    n: int

    def merge(self, other: "ValueCounts") -> "ValueCounts":
        """Return the counts over two disjoint sets of sentences together."""
        return ValueCounts(self.count + other.count, self.n + other.n)

    def without(self, part: "ValueCounts") -> "ValueCounts":
        """Return the counts without a part of the sentences: the baseline's without its winners'."""
        return ValueCounts(self.count - part.count, self.n - part.n)


@dataclass(frozen=True)
class Profile:
    """The values kept, by rank, and their counts, `[n_rows] int64`, out of `n` and `baseline_n`."""

    value: Counts
    count: Counts
    n: int
    baseline_count: Counts
    baseline_n: int
    measures: Measures


def count_values(codes: ArrayLike, n_values: int) -> ValueCounts:
    """Count sentences by their one value, out of those that have one.

    `codes int [n_sentences]` count from 0 and are -1 where the sentence has no value: datasets, meta keys,
    lengths.

    >>> count_values([1, -1, 1, 0], 3)
    ValueCounts(count=array([1, 2, 0]), n=3)
    """
    values = np.asarray(codes, dtype=np.int64)
    values = values[values >= 0]
    return ValueCounts(np.bincount(values, minlength=n_values), values.size)


def count_tokens(sequences: Sequences, n_values: int) -> ValueCounts:
    """Count tokens by their code, out of all tokens: tags, tag classes."""
    return ValueCounts(np.bincount(sequences.items, minlength=n_values), sequences.items.size)


def count_sentences(sequences: Sequences, n_values: int) -> ValueCounts:
    """Count the sentences that contain each code, out of all sentences: nouns, verbs, adjectives."""
    return ValueCounts(_document_frequency(sequences.items, sequences.offsets, n_values), len(sequences))


def profile(winners: ValueCounts, baseline: ValueCounts, min_count: int = 0, max_values: int = 0) -> Profile:
    """Return the values of one property with their measures, by g2 and count descending, then by value.

    Both counts are over the same values, the baseline's without the winners. Values that occur nowhere have
    no row. `min_count` leaves out what fewer winners (or their tokens) have, `max_values` what comes after
    so many rows; 0 switches either off, as it should be for tags, tag classes, datasets and lengths.
    """
    value = np.flatnonzero((winners.count + baseline.count > 0) & (winners.count >= min_count))
    found = measures(winners.count[value], winners.n, baseline.count[value], baseline.n)
    order = np.lexsort((value, -winners.count[value], -found.g2))
    if max_values:
        order = order[:max_values]
    value = value[order]
    return Profile(
        value=value,
        count=winners.count[value],
        n=winners.n,
        baseline_count=baseline.count[value],
        baseline_n=baseline.n,
        measures=Measures(**{name: column[order] for name, column in vars(found).items()}),
    )


@compiled
def _document_frequency(items: NDArray[np.int32], offsets: Counts, n_values: int) -> Counts:
    last = np.full(n_values, -1, np.int64)
    result = np.zeros(n_values, np.int64)
    for sentence in range(offsets.size - 1):
        for place in range(offsets[sentence], offsets[sentence + 1]):
            item = items[place]
            if last[item] != sentence:
                last[item] = sentence
                result[item] += 1
    return result
