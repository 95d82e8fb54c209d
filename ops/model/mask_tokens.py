"""A seeded share of a sequence's tokens, replaced by the mask token (Kobayashi 2021: 12 %)."""

import numpy as np

from ops.model.tokenizer import Tokens
from ops.sampling import MASKING


def mask_tokens(
    tokens: Tokens, rate: float, mask_id: int, spared: frozenset[int], seed: int, sent_id: int, at_least_one: bool
) -> Tokens:
    """Return a sequence with a seeded draw of its tokens replaced by the mask token.

    Of n tokens that may be masked, floor(rate n + u) are, u uniform between 0 and 1: so that the share is `rate` on
    average, also where a sequence is short. The draw depends on the seed and the sequence's first sentence alone.

    Args:
        tokens: the sequence.
        rate: share of the tokens.
        mask_id: the mask token.
        spared: ids that are never masked; tokens that the tokenizer added are not either.
        seed: the run's seed.
        sent_id: id of the sequence's first sentence.
        at_least_one: mask one in any case (the published code does, which is far over 12 % of a short sentence).
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
