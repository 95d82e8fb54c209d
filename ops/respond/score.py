"""The pooled activations of texts, as `topk` computes those of sentences."""

from collections.abc import Sequence

import numpy as np

from ops.arrays import Float32s
from ops.errors import InputError
from ops.model.activations import Scorer
from ops.model.batches import Lengths, length_batches
from ops.model.tokenizer import Tokens
from ops.topk.score_shard import score_batch


def score_texts(scorer: Scorer, texts: Sequence[Tokens], budget: int, lengths: Lengths) -> Float32s:
    """Return the activations of all units for each text, `[texts, units]`.

    Args:
        scorer: the model.
        texts: the tokens of each text.
        budget, lengths: as `length_batches` takes them.

    Raises:
        InputError: an activation is not finite.
    """
    parts = []
    order = list(length_batches(np.array([len(text.ids) for text in texts], np.int64), budget, lengths))
    for rows in order:
        values, _, reasons = score_batch(scorer, [texts[row] for row in rows])
        for row, why in reasons.items():
            raise InputError(f"text {int(rows[row]) + 1}: {why}; topk leaves such sentences out, so change the text")
        parts.append(values.cpu().numpy())
    found = np.concatenate(parts)
    found[np.concatenate(order)] = found.copy()
    return found
