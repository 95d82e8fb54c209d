"""The masked-word task: which places are masked, and how well a model's head recovers the original tokens."""

from typing import Any

import numpy as np

from ops.arrays import Float32s, Int64s
from ops.meaning.sentence_states import Masked
from ops.model.mask_tokens import mask_tokens
from ops.model.tokenizer import Tokens
from ops.statistics.wilson import wilson

# The first count of each band, in occurrences per million tokens, and its name.
BANDS = ((0, "under 10"), (10, "10 to 100"), (100, "100 to 1,000"), (1_000, "1,000 to 10,000"), (10_000, "over 10,000"))
ALL = "all"


def mask(tokens: Tokens, rate: float, mask_id: int, spared: frozenset[int], seed: int, sent_id: int) -> Masked | None:
    """Return a sentence with a seeded share of its tokens masked; None if no token is.

    Every drawn token is replaced by the mask token. Devlin et al. 2019 keep a tenth and replace another tenth by random
    tokens, but only in training.

    Args:
        tokens: the sentence.
        rate: share of its tokens.
        mask_id: the mask token.
        spared: ids that are never masked.
        seed: the run's.
        sent_id: the sentence's.
    """
    found = mask_tokens(tokens, rate, mask_id, spared | {mask_id}, seed, sent_id, True)
    places = [i for i, (new, old) in enumerate(zip(found.ids, tokens.ids, strict=True)) if new != old]
    return Masked(found, places, [tokens.ids[i] for i in places]) if places else None


def band_of(count: Int64s, total: int) -> Int64s:
    """Return the index in `BANDS` of tokens by their frequency, `[tokens]`.

    Args:
        count: occurrences, `[tokens]`.
        total: of all tokens.
    """
    edges = np.array([edge for edge, _ in BANDS[1:]], np.float64)
    return np.searchsorted(edges, count / max(total, 1) * 1e6, side="right")


def masked_rows(ranks: Int64s, probability: Float32s, tags: list[str], bands: Int64s) -> list[dict[str, Any]]:
    """Return the rows of `meaning/masked_words`: all places, those of each tag, and those of each frequency band.

    Args:
        ranks: of the true token, from 1, `[places]`.
        probability: of the true token, `[places]`.
        tags: of the word that the token belongs to, `[places]`.
        bands: of the token, places in `BANDS`, `[places]`.
    """
    if not len(ranks):
        return []
    names = np.array([name for _, name in BANDS], object)
    groups = [(ALL, np.full(len(ranks), ALL, object)), ("tag", np.array(tags, object)), ("frequency", names[bands])]
    rows = []
    for group, values in groups:
        for value in sorted(set(values.tolist())):
            own = values == value
            n, first = int(own.sum()), int((ranks[own] == 1).sum())
            low, high = wilson(first / n, n)
            rows.append(
                {
                    "property": group, "value": value, "n": n, "rank_median": float(np.median(ranks[own])),
                    "reciprocal_rank": float((1 / ranks[own]).mean()), "first": first / n, "first_low": low,
                    "first_high": high, "within_10": float((ranks[own] <= 10).mean()),
                    "probability": float(probability[own].astype(np.float64).mean()),
                }
            )  # fmt: skip
    return sorted(rows, key=lambda row: (row["property"], row["value"]))
