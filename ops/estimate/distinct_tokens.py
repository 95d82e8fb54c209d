"""How many distinct tokens a corpus has, by a sample of its sentences."""

import math
from collections.abc import Sequence

import numpy as np

from ops.model.tokenizer import Tokens

COUNTED = 5_000  # sentences that are enough of a sample


def distinct_tokens(sample: Sequence[Tokens], sentences: int, vocabulary: int) -> int:
    """Return about how many distinct tokens so many sentences have, by the growth from half of a sample to all of it.

    The number of distinct tokens is taken to grow by a power of the number of sentences (Heaps's law).

    Args:
        sample: some sentences' tokens.
        sentences: how many there are.
        vocabulary: the most distinct tokens that there can be.
    """
    chosen = np.random.default_rng(0).permutation(len(sample))
    half, whole = (len({i for row in rows for i in sample[row].ids}) for rows in (chosen[: len(chosen) // 2], chosen))
    power = math.log2(whole / half) if half else 1.0
    return int(min(whole * (sentences / len(sample)) ** power, vocabulary))
