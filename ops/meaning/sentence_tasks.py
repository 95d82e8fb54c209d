"""What a model's states and heads tell about sentences: next sentences, masked words and translations.

The next sentence is compared with others of its document and of another one. Masked tokens are guessed by the model's
head. Translations are ranked among all sentences.
"""

import math
from collections.abc import Callable
from itertools import compress, permutations
from typing import Any

import numpy as np
import torch

from ops.arrays import Arrays, Float32s, Float64s, Int64s
from ops.meaning.readers import Masked, SentenceReader, own_ids
from ops.model.load import ModelFacts
from ops.model.tokenizer import PlacedTokens, Tokenizer, Tokens, mask_tokens
from ops.sampling import NEXT_SENTENCES, TRANSLATIONS
from ops.shards import spans
from ops.statistics.by_document import area_by_document, share_by_document

SAME, OTHER = "same_document", "other_document"
TOKENS, HEAD, SHUFFLED = "tokens", "head", "shuffled"
LEAST_PAIRS = 20
# The lowest frequency of each band, in occurrences per million tokens, and the band's name.
BANDS = ((0, "under 10"), (10, "10 to 100"), (100, "100 to 1,000"), (1_000, "1,000 to 10,000"), (10_000, "over 10,000"))
ALL = "all"
Tagger = Callable[[list[str], list[PlacedTokens]], list[list[str]]]
_TOGETHER = 1_000  # number of texts that are tokenized at once
LEAST = 10  # minimum number of translated sentences of a pair of languages
_ROWS = 512


def read_pairs(
    reader: SentenceReader, head: torch.nn.Module | None, texts: list[list[str | None]]
) -> dict[str, Arrays]:
    """Return a model's results for pairs: the similarity of the first sentence to each of the three others.

    `head` is the same model with its head for next-sentence prediction, None if it has none, and `texts` are the four
    texts of each pair, as `choose_sentences` returns them.

    Returns:
        The arrays `cosine` (in each layer, `[pairs, 3, layers]`), `tokens` (the token overlap, `[pairs, 3]`) and, with
        a head, `head` (its scores, `[pairs, 3]`). Values are NaN if a text is null.
    """
    # A missing sentence is replaced by the first sentence, because a decoder makes no token from an empty text.
    flat = [text or pair[0] or "" for pair in texts for text in pair]
    tokens = reader.tokenizer.encode(flat)
    states = reader.read(tokens).reshape(len(texts), 4, reader.layers, -1)
    ids = [own_ids(sentence) for sentence in tokens]
    shared = [[overlap(ids[i], ids[i + k]) for k in (1, 2, 3)] for i in range(0, len(flat), 4)]
    results = {"cosine": cosines(states[:, 1:], states[:, :1]), "tokens": np.array(shared, np.float32)}
    if head is not None:
        results["head"] = np.stack([reader.next_scores(head, flat[::4], flat[k::4]) for k in (1, 2, 3)], 1)
    missing = np.array([[text is None for text in pair[1:]] for pair in texts])
    for values in results.values():
        values[missing] = np.nan
    return results


def cosines(states: Float32s, others: Float32s) -> Float32s:
    """Return the cosine of each pair of states over the last axis, computed in float64 and rounded to float32."""
    a, b = states.astype(np.float64), others.astype(np.float64)
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((a * b).sum(-1) / lengths, np.float32)


def overlap(first: list[int], second: list[int]) -> float:
    """Return the number of shared distinct tokens, divided by the square root of the product of both distinct counts.

    >>> overlap([1, 2, 2], [2, 3])
    0.5
    """
    a, b = set(first), set(second)
    return len(a & b) / max(math.sqrt(len(a) * len(b)), 1.0)


def next_rows(results: dict[str, Arrays], documents: list[str], seed: int) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of `meaning/sentences`, and the number of pairs skipped because a state is not finite.

    In the control `shuffled`, the last layer's similarities to the next and the other sentence are swapped at random.
    `results` are those of `read_pairs` for all pairs, and `documents` the document of each pair.
    """
    near, shared = results["cosine"], results["tokens"]
    # Without a distant sentence, its token overlap is also NaN.
    good = np.asarray((np.isfinite(near[:, :2]).all(2) | np.isnan(shared[:, :2])).all(1))
    scores = {TOKENS: shared, SHUFFLED: near[:, :, -1]}
    scores |= {f"layer:{layer + 1}": near[:, :, layer] for layer in range(near.shape[2])}
    if "head" in results:
        scores[HEAD] = results["head"]
    document, rows = np.array(documents, object), []
    for space, of_pairs in scores.items():
        for column, against in ((1, SAME), (2, OTHER)):
            known = good & np.isfinite(of_pairs[:, 0]) & np.isfinite(of_pairs[:, column])
            distinct = len(np.unique(document[known]))
            if known.sum() < LEAST_PAIRS or distinct < 2:
                continue
            following, other = of_pairs[known, 0], of_pairs[known, column]
            if space == SHUFFLED:
                swap = np.random.default_rng([seed, NEXT_SENTENCES, column]).random(len(other)) < 0.5
                following, other = np.where(swap, other, following), np.where(swap, following, other)
            row = {"space": space, "against": against, "n": int(known.sum()), "documents": distinct}
            rows.append(row | area_by_document(following, other, document[known]).columns("auc", ""))
    return sorted(rows, key=lambda row: (row["space"], row["against"])), int((~good).sum())


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
    assert tokenizer.mask_id is not None
    masked = []
    for i, (sent_id, encoded) in enumerate(zip(sent_ids, placed, strict=True)):
        if sentence := mask(encoded.tokens, rate, tokenizer.mask_id, spared, seed, sent_id):
            masked.append((i, sentence))
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
    results: dict[str, Arrays], documents: dict[int, str], texts: list[str], facts: ModelFacts
) -> list[dict[str, Any]]:
    """Return the rows of `meaning/masked_words`; there are none if no token was masked.

    Args:
        results, documents: the results of `read_masked` for all sentences, and the document of each sentence by its id.
        texts: the sentences whose tokens are counted for the frequency bands.
    """
    tokenizer, count = (
        Tokenizer(facts),
        np.zeros(max(facts.vocabulary, int(results["token"].max(initial=-1)) + 1), np.int64),
    )
    for start, stop in spans(len(texts), _TOGETHER):
        for tokens in tokenizer.encode(texts[start:stop]):
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
    names = np.array([name for _, name in BANDS], object)
    groups = [(ALL, np.full(len(ranks), ALL, object)), ("tag", np.array(tags, object)), ("frequency", names[bands])]
    rows = []
    for group, values in groups:
        for value in sorted(set(values.tolist())):
            is_value = values == value
            own_ranks = ranks[is_value]
            row = {"property": group, "value": value, "n": len(own_ranks), "rank_median": float(np.median(own_ranks))}
            row |= {"reciprocal_rank": float((1 / own_ranks).mean()), "within_10": float((own_ranks <= 10).mean())}
            row |= {"probability": float(probability[is_value].astype(np.float64).mean())}
            rows.append(row | share_by_document(own_ranks == 1, documents[is_value]).columns("first"))
    return sorted(rows, key=lambda row: (row["property"], row["value"]))


def partners(keys: list[str], languages: list[str]) -> dict[tuple[str, str], Int64s]:
    """Return for each pair of languages the rows that are translations of each other, `[translations, 2]`.

    Translations share a key; given are the key and the language of each sentence, `[rows]`. If a language has several
    sentences with the same key, the first is used. Pairs of languages with fewer than `LEAST` translated sentences are
    skipped.
    """
    rows: dict[str, dict[str, int]] = {}
    for row, (key, language) in enumerate(zip(keys, languages, strict=True)):
        rows.setdefault(language, {}).setdefault(key, row)
    shared = {(a, b): sorted(rows[a].keys() & rows[b].keys()) for a, b in permutations(sorted(rows), 2)}
    return {
        (a, b): np.array([[rows[a][key], rows[b][key]] for key in both], np.int64)
        for (a, b), both in shared.items() if len(both) >= LEAST
    }  # fmt: skip


def reciprocal_ranks(states: Float32s, others: Float32s) -> Float64s:
    """Return 1 / rank of each state's own partner among all of `others` by cosine, `[n]`; ties get the mean rank.

    Row i of `others` is the partner of row i of `states`, `[n, width]`.
    """
    one, other = (s.astype(np.float64) for s in (states, others))
    one /= np.maximum(np.linalg.norm(one, axis=1, keepdims=True), 1e-30)
    other /= np.maximum(np.linalg.norm(other, axis=1, keepdims=True), 1e-30)
    ranks = np.zeros(len(one))
    for start, stop in spans(len(one), _ROWS):
        scores = one[start:stop] @ other.T
        partner = scores.diagonal(start)[:, None]
        ranks[start:stop] = (scores > partner).sum(1) + ((scores == partner).sum(1) + 1) / 2
    return 1 / ranks


def translation_rows(
    states: Float32s, keys: list[str], languages: list[str], documents: list[str], seed: int
) -> list[dict[str, Any]]:
    """Return the rows of `meaning/translations`, without the sentences that have a state that is not finite.

    The intervals are by document of the language that has fewer documents. In simulations with 10 to 60 documents of
    unequal size, which differ in how well they are translated, 91 to 99 % of them contained the truth.

    Args:
        states, documents: the states of the sentences, `[rows, layers, width]`, and the document of each, `[rows]`.
        keys, languages: as `partners` takes them.
        seed: the seed of the shuffled control, which uses the last layer with partners in random order.
    """
    rows: list[dict[str, Any]] = []
    good, last = np.asarray(np.isfinite(states).all((1, 2))), states.shape[1] - 1
    states, document = states[good], np.array(documents, object)[good]
    known = partners(list(compress(keys, good)), list(compress(languages, good)))
    for (one, other), translations in known.items():
        first, second = translations.T
        n, by_chance = len(first), 1 / np.arange(1, len(first) + 1)
        clusters = min(document[first], document[second], key=lambda side: len(np.unique(side)))
        row = {"language": one, "other": other, "n": n, "chance": float(by_chance.mean())}
        spaces = [(f"layer:{layer + 1}", layer, second) for layer in range(last + 1)]
        spaces.append((SHUFFLED, last, np.random.default_rng([seed, TRANSLATIONS]).permutation(second)))
        for space, layer, partner in spaces:
            near = reciprocal_ranks(states[first, layer], states[partner, layer])
            measured = share_by_document(near, clusters, float(by_chance.var()))
            rows.append({"space": space, **row, **measured.columns("reciprocal_rank", "")})
    return sorted(rows, key=lambda row: (row["space"], row["language"], row["other"]))
