"""Shards: equal ranges of sentence ids, their size, and the seeded order in which they are processed."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ops.sampling import ORDER

Ids = npt.NDArray[np.int64]

SHARDS, LEAST_SIZE, MOST_SIZE = 32, 500, 100_000


def shard_size(sentences: int) -> int:
    """Return the default number of sentences in a shard: a 32nd of the corpus, within bounds.

    So workers finish a pass at about the same time, there are few files, and no shard takes long to repeat. The size
    does not depend on the number of workers, because results depend on the shards.

    >>> [shard_size(sentences) for sentences in (70, 5_000, 82_000, 82_000_000)]
    [500, 500, 2563, 100000]
    """
    return min(max(-(-sentences // SHARDS), LEAST_SIZE), MOST_SIZE)


@dataclass(frozen=True)
class Shards:
    """The shards of a corpus: shard i contains the ids from i * size to (i + 1) * size - 1, up to the corpus's end.

    Attributes:
        sentences: number of sentences of the corpus, whose ids start at 0.
        size: number of sentences of a shard; the last shard may have fewer.
    """

    sentences: int
    size: int

    def __len__(self) -> int:
        return -(-self.sentences // self.size)

    def span(self, shard: int) -> tuple[int, int]:
        """Return a shard's ids as (start, stop)."""
        return shard * self.size, min((shard + 1) * self.size, self.sentences)

    def order(self, seed: int) -> list[int]:
        """Return all shards in a seeded random order, so that thresholds rise early for any order of the corpus."""
        return [int(i) for i in np.random.default_rng([seed, ORDER]).permutation(len(self))]

    def split(self, ids: Ids) -> list[Ids]:
        """Return sorted ids split by shard: the i-th array contains the ids of shard i."""
        cuts = np.searchsorted(ids, np.arange(1, len(self)) * self.size)
        return np.split(ids, cuts)


def spans(total: int, size: int) -> list[tuple[int, int]]:
    """Return ranges of `size` numbers that cover 0 to `total` - 1, each as (start, stop); the last may be shorter."""
    return [(start, min(start + size, total)) for start in range(0, total, size)]
