"""Replacement of a seeded share of a sequence's tokens by the mask token (12 % in Kobayashi 2021)."""

import numpy as np

from ops.model.tokenizer import Tokens
from ops.sampling import MASKING


def mask_tokens(
    tokens: Tokens, rate: float, mask_id: int, spared: frozenset[int], seed: int, sent_id: int, at_least_one: bool
) -> Tokens:
    """Return a sequence in which a seeded random choice of tokens is replaced by the mask token.

    If n tokens may be masked, floor(rate n + u) of them are masked, with u uniform between 0 and 1. So the share is
    `rate` on average, even for short sequences. The choice depends only on the seed and the sequence's first sentence.

    Args:
        tokens: the sequence.
        rate: the share of tokens to mask.
        mask_id: the id of the mask token.
        spared: the ids that are never masked. Tokens that the tokenizer added are never masked either.
        seed: the run's seed.
        sent_id: id of the sequence's first sentence.
        at_least_one: whether to mask at least one token, as the published code does; in a short sentence this is far
            over 12 %.
    """
    maskable = [i for i, (t, a) in enumerate(zip(tokens.ids, tokens.added, strict=True)) if not a and t not in spared]
    if not rate or not maskable:
        return tokens
    rng = np.random.default_rng([seed, MASKING, sent_id])
    count = max(int(rate * len(maskable) + rng.random()), int(at_least_one))
    ids = list(tokens.ids)
    for place in rng.choice(maskable, min(count, len(maskable)), replace=False).tolist():
        ids[place] = mask_id
    return tokens._replace(ids=ids)
