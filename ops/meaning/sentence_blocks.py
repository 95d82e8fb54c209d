"""A model's results for blocks of drawn sentences, as columns, and the table rows that they become."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from ops.arrays import Float32s
from ops.meaning.masked_words import band_of, mask, masked_rows
from ops.meaning.next_sentences import HEAD, TOKENS, next_rows
from ops.meaning.sentence_states import SentenceReader, cosines, masked_ranks, next_scores, overlap, own_ids
from ops.meaning.translations import translation_rows
from ops.model.batches import Lengths
from ops.model.tokenizer import PlacedTokens, Tokenizer

Texts = list[list[str | None]]
Tagger = Callable[[list[str], list[PlacedTokens]], list[list[str]]]
_TOGETHER = 1_000  # number of texts that are tokenized at once


def read_states(reader: SentenceReader, texts: list[str]) -> dict[str, pa.Array]:
    """Return the column `state` of sentences: their states in all layers, one layer after another."""
    return {"state": _lists(reader.read(reader.tokenizer.encode(texts)).reshape(len(texts), -1))}


def read_pairs(reader: SentenceReader, head: torch.nn.Module | None, texts: Texts) -> dict[str, pa.Array]:
    """Return a model's results for pairs: the similarity of the first sentence to each of the three others.

    Args:
        reader: the model.
        head: the same model with its head for next-sentence prediction; None if it has no such head.
        texts: the four texts of each pair, as `choose_sentences` returns them.

    Returns:
        The columns of lists `cosine` (of each other sentence in each layer), `tokens` (the token overlap with each
        other sentence) and `head` (the head's scores). Values are NaN if a text is null or there is no head.
    """
    # A missing sentence is replaced by the first sentence, because a decoder makes no token from an empty text.
    flat = [text or own[0] or "" for own in texts for text in own]
    tokens = reader.tokenizer.encode(flat)
    states = reader.read(tokens).reshape(len(texts), 4, reader.layers, -1)
    near = cosines(states[:, 1:], states[:, :1])
    shared = np.array(
        [[overlap(own_ids(tokens[i]), own_ids(tokens[i + k])) for k in (1, 2, 3)] for i in range(0, len(flat), 4)],
        np.float32,
    )
    scores = np.full((len(texts), 3), np.nan, np.float32)
    if head is not None:
        for k in (1, 2, 3):
            pairs = (flat[::4], flat[k::4])
            scores[:, k - 1] = next_scores(head, reader.tokenizer, *pairs, reader.token_budget, reader.lengths)
    missing = np.array([[text is None for text in own[1:]] for own in texts])
    for found in (near, shared, scores):
        found[missing] = np.nan
    return {"cosine": _lists(near.reshape(len(texts), -1)), "tokens": _lists(shared), "head": _lists(scores)}


def read_masked(
    model: torch.nn.Module,
    tokenizer: Tokenizer,
    texts: list[str],
    sent_ids: list[int],
    rate: float,
    seed: int,
    budget: int,
    tag: Tagger,
    lengths: Lengths = "mixed",
) -> dict[str, pa.Array]:
    """Return the rank and probability of the true token at each masked position, and the tag of the token's word.

    Args:
        model: the model with its head for masked tokens.
        tokenizer: the model's tokenizer, which must have a mask token and report the positions of tokens.
        texts, sent_ids: the sentences and their ids.
        rate, seed: the share of tokens that are masked, and the run's seed.
        budget, lengths: as `length_batches` takes them.
        tag: returns the tag of each token of sentences.

    Returns:
        The columns `token`, `rank`, `probability` and `tag`, with one row for each masked token.
    """
    placed = tokenizer.encode_with_spans(texts)
    spared = frozenset(() if tokenizer.unknown_id is None else (tokenizer.unknown_id,))
    if tokenizer.mask_id is None:
        raise RuntimeError("meaning: a tokenizer without a mask token has no masked-word task")
    own = [
        mask(found.tokens, rate, tokenizer.mask_id, spared, seed, number)
        for found, number in zip(placed, sent_ids, strict=True)
    ]
    there = [(i, m) for i, m in enumerate(own) if m is not None]
    ranks, probability = masked_ranks(model, [m for _, m in there], tokenizer.pad_id, budget, lengths)
    tags = tag(texts, placed)
    return {
        "token": pa.array([t for _, m in there for t in m.truth], pa.int64()),
        "rank": pa.array(ranks),
        "probability": pa.array(probability),
        "tag": pa.array([tags[i][place] for i, m in there for place in m.places], pa.string()),
    }


def pair_rows(
    found: pa.Table | None, documents: list[str], layers: int, has_head: bool, seed: int
) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of `meaning/sentences`, and the number of pairs skipped because a state is not finite.

    Args:
        found: the result of `read_pairs` for all pairs; None if there are no pairs.
        documents: the document of each pair.
        layers, has_head: the model's number of layers, and whether it has a head for next-sentence prediction.
        seed: the seed of the shuffled control.
    """
    if found is None:
        return [], 0
    near, shared = _matrix(found["cosine"], (len(documents), 3, layers)), _matrix(found["tokens"], (len(documents), 3))
    scores = {TOKENS: shared}
    scores |= {f"layer:{layer + 1}": near[:, :, layer] for layer in range(layers)}
    if has_head:
        scores[HEAD] = _matrix(found["head"], (len(documents), 3))
    # Without a distant sentence, its token overlap is also NaN.
    good = np.asarray((np.isfinite(near[:, :2]).all(2) | np.isnan(shared[:, :2])).all(1))
    kept = {space: own[good] for space, own in scores.items()}
    of_documents = [document for document, fine in zip(documents, good, strict=True) if fine]
    return next_rows(kept, of_documents, seed), int((~good).sum())


def masked_word_rows(
    found: pa.Table | None, texts: list[str], tokenizer: Tokenizer, vocabulary: int
) -> list[dict[str, Any]]:
    """Return the rows of `meaning/masked_words`; there are none if no token was masked.

    Args:
        found: the result of `read_masked` for all sentences; None if there are no sentences.
        texts: the sentences whose tokens are counted for the frequency bands.
        tokenizer: the model's tokenizer.
        vocabulary: number of tokens of the vocabulary.
    """
    if found is None or not found.num_rows:
        return []
    count = np.zeros(max(vocabulary, int(pc.max(found["token"]).as_py()) + 1), np.int64)
    for first in range(0, len(texts), _TOGETHER):
        for tokens in tokenizer.encode(texts[first : first + _TOGETHER]):
            np.add.at(count, own_ids(tokens), 1)
    bands = band_of(count[found["token"].to_numpy()], int(count.sum()))
    return masked_rows(found["rank"].to_numpy(), found["probability"].to_numpy(), found["tag"].to_pylist(), bands)


def translated_rows(
    found: pa.Table | None, keys: list[str], languages: list[str], layers: int, seed: int
) -> list[dict[str, Any]]:
    """Return the rows of `meaning/translations`, without the sentences that have a state that is not finite.

    Args:
        found: the result of `read_states` for all translations; None if there are no translations.
        keys, languages: the key and the language of each sentence.
        layers: the model's number of layers.
        seed: the seed of the shuffled control.
    """
    if found is None:
        return []
    states = _matrix(found["state"], (len(keys), layers, -1))
    good = np.asarray(np.isfinite(states).all((1, 2)))
    kept = [key for key, fine in zip(keys, good, strict=True) if fine]
    tongues = [language for language, fine in zip(languages, good, strict=True) if fine]
    return translation_rows(lambda layer: states[good, layer - 1], layers, kept, tongues, seed)


def _lists(values: Float32s) -> pa.Array:
    flat = pa.array(np.ascontiguousarray(values, np.float32).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def _matrix(column: pa.ChunkedArray, shape: tuple[int, ...]) -> Float32s:
    return np.concatenate([chunk.flatten().to_numpy() for chunk in column.chunks]).reshape(shape)
