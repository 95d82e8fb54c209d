"""Words in the spaces of counts, token embeddings and layers: nearest words, and questions a : b = c : ?.

The questions (Mikolov 2013) are not independent: twelve pairs make 132 questions, and each pair is part of 22 of them.
The intervals of accuracies and of differences between spaces are therefore a bootstrap over pairs of words.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Float32s, Float64s, Int64s
from ops.errors import InputError, counted
from ops.meaning.readers import WordSums, embedded
from ops.meaning.words import fold
from ops.model.load import ModelFacts, load_model
from ops.model.tokenizer import Tokenizer
from ops.sampling import ANALOGY_PAIRS
from ops.shards import spans
from ops.statistics.highest import highest
from ops.statistics.resampling import SAMPLES, percentile_interval, resample
from ops.storage.small_files import read_small_file

COUNTS, EMBEDDING = "counts", "embedding"
PACKAGED = Path(__file__).parent / "analogies.txt"
ALL = "all"  # the name of all categories together in the tables
_UNNAMED = "questions"
RULES = ("add", "mul", "nearest_c")
ANSWERS = tuple((rule, excluded) for rule in RULES for excluded in (False, True))  # in the order of the table
_EPSILON = 1e-3  # the epsilon of 3CosMul (Levy and Goldberg 2014)
_ROWS = 512  # number of words whose neighbours are found, or of questions that are answered, at once
_AT_ONCE = 1 << 22  # number of question weights computed at once

# For each category, in the order of the file, its questions (a, b, c, d), where d is the answer.
Analogies = dict[str, list[tuple[str, str, str, str]]]


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


def make_space(name: str, words: list[str], vectors: Float32s) -> Space:
    """Return a space of the words whose vector is finite and not zero."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    good = np.flatnonzero(np.isfinite(norms) & (norms > 0))
    return Space(name, [words[i] for i in good], vectors[good])


def nearest(space: Space, most: int) -> tuple[Int64s, Float32s, Float32s]:
    """Return each word's `most` nearest other words by cosine, or all of fewer; ties are ordered by frequency.

    These are the indices of the neighbours, `[words, neighbours]`, their cosines, and their plain inner products
    (float32).
    """
    units, wide = space.units, space.vectors.astype(np.float64)
    size = len(units)
    most = min(most, max(size - 1, 0))
    others, cosines = np.zeros((size, most), np.int64), np.zeros((size, most), np.float32)
    inner = np.zeros((size, most), np.float32)
    for start, stop in spans(size if most else 0, _ROWS):
        rows = slice(start, stop)
        scores = units[rows] @ units.T
        scores[np.arange(len(scores)), np.arange(start, stop)] = -np.inf
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


def frequent_words(table: pa.Table, most: int) -> tuple[list[str], Float32s]:
    """Return the words of `meaning/words` to compare, by descending count and then by word, and their vectors."""
    order = np.argsort(-table["count"].to_numpy(), kind="stable")[:most]
    chosen = table.take(pa.array(order))
    return chosen["word"].to_pylist(), pc.list_flatten(chosen["vector"]).to_numpy().reshape(len(order), -1)


def space_names(layers: int) -> list[str]:
    """Return the names of the spaces of a model with this number of layers.

    >>> space_names(2)
    ['counts', 'embedding', 'layer:1', 'layer:2']
    """
    return [COUNTS, EMBEDDING, *(f"layer:{i + 1}" for i in range(layers))]


def spaces_by_name(
    words: list[str], vectors: Float32s, sums: WordSums, facts: ModelFacts, tokenizer: Tokenizer
) -> Iterator[Space]:
    """Yield every space in the order of their names, one at a time; the model is loaded for its token embeddings.

    `vectors` are those of the words from the counts, and `sums` those of their states in all layers.
    """
    table = load_model(facts, "cpu", "float32").get_input_embeddings().weight.detach()  # type: ignore[operator]
    for name in sorted(space_names(facts.layers)):
        if name == COUNTS:
            yield make_space(name, words, vectors)
        elif name == EMBEDDING:
            yield make_space(name, words, embedded(words, table, tokenizer))
        else:
            layer = int(name.removeprefix("layer:")) - 1
            here = slice(layer * facts.width, (layer + 1) * facts.width)
            means = sums.total[:, here] / np.maximum(sums.count, 1)[:, None]
            yield make_space(name, words, means.astype(np.float32))


def read_analogies(path: str = "") -> Analogies:
    """Read questions from a file in UTF-8, or the packaged ones if the path is empty.

    A line `: NAME` begins a category, and every other line has the four words of a question. Empty lines are skipped.

    Raises:
        InputError: the file cannot be read, a line does not have four words, or there is no question.
    """
    lines = read_small_file("--analogies", path or str(PACKAGED), "cannot be read as UTF-8").splitlines()
    questions: Analogies = {}
    category = _UNNAMED
    for number, line in enumerate(lines, 1):
        words = line.split()
        if line.lstrip().startswith(":"):
            category = line.strip()[1:].strip()
            if not category or category == ALL:
                raise InputError(f"--analogies {path}: line {number}: {category!r} is not the name of a category")
        elif words:
            if len(words) != 4:
                why = f"has {counted(len(words), 'word')}, a question needs four: {line.strip()[:60]!r}"
                raise InputError(f"--analogies {path}: line {number} {why}")
            a, b, c, d = words
            questions.setdefault(category, []).append((a, b, c, d))
    if not questions:
        raise InputError(f"--analogies {path}: holds no question")
    return questions


class Judged(NamedTuple):
    """The results of answering questions in one space.

    Attributes:
        known: for each category, whether all four words of each question have a vector, `[questions]`.
        right: for each category, whether each question is answered correctly, `[questions, answers]`, in the order of
            `ANSWERS`; false if the question is not known.
    """

    space: str
    known: dict[str, Bools]
    right: dict[str, Bools]


def answers(space: Space, questions: Int64s) -> Int64s:
    """Return the answers to questions by each rule, with and without the words a, b, c excluded.

    `add`: the x with the highest cos(x, b - a + c), all at length 1 (3CosAdd, Mikolov 2013). `mul`: the x with the
    highest cos(x, b) cos(x, c) / (cos(x, a) + 0.001), with cosines shifted to 0 to 1 (3CosMul, Levy and Goldberg 2014).
    `nearest_c`: the x with the highest cos(x, c), a baseline that ignores a and b.

    Args:
        questions: the indices of the questions' words in the space, `[questions, 4]`; the fourth word is ignored.

    Returns:
        The indices of the answers in the order of `ANSWERS`, `[questions, answers]`.
    """
    units, best = space.units, np.zeros((len(questions), len(ANSWERS)), np.int64)
    for start, stop in spans(len(questions), _ROWS):
        given = questions[start:stop, :3]
        for rule, scores in enumerate(_scores(units, given)):
            best[start:stop, 2 * rule] = scores.argmax(1)
            np.put_along_axis(scores, given, -np.inf, 1)
            best[start:stop, 2 * rule + 1] = scores.argmax(1)
    return best


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


class AnalogyBootstrap:
    """Resamples the pairs of each category with replacement; all spaces use the same resamples.

    The weight of a question is the product of the numbers of times that its two pairs were drawn, so a pair that was
    drawn twice makes no question with itself. If a question in the file uses the same pair twice, its weight is the
    number of times that this pair was drawn. A pair and its reverse are the same pair. Only pairs of known questions
    are drawn. `judged` are the answers in each space, in their order, and `case` folds the words of the questions.
    """

    def __init__(self, judged: Sequence[Judged], analogies: Analogies, case: str, seed: int) -> None:
        self.judged, self.seed = judged, seed
        self.pairs = {name: _pairs_of(questions, case) for name, questions in analogies.items()}
        self.categories = {ALL: list(self.pairs), **{name: [name] for name in self.pairs}}
        self._cache: dict[tuple[str, bytes], tuple[int, Float64s, Float64s]] = {}

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of `meaning/analogies`."""
        rows = []
        for i, judged in enumerate(self.judged):
            for row, questions, (right,) in self._answers([i]):
                n = sum(len(self.pairs[name]) for name in self.categories[row["category"]])
                share = _share(right, questions, row["pairs"], "accuracy", 0.0)
                rows.append({"space": judged.space, "n": n, "correct": int(right[0]), **row, **share})
        return rows

    def differences(self) -> list[dict[str, Any]]:
        """Return the rows of `meaning/analogy_differences`.

        Each space is compared with every previous space, on the questions that are known in both.
        """
        rows = []
        for (i, other), (j, judged) in combinations(enumerate(self.judged), 2):
            for row, questions, (right, right_in_other) in self._answers([j, i]):
                share = _share(right - right_in_other, questions, row["pairs"], "difference", -1.0)
                rows.append({"space": judged.space, "other": other.space, **row, **share})
        return rows

    def _answers(self, spaces: list[int]) -> Iterator[tuple[dict[str, Any], Float64s, Float64s]]:
        """Yield for each category and rule the first columns of a row, and the questions and right answers of spaces.

        These are the numbers of questions, `[1 + samples]`, and of right answers by space, `[spaces, 1 + samples]`.
        """
        for category, names in self.categories.items():
            parts = zip(*(self._resampled(name, spaces) for name in names), strict=True)
            pairs, questions, right = (np.sum(part, 0) for part in parts)
            for i, (rule, excluded) in enumerate(ANSWERS):
                row = {"category": category, "rule": rule, "excluded": excluded}
                yield {**row, "n_known": int(questions[0]), "pairs": int(pairs)}, questions, right[spaces, :, i]

    def _resampled(self, name: str, spaces: list[int]) -> tuple[int, Float64s, Float64s]:
        """Resample the pairs of a category's questions that are known in all of these spaces; the result is cached.

        Returns:
            The number of pairs, that of questions, `[1 + samples]`, and how many of these are answered correctly in
            every space, `[all spaces, 1 + samples, answers]`; row 0 is the sample itself.
        """
        known = np.logical_and.reduce([self.judged[i].known[name] for i in spaces])
        key = (name, known.tobytes())
        if key not in self._cache:
            rng = np.random.default_rng([self.seed, ANALOGY_PAIRS, list(self.pairs).index(name)])
            distinct, numbers = np.unique(self.pairs[name][known], return_inverse=True)
            first, second = numbers.reshape(-1, 2).T
            answered = np.concatenate([judged.right[name][known] for judged in self.judged], 1).astype(np.float64)
            questions, right = np.zeros(1 + SAMPLES), np.zeros((1 + SAMPLES, answered.shape[1]))
            if len(first):
                times = resample(len(distinct), rng)
                for start, stop in spans(len(times), max(_AT_ONCE // len(first), 1)):
                    weight = np.where(first == second, 1.0, times[start:stop, second]) * times[start:stop, first]
                    questions[start:stop], right[start:stop] = weight.sum(1), weight @ answered
            by_space = right.reshape(len(right), len(self.judged), len(ANSWERS)).transpose(1, 0, 2)
            self._cache[key] = len(distinct), questions, by_space
        return self._cache[key]


def _share(right: Float64s, questions: Float64s, pairs: int, name: str, least: float) -> dict[str, float | None]:
    """Return the columns of a share of the questions, which is null if there are none."""
    with np.errstate(invalid="ignore"):
        return percentile_interval(right / questions, pairs, least).columns(name, "")


def _pairs_of(questions: list[tuple[str, str, str, str]], case: str) -> Int64s:
    """Return the indices of each question's two pairs, `[questions, 2]`."""
    numbers: dict[frozenset[str], int] = {}
    folded = [[fold(word, case) for word in question] for question in questions]
    pairs = [[numbers.setdefault(frozenset(pair), len(numbers)) for pair in (q[:2], q[2:])] for q in folded]
    return np.array(pairs, np.int64).reshape(-1, 2)
