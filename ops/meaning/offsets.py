"""Similarity and offsets in one space of words: nearest neighbours, and answers to a : b = c : ? by three rules."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ops.arrays import Bools, Float32s, Float64s, Int64s
from ops.meaning.analogies import Analogies
from ops.meaning.words import fold
from ops.statistics.highest import highest

RULES = ("add", "mul", "nearest_c")
ANSWERS = tuple((rule, excluded) for rule in RULES for excluded in (False, True))  # in the order of the table
_EPSILON = 1e-3  # the epsilon of 3CosMul (Levy and Goldberg 2014)
_ROWS = 512  # number of rows scored at once


class Space(NamedTuple):
    """Vectors of words.

    Attributes:
        name: `counts`, `embedding`, `layer:1`, ...
        words: the words that have a vector, by descending frequency; among equally near words the first is chosen.
        vectors: `[words, dimensions]` float32; no row is zero.
    """

    name: str
    words: list[str]
    vectors: Float32s

    @property
    def units(self) -> Float64s:
        """The vectors at length 1, `[words, dimensions]` float64."""
        wide = self.vectors.astype(np.float64)
        return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True))


class Judged(NamedTuple):
    """The results of answering questions in one space.

    Attributes:
        space: the name of the space.
        known: for each category, whether all four words of each question have a vector, `[questions]`.
        right: for each category, whether each question is answered correctly, `[questions, answers]`, in the order of
            `ANSWERS`; false if the question is not known.
    """

    space: str
    known: dict[str, Bools]
    right: dict[str, Bools]


def make_space(name: str, words: list[str], vectors: Float32s) -> Space:
    """Return a space of the words whose vector is finite and not zero."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    good = np.flatnonzero(np.isfinite(norms) & (norms > 0))
    return Space(name, [words[i] for i in good], vectors[good])


def nearest(space: Space, most: int) -> tuple[Int64s, Float32s, Float32s]:
    """Return each word's nearest other words by cosine; ties are ordered by frequency.

    Args:
        space: the space.
        most: number of neighbours; fewer are returned if the space has fewer other words.

    Returns:
        The indices of the neighbours, `[words, neighbours]`, their cosines, and their plain inner products (float32).
    """
    units, wide = space.units, space.vectors.astype(np.float64)
    size = len(units)
    most = min(most, max(size - 1, 0))
    others, cosines = np.zeros((size, most), np.int64), np.zeros((size, most), np.float32)
    inner = np.zeros((size, most), np.float32)
    for start in range(0, size if most else 0, _ROWS):
        rows = slice(start, min(start + _ROWS, size))
        scores = units[rows] @ units.T
        scores[np.arange(len(scores)), np.arange(rows.start, rows.stop)] = -np.inf
        others[rows] = highest(scores, most)
        cosines[rows] = np.take_along_axis(scores, others[rows], 1)
        inner[rows] = np.einsum("rd,rkd->rk", wide[rows], wide[others[rows]])
    return others, cosines, inner


def neighbour_rows(space: Space, most: int) -> dict[str, Any]:
    """Return the columns of `meaning/neighbours` of a space, in the order of the table."""
    others, cosines, inner = nearest(space, most)
    names = np.array(space.words, object)
    order = np.array(sorted(range(len(names)), key=lambda i: space.words[i].encode()), np.int64)
    size = others.shape[1]
    return {
        "space": [space.name] * (len(order) * size),
        "word": np.repeat(names[order], size),
        "rank": np.tile(np.arange(1, size + 1, dtype=np.int32), len(order)),
        "other": names[others[order]].ravel(),
        "cosine": cosines[order].ravel(),
        "inner": inner[order].ravel(),
    }


def answers(space: Space, questions: Int64s) -> Int64s:
    """Return the answers to questions by each rule, with and without the words a, b, c excluded.

    `add`: the x with the highest cos(x, b - a + c), all at length 1 (3CosAdd, Mikolov 2013). `mul`: the x with the
    highest cos(x, b) cos(x, c) / (cos(x, a) + 0.001), with cosines shifted to 0 to 1 (3CosMul, Levy and Goldberg 2014).
    `nearest_c`: the x with the highest cos(x, c), a baseline that ignores a and b.

    Args:
        space: the space.
        questions: the indices of the questions' words in the space, `[questions, 4]`; the fourth word is ignored.

    Returns:
        The indices of the answers in the order of `ANSWERS`, `[questions, answers]`.
    """
    units, parts = space.units, [np.zeros((0, len(ANSWERS)), np.int64)]
    for start in range(0, len(questions), _ROWS):
        given = questions[start : start + _ROWS, :3]
        columns = []
        for scores in _scores(units, given):
            columns.append(scores.argmax(1))
            np.put_along_axis(scores, given, -np.inf, 1)
            columns.append(scores.argmax(1))
        parts.append(np.stack(columns, 1))
    return np.concatenate(parts)


def _scores(units: Float64s, given: Int64s) -> Iterator[Float64s]:
    """Yield the score of each word under each of `RULES`, `[questions, words]`."""
    a, b, c = (units[given[:, i]] @ units.T for i in range(3))
    yield b - a + c  # the length of b - a + c is the same for every x
    yield (1 + b) / 2 * (1 + c) / 2 / ((1 + a) / 2 + _EPSILON)
    yield c


def judge(space: Space, analogies: Analogies, case: str) -> Judged:
    """Return which questions are known in a space, and which of them are answered correctly."""
    places = {word: i for i, word in enumerate(space.words)}
    known, right = {}, {}
    for category, questions in analogies.items():
        rows = [[places.get(fold(word, case), -1) for word in question] for question in questions]
        numbers = np.array(rows, np.int64).reshape(-1, 4)
        known[category] = np.asarray((numbers >= 0).all(1))
        asked = numbers[known[category]]
        right[category] = np.zeros((len(numbers), len(ANSWERS)), bool)
        right[category][known[category]] = answers(space, asked) == asked[:, 3:]
    return Judged(space.name, known, right)
