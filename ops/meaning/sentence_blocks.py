"""A model's results for blocks of drawn sentences, as arrays, and the table rows that they become."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ops.arrays import Arrays, Bools, Float32s
from ops.meaning.masked_words import band_of, mask, masked_rows
from ops.meaning.next_sentences import HEAD, TOKENS, next_rows
from ops.meaning.sentence_states import SentenceReader, cosines, overlap, own_ids
from ops.meaning.translations import translation_rows
from ops.model.tokenizer import PlacedTokens, Tokenizer

Texts = list[list[str | None]]
Results = dict[str, Arrays]  # no entries where no sentence was read
Tagger = Callable[[list[str], list[PlacedTokens]], list[list[str]]]
_TOGETHER = 1_000  # number of texts that are tokenized at once


def read_states(reader: SentenceReader, texts: list[str]) -> Results:
    """Return the `state` of sentences in all layers, `[sentences, layers, width]` float32."""
    return {"state": reader.read(reader.tokenizer.encode(texts))}


def read_pairs(reader: SentenceReader, head: torch.nn.Module | None, texts: Texts) -> Results:
    """Return a model's results for pairs: the similarity of the first sentence to each of the three others.

    Args:
        reader: the model.
        head: the same model with its head for next-sentence prediction; None if it has no such head.
        texts: the four texts of each pair, as `choose_sentences` returns them.

    Returns:
        The arrays `cosine` (in each layer, `[pairs, 3, layers]`), `tokens` (the token overlap, `[pairs, 3]`) and, with
        a head, `head` (its scores, `[pairs, 3]`). Values are NaN if a text is null.
    """
    # A missing sentence is replaced by the first sentence, because a decoder makes no token from an empty text.
    flat = [text or own[0] or "" for own in texts for text in own]
    tokens = reader.tokenizer.encode(flat)
    states = reader.read(tokens).reshape(len(texts), 4, reader.layers, -1)
    ids = [own_ids(own) for own in tokens]
    shared = [[overlap(ids[i], ids[i + k]) for k in (1, 2, 3)] for i in range(0, len(flat), 4)]
    results: Results = {"cosine": cosines(states[:, 1:], states[:, :1]), "tokens": np.array(shared, np.float32)}
    if head is not None:
        scores = [reader.next_scores(head, flat[::4], flat[k::4]) for k in (1, 2, 3)]
        results["head"] = np.stack(scores, 1)
    missing = np.array([[text is None for text in own[1:]] for own in texts])
    for values in results.values():
        values[missing] = np.nan
    return results


def read_masked(
    reader: SentenceReader, head: torch.nn.Module, texts: list[str], sent_ids: list[int], rate: float, seed: int,
    tag: Tagger,
) -> Results:  # fmt: skip
    """Return the rank and probability of the true token at each masked position, and the tag of the token's word.

    Args:
        reader: the model, whose tokenizer must have a mask token and report the positions of tokens.
        head: the same model with its head for masked tokens.
        texts, sent_ids: the sentences and their ids.
        rate, seed: the share of tokens that are masked, and the run's seed.
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


def pair_rows(results: Results, documents: list[str], seed: int) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of `meaning/sentences`, and the number of pairs skipped because a state is not finite.

    Args:
        results: the results of `read_pairs` for all pairs.
        documents: the document of each pair.
        seed: the seed of the shuffled control.
    """
    if not results:
        return [], 0
    near, shared = results["cosine"], results["tokens"]
    scores = {TOKENS: shared} | {f"layer:{layer + 1}": near[:, :, layer] for layer in range(near.shape[2])}
    if "head" in results:
        scores[HEAD] = results["head"]
    # Without a distant sentence, its token overlap is also NaN.
    good = np.asarray((np.isfinite(near[:, :2]).all(2) | np.isnan(shared[:, :2])).all(1))
    kept = {space: values[good] for space, values in scores.items()}
    return next_rows(kept, _only(documents, good), seed), int((~good).sum())


def masked_word_rows(
    results: Results, documents: dict[int, str], texts: list[str], tokenizer: Tokenizer, vocabulary: int
) -> list[dict[str, Any]]:
    """Return the rows of `meaning/masked_words`; there are none if no token was masked.

    Args:
        results: the results of `read_masked` for all sentences.
        documents: the document of each sentence, by its id.
        texts: the sentences whose tokens are counted for the frequency bands.
        tokenizer: the model's tokenizer.
        vocabulary: number of tokens of the vocabulary.
    """
    if not results or not len(results["token"]):
        return []
    count = np.zeros(max(vocabulary, int(results["token"].max()) + 1), np.int64)
    for first in range(0, len(texts), _TOGETHER):
        for tokens in tokenizer.encode(texts[first : first + _TOGETHER]):
            np.add.at(count, own_ids(tokens), 1)
    bands = band_of(count[results["token"]], int(count.sum()))
    of_places = np.array([documents[sent_id] for sent_id in results["sent_id"].tolist()], object)
    _, numbers = np.unique(of_places, return_inverse=True)
    return masked_rows(results["rank"], results["probability"], results["tag"].tolist(), bands, numbers)


def translated_rows(
    results: Results, keys: list[str], languages: list[str], documents: list[str], seed: int
) -> list[dict[str, Any]]:
    """Return the rows of `meaning/translations`, without the sentences that have a state that is not finite.

    Args:
        results: the results of `read_states` for all translations.
        keys, languages, documents: the key, the language and the document of each sentence.
        seed: the seed of the shuffled control.
    """
    if not results:
        return []
    states: Float32s = results["state"]
    good = np.asarray(np.isfinite(states).all((1, 2)))
    keys, languages, documents = (_only(values, good) for values in (keys, languages, documents))
    return translation_rows(states[good], keys, languages, documents, seed)


def _only(values: list[str], wanted: Bools) -> list[str]:
    return [value for value, is_wanted in zip(values, wanted, strict=True) if is_wanted]
