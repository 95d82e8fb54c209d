"""The masked-word task: the choice of masked tokens, and how well a model's head recovers the original tokens."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ops.arrays import Arrays, Float32s, Int64s
from ops.meaning.readers import Masked, SentenceReader, own_ids
from ops.model.tokenizer import PlacedTokens, Tokenizer, Tokens, mask_tokens
from ops.statistics.by_document import share_by_document

# The lowest frequency of each band, in occurrences per million tokens, and the band's name.
BANDS = ((0, "under 10"), (10, "10 to 100"), (100, "100 to 1,000"), (1_000, "1,000 to 10,000"), (10_000, "over 10,000"))
ALL = "all"
Tagger = Callable[[list[str], list[PlacedTokens]], list[list[str]]]
_TOGETHER = 1_000  # number of texts that are tokenized at once


def mask(tokens: Tokens, rate: float, mask_id: int, spared: frozenset[int], seed: int, sent_id: int) -> Masked | None:
    """Return a sentence with a seeded share of its tokens masked; None if no token is masked.

    Every drawn token is replaced by the mask token. Devlin et al. 2019 keep a tenth of the drawn tokens and replace
    another tenth by random tokens, but only in training. The tokens `spared` are never masked.
    """
    masked = mask_tokens(tokens, rate, mask_id, spared | {mask_id}, seed, sent_id, True)
    places = [i for i, (new, old) in enumerate(zip(masked.ids, tokens.ids, strict=True)) if new != old]
    return Masked(masked, places, [tokens.ids[i] for i in places]) if places else None


def read_masked(
    reader: SentenceReader, head: torch.nn.Module, texts: list[str], sent_ids: list[int], rate: float, seed: int,
    tag: Tagger,
) -> dict[str, Arrays]:  # fmt: skip
    """Return the rank and probability of the true token at each masked position, and the tag of the token's word.

    Args:
        reader: the model, whose tokenizer must have a mask token and report the positions of tokens.
        head: the same model with its head for masked tokens.
        tag: returns the tag of each token of sentences.

    Returns:
        The arrays `sent_id`, `token`, `rank`, `probability` and `tag`, with one value for each masked token.
    """
    tokenizer = reader.tokenizer
    placed = tokenizer.encode_with_spans(texts)
    spared = frozenset(() if tokenizer.unknown_id is None else (tokenizer.unknown_id,))
    if tokenizer.mask_id is None:
        raise RuntimeError("meaning: a tokenizer without a mask token has no masked-word task")
    tried = [
        mask(own.tokens, rate, tokenizer.mask_id, spared, seed, number)
        for own, number in zip(placed, sent_ids, strict=True)
    ]
    masked = [(i, m) for i, m in enumerate(tried) if m is not None]
    sentences = [m for _, m in masked]
    ranks, probability = reader.masked_ranks(head, sentences)
    tags = tag(texts, placed)
    return {
        "sent_id": np.array([sent_ids[i] for i, m in masked for _ in m.places], np.int64),
        "token": np.array([token for m in sentences for token in m.truth], np.int64),
        "rank": ranks,
        "probability": probability,
        "tag": np.array([tags[i][place] for i, m in masked for place in m.places], np.str_),
    }


def masked_word_rows(
    results: dict[str, Arrays], documents: dict[int, str], texts: list[str], tokenizer: Tokenizer, vocabulary: int
) -> list[dict[str, Any]]:
    """Return the rows of `meaning/masked_words`; there are none if no token was masked.

    Args:
        results, documents: the results of `read_masked` for all sentences, and the document of each sentence by its id.
        texts: the sentences whose tokens are counted for the frequency bands.
        tokenizer, vocabulary: the model's tokenizer, and number of tokens of the vocabulary.
    """
    if not len(results["token"]):
        return []
    count = np.zeros(max(vocabulary, int(results["token"].max()) + 1), np.int64)
    for first in range(0, len(texts), _TOGETHER):
        for tokens in tokenizer.encode(texts[first : first + _TOGETHER]):
            np.add.at(count, own_ids(tokens), 1)
    bands = band_of(count[results["token"]], int(count.sum()))
    of_places = np.array([documents[sent_id] for sent_id in results["sent_id"].tolist()], object)
    return masked_rows(results["rank"], results["probability"], results["tag"].tolist(), bands, of_places)


def band_of(count: Int64s, total: int) -> Int64s:
    """Return the index in `BANDS` of each token's frequency, `[tokens]`, given the counts and their total."""
    edges = np.array([edge for edge, _ in BANDS[1:]], np.float64)
    return np.searchsorted(edges, count / max(total, 1) * 1e6, side="right")


def masked_rows(
    ranks: Int64s, probability: Float32s, tags: list[str], bands: Int64s, documents: Arrays
) -> list[dict[str, Any]]:
    """Return the rows of `meaning/masked_words`: for all masked tokens, for each tag and for each frequency band.

    Args:
        ranks, probability: the rank, from 1, and the probability of the true token, `[places]`.
        tags, documents: the tag of the word that the token belongs to, and the document of the sentence, `[places]`.
        bands: the index in `BANDS` of the token's frequency, `[places]`.
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
