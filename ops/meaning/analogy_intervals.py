"""Confidence intervals of analogy accuracies and of differences between spaces: a bootstrap over pairs of words.

Questions are not independent: twelve pairs make 132 questions, and each pair is part of 22 of them.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ops.arrays import Bools, Float64s, Int64s
from ops.meaning.analogies import ALL, ANSWERS, Analogies, Judged
from ops.meaning.words import fold
from ops.sampling import ANALOGY_PAIRS
from ops.shards import spans
from ops.statistics.resampling import SAMPLES, percentile_interval, resample

_AT_ONCE = 1 << 22  # number of question weights computed at once


class _Resampled(NamedTuple):
    """The number of questions and correct answers, in total and in resamples of the pairs that make the questions.

    Attributes:
        pairs: number of pairs.
        questions: number of questions in the sample and in each resample, `[1 + samples]` float64.
        right: number of correctly answered questions in each space, `[spaces, 1 + samples, answers]` float64.
    """

    pairs: int
    questions: Float64s
    right: Float64s


class AnalogyBootstrap:
    """Resamples the pairs of each category with replacement; all spaces use the same resamples.

    The weight of a question is the product of the numbers of times that its two pairs were drawn, so a pair that was
    drawn twice makes no question with itself. If a question in the file uses the same pair twice, its weight is the
    number of times that this pair was drawn. A pair and its reverse are the same pair. Only pairs of known questions
    are drawn.

    Args:
        judged: the answers in each space, in the order of the spaces.
        analogies, case: the questions, and the folding of their words (`keep` or `lower`).
    """

    def __init__(self, judged: Sequence[Judged], analogies: Analogies, case: str, seed: int) -> None:
        self.judged, self.seed = judged, seed
        self.pairs = {name: _pairs_of(questions, case) for name, questions in analogies.items()}
        self.categories = {ALL: list(self.pairs), **{name: [name] for name in self.pairs}}
        self._cache: dict[tuple[str, bytes], _Resampled] = {}

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
        """Yield for each category and rule the first columns of a row, and what `_Resampled` has of these spaces.

        This is the number of questions, `[1 + samples]`, and of right answers in each space, `[spaces, 1 + samples]`.
        """
        for category, names in self.categories.items():
            parts = [self._resampled(name, spaces) for name in names]
            pairs, questions = sum(part.pairs for part in parts), np.sum([part.questions for part in parts], 0)
            right = np.sum([part.right[spaces] for part in parts], 0)
            for i, (rule, excluded) in enumerate(ANSWERS):
                row = {"category": category, "rule": rule, "excluded": excluded}
                yield {**row, "n_known": int(questions[0]), "pairs": pairs}, questions, right[:, :, i]

    def _resampled(self, name: str, spaces: list[int]) -> _Resampled:
        """Resample the questions of a category that are known in all of these spaces; the result is cached."""
        known = np.logical_and.reduce([self.judged[i].known[name] for i in spaces])
        key = (name, known.tobytes())
        if key not in self._cache:
            rng = np.random.default_rng([self.seed, ANALOGY_PAIRS, list(self.pairs).index(name)])
            right = [judged.right[name] for judged in self.judged]
            self._cache[key] = _resample(known, self.pairs[name], right, rng)
        return self._cache[key]


def _share(right: Float64s, questions: Float64s, pairs: int, name: str, least: float) -> dict[str, float | None]:
    """Return the columns of a share of the questions, `[1 + samples]` each, which is null if there are none."""
    with np.errstate(invalid="ignore"):
        return percentile_interval(right / questions, pairs, least).columns(name, "")


def _pairs_of(questions: list[tuple[str, str, str, str]], case: str) -> Int64s:
    """Return the indices of each question's two pairs, `[questions, 2]`."""
    numbers: dict[frozenset[str], int] = {}
    folded = [[fold(word, case) for word in question] for question in questions]
    pairs = [[numbers.setdefault(frozenset(pair), len(numbers)) for pair in (q[:2], q[2:])] for q in folded]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _resample(known: Bools, pairs: Int64s, right: list[Bools], rng: np.random.Generator) -> _Resampled:
    distinct, numbers = np.unique(pairs[known], return_inverse=True)
    first, second = numbers.reshape(-1, 2).T
    answers = np.concatenate([each[known] for each in right], axis=1).astype(np.float64)
    questions, drawn_right = np.zeros(1 + SAMPLES), np.zeros((1 + SAMPLES, answers.shape[1]))
    if len(first):
        times = resample(len(distinct), rng)
        for start, stop in spans(len(times), max(_AT_ONCE // len(first), 1)):
            weight = np.where(first == second, 1.0, times[start:stop, second]) * times[start:stop, first]
            questions[start:stop], drawn_right[start:stop] = weight.sum(1), weight @ answers
    by_space = drawn_right.reshape(len(drawn_right), len(right), len(ANSWERS))
    return _Resampled(len(distinct), questions, by_space.transpose(1, 0, 2))
