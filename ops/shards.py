"""Shards: equal runs of sentence ids, their size, and the seeded order in which they are worked on."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ops.sampling import ORDER

Ids = npt.NDArray[np.int64]

SHARDS, LEAST_SIZE, MOST_SIZE = 32, 500, 100_000


def shard_size(sentences: int) -> int:
    """Return the sentences of a shard where the user gives no number: a 32nd of the corpus, within bounds.

    So workers come out even at the end of a pass, the files are few, and no shard takes long to do again. The number of
    workers does not count, since results depend on the shards.

    >>> [shard_size(sentences) for sentences in (70, 5_000, 82_000, 82_000_000)]
    [500, 500, 2563, 100000]
    """
    return min(max(-(-sentences // SHARDS), LEAST_SIZE), MOST_SIZE)


@dataclass(frozen=True)
class Shards:
    """The shards of a corpus: shard i holds the ids from i * size to (i + 1) * size - 1, the last one to the end.

    Attributes:
        sentences: sentences of the corpus, whose ids run from 0.
        size: sentences of a shard.
    """

    sentences: int
    size: int

    def __len__(self) -> int:
        return -(-self.sentences // self.size)

    def span(self, shard: int) -> tuple[int, int]:
        """Return a shard's ids as (start, stop)."""
        return shard * self.size, min((shard + 1) * self.size, self.sentences)

    def order(self, seed: int) -> list[int]:
        """Return all shards in a seeded random order, so that thresholds rise early whatever the corpus's order."""
        return [int(i) for i in np.random.default_rng([seed, ORDER]).permutation(len(self))]

    def split(self, ids: Ids) -> list[Ids]:
        """Split sorted ids by shard: the i-th array holds those of shard i."""
        cuts = np.searchsorted(ids, np.arange(1, len(self)) * self.size)
        return np.split(ids, cuts)


def spans(total: int, size: int) -> list[tuple[int, int]]:
    """Cut the numbers from 0 to `total` - 1 into runs of `size`, each as (start, stop)."""
    return [(start, min(start + size, total)) for start in range(0, total, size)]
