"""Confidence intervals of analogy accuracies and of differences between spaces: a bootstrap over pairs of words.

Questions are not independent: twelve pairs make 132 questions, and each pair is part of 22 of them.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ops.arrays import Bools, Float64s, Int64s
from ops.meaning.analogies import ALL, Analogies
from ops.meaning.offsets import ANSWERS, Judged
from ops.meaning.words import fold
from ops.sampling import ANALOGY_PAIRS
from ops.shards import spans
from ops.statistics.interval import Interval
from ops.statistics.resampling import SAMPLES, Resampling, percentile_interval

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

    def share(self, right: Float64s, least: float) -> Interval:
        """Return a share of the questions, which is undefined if there are none; `right` is `[1 + samples]`."""
        with np.errstate(invalid="ignore"):
            return percentile_interval(right / self.questions, self.pairs, least)


class AnalogyBootstrap:
    """Resamples the pairs of each category with replacement; all spaces use the same resamples.

    The weight of a question is the product of the numbers of times that its two pairs were drawn, so a pair that was
    drawn twice makes no question with itself. If a question in the file uses the same pair twice, its weight is the
    number of times that this pair was drawn. A pair and its reverse are the same pair. Only pairs of known questions
    are drawn.

    Args:
        judged: the answers in each space, in the order of the spaces.
        analogies, case: the questions, and the folding of their words (`keep` or `lower`).
        seed: the run's seed.
    """

    def __init__(self, judged: Sequence[Judged], analogies: Analogies, case: str, seed: int) -> None:
        self.judged, self.seed = judged, seed
        self.pairs = {name: _pairs_of(questions, case) for name, questions in analogies.questions.items()}
        self._found: dict[tuple[str, bytes], _Resampled] = {}

    @property
    def _categories(self) -> list[tuple[str, list[str]]]:
        return sorted([(ALL, list(self.pairs)), *((name, [name]) for name in self.pairs)])

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of `meaning/analogies`, in the order of the table."""
        rows = []
        for place, own in sorted(enumerate(self.judged), key=lambda entry: entry[1].space):
            for category, names in self._categories:
                found = self._added([place], names)
                asked = sum(len(self.pairs[name]) for name in names)
                for i, (rule, excluded) in enumerate(ANSWERS):
                    right = found.right[0, :, i]
                    measured = found.share(right, 0.0).columns("accuracy", "")
                    rows.append(
                        {
                            "space": own.space, "category": category, "rule": rule, "excluded": excluded, "n": asked,
                            "n_known": int(found.questions[0]), "pairs": found.pairs, "correct": int(right[0]),
                            **measured,
                        }
                    )  # fmt: skip
        return rows

    def differences(self) -> list[dict[str, Any]]:
        """Return the rows of `meaning/analogy_differences`, in the order of the table.

        Each space is compared with every previous space, on the questions that are known in both.
        """
        rows = []
        for (first, before), (second, own) in combinations(enumerate(self.judged), 2):
            for category, names in self._categories:
                found = self._added([second, first], names)
                for i, (rule, excluded) in enumerate(ANSWERS):
                    more = found.right[0, :, i] - found.right[1, :, i]
                    measured = found.share(more, -1.0).columns("difference", "")
                    rows.append(
                        {
                            "space": own.space, "other": before.space, "category": category, "rule": rule,
                            "excluded": excluded, "n_known": int(found.questions[0]), "pairs": found.pairs,
                            **measured,
                        }
                    )  # fmt: skip
        return sorted(rows, key=lambda row: (row["space"], row["other"]))

    def _added(self, places: list[int], names: list[str]) -> _Resampled:
        """Return the resampled results in some spaces, summed over categories."""
        parts = [self._resample(name, places) for name in names]
        return _Resampled(
            sum(part.pairs for part in parts), np.sum([part.questions for part in parts], 0),
            np.sum([part.right[places] for part in parts], 0),
        )  # fmt: skip

    def _resample(self, name: str, places: list[int]) -> _Resampled:
        """Resample the questions of a category that are known in all of these spaces; the result is cached."""
        known = np.logical_and.reduce([self.judged[place].known[name] for place in places])
        key = (name, known.tobytes())
        if key not in self._found:
            rng = np.random.default_rng([self.seed, ANALOGY_PAIRS, list(self.pairs).index(name)])
            self._found[key] = _resample(known, self.pairs[name], [own.right[name] for own in self.judged], rng)
        return self._found[key]


def _pairs_of(questions: list[tuple[str, str, str, str]], case: str) -> Int64s:
    """Return the indices of each question's two pairs, `[questions, 2]`."""
    numbers: dict[frozenset[str], int] = {}
    folded = [[fold(word, case) for word in question] for question in questions]
    found = [[numbers.setdefault(frozenset(own), len(numbers)) for own in (q[:2], q[2:])] for q in folded]
    return np.array(found, np.int64).reshape(-1, 2)


def _resample(known: Bools, pairs: Int64s, right: list[Bools], rng: np.random.Generator) -> _Resampled:
    own, numbers = np.unique(pairs[known], return_inverse=True)
    first, second = numbers.reshape(-1, 2).T
    answers = np.concatenate([each[known] for each in right], axis=1).astype(np.float64)
    questions, drawn_right = np.zeros(1 + SAMPLES), np.zeros((1 + SAMPLES, answers.shape[1]))
    if len(first):
        times = Resampling.multinomial(len(own), rng).times
        for start, stop in spans(len(times), max(_AT_ONCE // len(first), 1)):
            weight = np.where(first == second, 1.0, times[start:stop, second]) * times[start:stop, first]
            questions[start:stop], drawn_right[start:stop] = weight.sum(1), weight @ answers
    by_space = drawn_right.reshape(len(drawn_right), len(right), len(ANSWERS))
    return _Resampled(len(own), questions, by_space.transpose(1, 0, 2))
