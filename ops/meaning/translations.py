"""The test whether translations are nearer to each other than to other sentences: mean reciprocal ranks by layer."""

from itertools import compress, permutations
from typing import Any

import numpy as np

from ops.arrays import Float32s, Float64s, Int64s
from ops.meaning.next_sentences import SHUFFLED
from ops.sampling import TRANSLATIONS
from ops.statistics.by_document import share_by_document

LEAST = 10  # minimum number of translated sentences of a pair of languages
_ROWS = 512


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
    for start in range(0, len(one), _ROWS):
        scores = one[start : start + _ROWS] @ other.T
        partner = scores[np.arange(len(scores)), np.arange(start, start + len(scores))][:, None]
        ranks[start : start + _ROWS] = (scores > partner).sum(1) + ((scores == partner).sum(1) + 1) / 2
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
        clusters = min(document[first], document[second], key=lambda own: len(np.unique(own)))
        row = {"language": one, "other": other, "n": n, "chance": float(by_chance.mean())}
        spaces = [(f"layer:{layer + 1}", layer, second) for layer in range(last + 1)]
        spaces.append((SHUFFLED, last, np.random.default_rng([seed, TRANSLATIONS]).permutation(second)))
        for space, layer, partner in spaces:
            near = reciprocal_ranks(states[first, layer], states[partner, layer])
            measured = share_by_document(near, clusters, float(by_chance.var()))
            rows.append({"space": space, **row, **measured.columns("reciprocal_rank", "")})
    return sorted(rows, key=lambda row: (row["space"], row["language"], row["other"]))
