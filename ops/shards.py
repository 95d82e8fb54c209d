"""What runs when: shards as equal runs of sentence ids, their seeded order, and seeded uniform samples of ids."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]

# One number for each draw of a run, so that no two draws with one seed share their random stream.
ORDER, LIMIT, ACTIVATIONS, PILOT, BASELINE, NEAR, MASKING, CLUSTERS, SUPERCLUSTERS = range(9)


@dataclass(frozen=True)
class Shards:
    """Shard i holds the sentence ids from i * size up to (i + 1) * size - 1, the last one up to the end."""

    sentences: int
    size: int

    def __len__(self) -> int:
        return -(-self.sentences // self.size)

    def span(self, shard: int) -> tuple[int, int]:
        """Return the first id of a shard and the one after its last."""
        return shard * self.size, min((shard + 1) * self.size, self.sentences)

    def order(self, seed: int) -> list[int]:
        """Return all shards in a seeded random order, so that thresholds rise early whatever the corpus's order."""
        return [int(i) for i in np.random.default_rng([seed, ORDER]).permutation(len(self))]

    def split(self, ids: Ids) -> list[Ids]:
        """Split sorted ids by shard: the i-th array holds those of shard i."""
        cuts = np.searchsorted(ids, np.arange(1, len(self)) * self.size)
        return np.split(ids, cuts)


def draw(sentences: int, size: int, seed: int, purpose: int) -> Ids:
    """Draw a uniform sample of ids without replacement; all of them where `size` is not below `sentences`.

    Args:
        sentences: ids run from 0 to `sentences` - 1.
        size: how many to draw.
        seed: the run's seed.
        purpose: one of the draws that this module names.

    Returns:
        Sorted ids, `[min(size, sentences)]` int64.
    """
    if size >= sentences:
        return np.arange(sentences, dtype=np.int64)
    rng = np.random.default_rng([seed, purpose])
    return np.sort(rng.choice(sentences, size, replace=False)).astype(np.int64)


def pilot_size(sentences: int, at_most: int) -> int:
    """Return the sentences of the pilot: a fiftieth of the corpus, at least 256 and at most `at_most`."""
    return min(sentences, max(min(256, at_most), min(at_most, sentences // 50)))


def spans(total: int, size: int) -> list[tuple[int, int]]:
    """Cut the numbers from 0 to `total` - 1 into runs of `size`, as (first, stop)."""
    return [(start, min(start + size, total)) for start in range(0, total, size)]
