"""How well a score card tells winners in the test half of the documents, at the corpus's own rate of winners."""

import math
from dataclasses import dataclass

import numpy as np

from ops.arrays import Bools, Float64s, Int64s, UInt8s
from ops.compiled import compiled
from ops.explain.cells import Cells, fit_cells
from ops.explain.score_card import DECIMALS, Labelled, ScoreCard, rounded
from ops.patterns.occurrences import Occurrences
from ops.sampling import CARD_RESAMPLES
from ops.statistics.cluster_bootstrap import percentile_interval

_MEASURES = ("average_precision", "precision", "recall", "f1")
LEAST_DOCUMENTS = 10  # of the test half, for an interval
RESAMPLES = 200


@dataclass(frozen=True)
class CardScores:
    """What a score card is worth. Numbers are NaN where they are undefined.

    Attributes:
        average_precision: of sentences by their score, on the test half; equal scores enter together. Like the three
            that follow it has the ends of a 95 % interval, `_low` and `_high`.
        precision, recall, f1: of the sentences that the card calls winners, on the test half.
        auc: area under the ROC curve, on the test half.
        single_f1: F1 of the best single literal, on the test half.
        gains: average precision that is lost where a literal is left out and the others are fitted again, `[m]`.
        n_train, n_test: winners in each half.
        test_documents: documents of the test half with winners.
        share, baseline_share: of the winners and of the baseline's other sentences that the card calls winners, in
            both halves.
        shares, baseline_shares: the same of each literal as the card states it, thus of sentences without it where its
            weight is negative, `[m]`.
    """

    average_precision: float
    average_precision_low: float
    average_precision_high: float
    precision: float
    precision_low: float
    precision_high: float
    recall: float
    recall_low: float
    recall_high: float
    f1: float
    f1_low: float
    f1_high: float
    auc: float
    single_f1: float
    gains: Float64s
    n_train: int
    n_test: int
    test_documents: int
    share: float
    baseline_share: float
    shares: Float64s
    baseline_shares: Float64s


def resampling(documents: int, seed: int, resamples: int = RESAMPLES) -> UInt8s:
    """Draw how often each bootstrap sample has each document, `[documents, resamples]`: Poisson with a mean of 1."""
    return np.random.default_rng([seed, CARD_RESAMPLES]).poisson(1.0, (documents, resamples)).astype(np.uint8)


def evaluate(card: ScoreCard, found: Occurrences, labelled: Labelled, resamples: UInt8s | None) -> CardScores:
    """Return how well a card tells winners from other sentences.

    A winner counts once and any other sentence as many times as it stands for. Intervals are percentiles of a bootstrap
    by document; with fewer than 10 documents in the test half they are NaN. Where winners are more than half of the
    corpus, or the test half has no winner or nothing else, all scores are NaN.

    Args:
        card: from `learn`.
        found: the sentences that have each literal, as `learn` had them.
        labelled: the sentences.
        resamples: how often each sample has each document, `[documents, samples]`; none given: no intervals.
    """
    cells = Cells.by(found, card.literals, len(labelled.winner))
    scores = card.scores(cells.has)
    (train_winners, train_rest), (winners, rest) = (
        _counts(cells, labelled, half) for half in (~labelled.held_out, labelled.held_out)
    )
    values, intervals, auc, single_f1 = np.full(4, np.nan), np.full((4, 2), np.nan), math.nan, math.nan
    gains = np.full(len(card.literals), np.nan)
    if winners.sum() and rest.sum() and not labelled.too_many:
        level, called = _levels(scores, card.threshold)
        hits, others = (np.bincount(level, of, len(called)) for of in (winners, rest))
        values = _measures(hits[:, None], others[:, None], called)[:, 0]
        auc, single_f1 = _area(hits, others), _single_f1(card, found, labelled)
        half, there = labelled.baseline_weight() / 2, train_winners + train_rest > 0
        for number in range(len(gains) if train_winners.sum() and train_rest.sum() else 0):
            has = np.delete(cells.has, number, 1)
            fit = rounded(fit_cells(has[there], train_winners[there], train_rest[there], half))
            gains[number] = values[0] - _average_precision(np.round(fit.scores(has), DECIMALS), winners, rest)
        documents = len(np.unique(labelled.document[labelled.held_out])) if resamples is not None else 0
        if resamples is not None and documents >= LEAST_DOCUMENTS:
            drawn = _resampled(
                level[cells.of],
                labelled.winner,
                labelled.weight,
                labelled.document,
                labelled.held_out,
                resamples,
                len(called),
            )
            for number, again in enumerate(_measures(drawn[0], drawn[1], called)):
                if np.isfinite(values[number]) and np.isfinite(again).any():
                    intervals[number] = percentile_interval(float(values[number]), again, documents)
    winners_all, rest_all = train_winners + winners, train_rest + rest
    stated = np.where(card.weights < 0, ~cells.has, cells.has)
    fits = np.column_stack([scores >= card.threshold, stated]).astype(np.float64)
    with np.errstate(invalid="ignore"):
        shares, baseline_shares = (of @ fits / of.sum() for of in (winners_all, rest_all))
    measured = {
        name + end: float(number)
        for name, value, interval in zip(_MEASURES, values, intervals, strict=True)
        for end, number in zip(("", "_low", "_high"), (value, *interval), strict=True)
    }
    return CardScores(
        **measured,
        auc=auc,
        single_f1=single_f1,
        gains=gains,
        n_train=int(np.count_nonzero(labelled.winner & ~labelled.held_out)),
        n_test=int(np.count_nonzero(labelled.winner & labelled.held_out)),
        test_documents=len(np.unique(labelled.document[labelled.winner & labelled.held_out])),
        share=float(shares[0]),
        baseline_share=float(baseline_shares[0]),
        shares=shares[1:],
        baseline_shares=baseline_shares[1:],
    )


def _counts(cells: Cells, labelled: Labelled, half: Bools) -> tuple[Float64s, Float64s]:
    """Return the weight of the winners and of the other sentences in each cell, in one half, `[cells]` each."""
    return cells.sums(labelled.weight * (labelled.winner & half)), cells.sums(
        labelled.weight * (~labelled.winner & half)
    )


def _levels(scores: Float64s, threshold: float = -math.inf) -> tuple[Int64s, Bools]:
    """Return the rank of each score `[cells]`, 0 the highest and equal ones alike, and which ranks are called."""
    descending, level = np.unique(-scores, return_inverse=True)
    return level.astype(np.int64), -descending >= threshold


def _measures(hits: Float64s, others: Float64s, called: Bools) -> Float64s:
    """Return average precision, precision, recall and F1, `[4, samples]`.

    Args:
        hits, others: weight of the winners and of the other sentences with each score, from the highest on,
            `[scores, samples]`.
        called: which scores make a sentence be called a winner, `[scores]`.
    """
    found, wrong, total = hits[called].sum(0), others[called].sum(0), hits.sum(0)
    so_far = np.cumsum(hits, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        precisions = so_far / (so_far + np.cumsum(others, 0))
        average = np.where(hits > 0, hits * precisions, 0.0).sum(0) / total
        return np.stack([average, found / (found + wrong), found / total, 2 * found / (found + wrong + total)])


def _average_precision(scores: Float64s, winners: Float64s, rest: Float64s) -> float:
    level, called = _levels(scores)
    hits, others = (np.bincount(level, of, len(called)) for of in (winners, rest))
    return float(_measures(hits[:, None], others[:, None], called)[0, 0])


def _area(hits: Float64s, others: Float64s) -> float:
    """Return the area under the ROC curve by the weights with each score, from the highest on."""
    below = others.sum() - np.cumsum(others) + others / 2
    return float(hits @ below / (hits.sum() * others.sum()))


def _single_f1(card: ScoreCard, found: Occurrences, labelled: Labelled) -> float:
    if card.single < 0:
        return math.nan
    called = np.full(len(labelled.winner), card.single_negated)
    called[found.sentences[found.offsets[card.single] : found.offsets[card.single + 1]]] = not card.single_negated
    weight = labelled.weight * labelled.held_out
    hits = float(weight[called & labelled.winner].sum())
    return 2 * hits / float(weight[called].sum() + weight[labelled.winner].sum())


@compiled
def _resampled(
    level: Int64s, winner: Bools, weight: Float64s, document: Int64s, held_out: Bools, resamples: UInt8s, levels: int
) -> Float64s:
    """Return the weight of winners, then of others, with each score in each sample, `[2, levels, samples]`."""
    sums = np.zeros((2, levels, resamples.shape[1]))
    for sentence in range(level.size):
        if held_out[sentence]:
            row, times, own = (
                sums[0 if winner[sentence] else 1, level[sentence]],
                resamples[document[sentence]],
                weight[sentence],
            )
            for sample in range(times.size):
                row[sample] += own * times[sample]
    return sums
