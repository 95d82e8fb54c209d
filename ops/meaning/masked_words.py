"""The masked-word task: the choice of masked tokens, and how well a model's head recovers the original tokens."""

from typing import Any

import numpy as np

from ops.arrays import Float32s, Int64s
from ops.meaning.sentence_states import Masked
from ops.model.tokenizer import Tokens, mask_tokens
from ops.statistics.by_document import share_by_document

# The lowest frequency of each band, in occurrences per million tokens, and the band's name.
BANDS = ((0, "under 10"), (10, "10 to 100"), (100, "100 to 1,000"), (1_000, "1,000 to 10,000"), (10_000, "over 10,000"))
ALL = "all"


def mask(tokens: Tokens, rate: float, mask_id: int, spared: frozenset[int], seed: int, sent_id: int) -> Masked | None:
    """Return a sentence with a seeded share of its tokens masked; None if no token is masked.

    Every drawn token is replaced by the mask token. Devlin et al. 2019 keep a tenth of the drawn tokens and replace
    another tenth by random tokens, but only in training.

    Args:
        tokens: the sentence.
        rate: the share of tokens to mask.
        mask_id: the id of the mask token.
        spared: the ids that are never masked.
        seed: the run's seed.
        sent_id: the id of the sentence.
    """
    masked = mask_tokens(tokens, rate, mask_id, spared | {mask_id}, seed, sent_id, True)
    places = [i for i, (new, old) in enumerate(zip(masked.ids, tokens.ids, strict=True)) if new != old]
    return Masked(masked, places, [tokens.ids[i] for i in places]) if places else None


def band_of(count: Int64s, total: int) -> Int64s:
    """Return the index in `BANDS` of each token's frequency, `[tokens]`.

    Args:
        count: number of occurrences of each token, `[tokens]`.
        total: number of occurrences of all tokens.
    """
    edges = np.array([edge for edge, _ in BANDS[1:]], np.float64)
    return np.searchsorted(edges, count / max(total, 1) * 1e6, side="right")


def masked_rows(
    ranks: Int64s, probability: Float32s, tags: list[str], bands: Int64s, documents: Int64s
) -> list[dict[str, Any]]:
    """Return the rows of `meaning/masked_words`: for all masked tokens, for each tag and for each frequency band.

    Args:
        ranks: the rank of the true token, from 1, `[places]`.
        probability: the probability of the true token, `[places]`.
        tags: the tag of the word that the token belongs to, `[places]`.
        bands: the index in `BANDS` of the token's frequency, `[places]`.
        documents: the number of the sentence's document, `[places]`.
    """
    if not len(ranks):
        return []
    names = np.array([name for _, name in BANDS], object)
    groups = [(ALL, np.full(len(ranks), ALL, object)), ("tag", np.array(tags, object)), ("frequency", names[bands])]
    rows = []
    for group, values in groups:
        for value in sorted(set(values.tolist())):
            is_value = values == value
            own_ranks, n = ranks[is_value], int(is_value.sum())
            first = share_by_document(own_ranks == 1, documents[is_value])
            rows.append(
                {
                    "property": group, "value": value, "n": n, "rank_median": float(np.median(own_ranks)),
                    "reciprocal_rank": float((1 / own_ranks).mean()), **first.columns("first"),
                    "within_10": float((own_ranks <= 10).mean()),
                    "probability": float(probability[is_value].astype(np.float64).mean()),
                }
            )  # fmt: skip
    return sorted(rows, key=lambda row: (row["property"], row["value"]))
