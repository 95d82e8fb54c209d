"""Estimates how many distinct tokens a corpus has from a sample of its sentences."""

import math
from collections.abc import Sequence

import numpy as np

from ops.model.tokenizer import Tokens

COUNTED = 5_000  # number of sentences that is a sufficient sample


def distinct_tokens(sample: Sequence[Tokens], sentences: int, vocabulary: int) -> int:
    """Estimate the number of distinct tokens in a number of sentences, from the growth in a sample's second half.

    The number of distinct tokens is assumed to grow as a power of the number of sentences (Heaps's law).

    Args:
        sample: the tokens of some sentences.
        sentences: number of sentences for which to estimate.
        vocabulary: upper bound on the number of distinct tokens.
    """
    chosen = np.random.default_rng(0).permutation(len(sample))
    half, whole = (len({i for row in rows for i in sample[row].ids}) for rows in (chosen[: len(chosen) // 2], chosen))
    power = math.log2(whole / half) if half else 1.0
    return int(min(whole * (sentences / len(sample)) ** power, vocabulary))
