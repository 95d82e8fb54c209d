"""How well score cards identify winners in the folds of documents from which they were not learned."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from ops.arrays import Bools, Float64s, Floats, Int8s, Int32s, Int64s, UInt8s
from ops.compiled import compiled
from ops.explain.card import Card, fold_scores
from ops.explain.training import Lesson
from ops.sampling import CARD_RESAMPLES
from ops.sentences.folds import FOLDS
from ops.statistics.average_precision import mean_precision
from ops.statistics.interval import Interval
from ops.statistics.ratio import LEAST_DOCUMENTS, Ratio
from ops.statistics.resampling import percentile_interval

RESAMPLES = 200


def resampling(documents: int, seed: int, resamples: int = RESAMPLES) -> UInt8s:
    """Draw how often each bootstrap sample has each document, `[documents, resamples]`: Poisson with a mean of 1."""
    return np.random.default_rng([seed, CARD_RESAMPLES]).poisson(1.0, (documents, resamples)).astype(np.uint8)


@dataclass(frozen=True)
class Calls:
    """What the cards of the ten folds call winners, each in its own fold, by document.

    Attributes:
        documents: the codes of the documents with winners or called sentences, ascending, `[D]`.
        hits: number of winners that are called winners, `[D]`.
        called: weight of the sentences that are called winners, `[D]`.
        winners: number of winners, `[D]`.
        more: weight of false calls that is added in total where the sentences are a sample: half of one sentence's
            weight, so that no false call in the sample does not mean a precision of 1.
    """

    documents: Int64s
    hits: Float64s
    called: Float64s
    winners: Float64s
    more: float

    @cached_property
    def f1(self) -> Ratio:
        """F1 at the corpus's own rate of winners."""
        return Ratio.of(self.documents, 2 * self.hits, self.called + self.winners, self.more, hit=2.0)

    @cached_property
    def precision(self) -> Ratio:
        """The share of the called sentences that are winners; NaN if nothing is called."""
        more = self.more if self.called.any() else 0.0
        return Ratio.of(self.documents, self.hits, self.called, more)

    @cached_property
    def recall(self) -> Ratio:
        """The share of the winners that are called winners."""
        return Ratio.of(self.documents, self.hits, self.winners)

    def shares(self, others: int) -> tuple[float, float]:
        """Return the shares of the winners, and of all other sentences of the corpus, that are called winners."""
        return self.recall.value, float((self.called - self.hits).sum()) / others


@dataclass(frozen=True)
class Ranked:
    """How high the cards of the ten folds rank the winners of their own fold.

    Attributes:
        average_precision: the mean of the folds' average precision, weighted by winners, with a bootstrap by document.
        auc: the same mean of the areas under the ROC curve.
    """

    average_precision: Interval
    auc: float


@dataclass(frozen=True)
class Asked:
    """The P sentences that the cards of the folds are asked about: first the others, then the winners.

    Attributes:
        winner: whether each sentence is a winner, `[P]`.
        document, fold: the code of its document, and its fold, `[P]`.
        each: number of corpus sentences that one sentence outside the winners represents.
        scores: its score by the card of its own fold, of each size, `[sizes, P]`.
        called: whether this card calls it a winner, `[sizes, P]`.
    """

    winner: Bools
    document: Int64s
    fold: Int8s
    each: float
    scores: Float64s
    called: Bools

    @classmethod
    def of(cls, lesson: Lesson, cards: Sequence[Sequence[Card]]) -> "Asked":
        """Ask the cards of each size, of which there is one for each fold."""
        candidates, parts = lesson.candidates, (lesson.others, lesson.winners)
        winner, document, fold = lesson.asked
        scores = np.concatenate(
            [
                fold_scores(cards, bits, some.layout)[:, some.places]
                for some, bits in zip(parts, (candidates.of_others, candidates.of_winners), strict=True)
            ], 1
        )  # fmt: skip
        thresholds = np.array([[card.threshold for card in of_folds] for of_folds in cards])
        return cls(winner, document, fold, lesson.each, scores, scores >= thresholds[:, fold])

    def calls(self) -> list[Calls]:
        """Return what the cards of each size call winners."""
        sentences = np.flatnonzero(self.winner | self.called.any(0))
        documents, index = np.unique(self.document[sentences], return_inverse=True)

        def by_document(values: Floats) -> Float64s:
            return np.asarray(np.bincount(index, values, len(documents)), np.float64)

        winner = self.winner[sentences].astype(np.float64)
        winners = by_document(winner)
        weight, more = np.where(winner > 0, 1.0, self.each), more_false_calls(self.each)
        return [
            Calls(documents, by_document(called * winner), by_document(called * weight), winners, more)
            for called in self.called[:, sentences]
        ]

    def f1_by_fold(self, size: int) -> Float64s:
        """Return F1 within each fold, `[folds]`; NaN for a fold without winners."""
        called, weight = self.called[size], np.where(self.winner, 1.0, self.each)
        hits, every, winners = (
            np.bincount(self.fold, own, FOLDS) for own in (called & self.winner, called * weight, self.winner)
        )
        with np.errstate(invalid="ignore"):
            return np.where(winners > 0, 2 * hits / (every + winners), np.nan)

    def ranked(self, size: int, draws: UInt8s | None = None) -> Ranked:
        """Return how high the cards of a size rank the winners of their fold; folds without winners are left out.

        Args:
            size: the size of the cards.
            draws: how often each bootstrap sample contains each document, `[documents, samples]`; None for no interval.
        """
        level, levels = _levels(self.scores[size], self.fold)
        kind = (self.winner * FOLDS + self.fold) * levels + level
        others, hits = np.bincount(kind, minlength=2 * FOLDS * levels).reshape(2, FOLDS, levels).astype(np.float64)
        value = float(mean_precision(hits[:, :, None], others[:, :, None] * self.each)[0])
        known = hits.any(1) & others.any(1)
        area = (
            float(hits[known].sum(1) @ _areas(hits[known], others[known]) / hits[known].sum())
            if known.any()
            else math.nan
        )
        documents = 0 if draws is None or math.isnan(value) else len(np.unique(self.document[self.winner]))
        if draws is None or documents < LEAST_DOCUMENTS:
            return Ranked(Interval(value, math.nan, math.nan), area)
        drawn = _drawn_sums(kind, self.document % len(draws), draws, 2 * FOLDS * levels)
        again_others, again = drawn.reshape(2, FOLDS, levels, -1).astype(np.float64)
        return Ranked(
            percentile_interval(np.append(value, mean_precision(again, again_others * self.each)), documents), area
        )


def more_false_calls(each: float) -> float:
    """Return half the weight of a sentence that stands for `each` sentences of the corpus; 0 for itself alone."""
    return each / 2 if each > 1 else 0.0


def _levels(scores: Float64s, fold: Int8s) -> tuple[Int64s, int]:
    """Return the rank of each score within its fold, from 0 for the highest, and the largest number of ranks of a fold.

    Ties share a rank. A card gives few different scores, so that hashing them is faster than sorting all sentences.
    """
    encoded = pa.array(scores + 0.0).dictionary_encode()  # the sum turns -0 into 0
    values = encoded.dictionary.to_numpy()
    rank = np.empty(len(values), np.int64)
    rank[np.argsort(-values)] = np.arange(len(values))
    cell = fold.astype(np.int64) * len(values) + rank[encoded.indices.to_numpy()]
    occurs = np.zeros((FOLDS, len(values)), np.int64)
    occurs.ravel()[cell] = 1
    up_to = occurs.cumsum(1)
    return up_to.ravel()[cell] - 1, int(up_to.max(initial=0))


@compiled
def _drawn_sums(kind: Int64s, document: Int64s, draws: UInt8s, kinds: int) -> Int32s:
    """Count the sentences of each kind in each bootstrap sample, `[kinds, samples]`."""
    sums = np.zeros((kinds, draws.shape[1]), np.int32)
    for sentence in range(kind.size):
        row, times = sums[kind[sentence]], draws[document[sentence]]
        for sample in range(times.size):
            row[sample] += times[sample]
    return sums


def _areas(hits: Float64s, others: Float64s) -> Float64s:
    """Return the area under the ROC curve of each row of sums by level, `[rows]`."""
    below = others.sum(1, keepdims=True) - np.cumsum(others, 1) + others / 2
    return np.asarray((hits * below).sum(1) / (hits.sum(1) * others.sum(1)))


def best_single_f1(lesson: Lesson) -> float:
    """Return the F1 of single literals, or of their absence: in each fold, of the best one in the other folds.

    It is NaN if there are no winners or no literals.
    """
    hits, of_others, sizes = lesson.by_fold
    winners, others = sizes[:, :1], sizes[:, 1:]
    if not winners.any() or not hits.shape[1]:
        return math.nan
    # The absence of a value is known only where its key is.
    known = lesson.candidates.known
    where = [np.where(known < 0, every, of[:, known]) for every, of in ((winners, hits), (others, of_others))]
    called = hits + lesson.each * of_others
    called = np.concatenate((called, where[0] - hits + lesson.each * (where[1] - of_others)), 1)
    hits = np.concatenate((hits, where[0] - hits), 1)
    learned, calls_learned = hits.sum(0) - hits, called.sum(0) - called
    f1 = 2 * learned / np.maximum(calls_learned + (winners.sum() - winners), 1e-300)
    f1 = np.where(np.tile(lesson.candidates.listed[:FOLDS], 2), f1, -1.0)
    calling = np.flatnonzero(f1.max(1) >= 0)  # a fold without candidates calls nothing
    best = calling, np.argmax(f1[calling], 1)
    return float(2 * hits[best].sum() / (called[best].sum() + winners.sum() + more_false_calls(lesson.each)))
