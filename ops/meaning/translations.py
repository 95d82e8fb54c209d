"""The test whether translations are nearer to each other than to other sentences: mean reciprocal ranks by layer."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np

from ops.arrays import Float32s, Float64s, Int64s
from ops.meaning.next_sentences import SHUFFLED
from ops.sampling import TRANSLATIONS
from ops.statistics.by_document import share_by_document

LEAST = 10  # minimum number of translated sentences of a pair of languages
_ROWS = 512


def partners(keys: list[str], languages: list[str]) -> dict[tuple[str, str], tuple[Int64s, Int64s]]:
    """Return for each pair of languages the rows that are translations of each other, because they share a key.

    If a language has several sentences with the same key, the first is used. Pairs of languages with fewer than `LEAST`
    translated sentences are skipped.

    Args:
        keys: the key of each sentence, which its translations share, `[rows]`.
        languages: the language of each sentence, `[rows]`.
    """
    places: dict[str, dict[str, int]] = {}
    for row, (key, language) in enumerate(zip(keys, languages, strict=True)):
        places.setdefault(language, {}).setdefault(key, row)
    found = {}
    for one, other in permutations(sorted(places), 2):
        shared = [key for key in places[one] if key in places[other]]
        if len(shared) >= LEAST:
            rows = np.array([[places[one][key], places[other][key]] for key in sorted(shared)], np.int64)
            found[one, other] = (rows[:, 0], rows[:, 1])
    return found


def reciprocal_ranks(states: Float32s, others: Float32s) -> Float64s:
    """Return 1 / rank of each state's own partner among all of `others` by cosine, `[n]`; ties get the mean rank.

    Args:
        states: the states, `[n, width]`.
        others: the states of the partners, `[n, width]`; row i is the partner of row i of `states`.
    """
    one, other = (s.astype(np.float64) for s in (states, others))
    one /= np.maximum(np.linalg.norm(one, axis=1, keepdims=True), 1e-30)
    other /= np.maximum(np.linalg.norm(other, axis=1, keepdims=True), 1e-30)
    found = np.zeros(len(one))
    for start in range(0, len(one), _ROWS):
        scores = one[start : start + _ROWS] @ other.T
        own = scores[np.arange(len(scores)), np.arange(start, start + len(scores))][:, None]
        above, level = (scores > own).sum(1), (scores == own).sum(1)
        found[start : start + _ROWS] = 1 / (above + (level + 1) / 2)
    return found


def translation_rows(
    read: Callable[[int], Float32s], layers: int, keys: list[str], languages: list[str], seed: int
) -> list[dict[str, Any]]:
    """Return the rows of `meaning/translations`.

    Args:
        read: returns the states of one layer, from 1, `[rows, width]`.
        layers: the model's number of layers.
        keys, languages: as `partners` takes them.
        seed: the seed of the shuffled control, which uses the last layer with partners in random order.
    """
    found = partners(keys, languages)
    rows: list[dict[str, Any]] = []
    for layer in range(1, layers + 1):
        states = read(layer)
        for (one, other), (a, b) in found.items():
            orders = [(f"layer:{layer}", b)]
            if layer == layers:
                orders.append((SHUFFLED, np.random.default_rng([seed, TRANSLATIONS]).permutation(b)))
            for space, to in orders:
                n = len(a)
                by_chance = 1 / np.arange(1, n + 1)
                chance, spread = float(by_chance.mean()), float(by_chance.var())
                near = reciprocal_ranks(states[a], states[to])
                row = {"space": space, "language": one, "other": other, "n": n, "chance": chance}
                rows.append(row | share_by_document(near, np.arange(n), spread).columns("reciprocal_rank", ""))
    return sorted(rows, key=lambda row: (row["space"], row["language"], row["other"]))
