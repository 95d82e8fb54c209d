"""How well a score card identifies winners in the test half of the documents, at the corpus's own rate of winners."""

import math
from dataclasses import dataclass

import numpy as np

from ops.arrays import Bools, Float64s, Int32s, Int64s, UInt8s
from ops.compiled import compiled
from ops.explain.cells import Cells, fit_cells
from ops.explain.score_card import DECIMALS, Labelled, ScoreCard, rounded
from ops.patterns.occurrences import Occurrences
from ops.sampling import CARD_RESAMPLES
from ops.statistics.resampling import percentile_interval

MEASURES = ("average_precision", "precision", "recall", "f1", "single_f1")  # measures with an interval
LEAST_DOCUMENTS = 10  # of the test half, required for an interval
RESAMPLES = 200


@dataclass(frozen=True)
class CardScores:
    """The scores of a score card. Undefined numbers are NaN.

    Attributes:
        average_precision: average precision of the test half's sentences, ranked by score; ties enter together. This
            measure and the next three have a 95 % interval, whose ends are the attributes with `_low` and `_high`.
        precision, recall, f1: precision, recall and F1 of the sentences that the card calls winners, on the test half.
        auc: area under the ROC curve, on the test half.
        single_f1: F1 of the best single literal, on the test half, with an interval from the same bootstrap samples.
        gains: average precision lost if a literal is removed and the others are refitted, `[m]`.
        n_train, n_test: number of winners in each half.
        test_documents: number of documents of the test half with winners.
        share, baseline_share: share of the winners, and of the baseline's other sentences, that the card calls
            winners, in both halves.
        shares, baseline_shares: the same shares for each literal as the card states it: of the sentences without it if
            its weight is negative, `[m]`.
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
    single_f1_low: float
    single_f1_high: float
    gains: Float64s
    n_train: int
    n_test: int
    test_documents: int
    share: float
    baseline_share: float
    shares: Float64s
    baseline_shares: Float64s


def resampling(documents: int, seed: int, resamples: int = RESAMPLES, purpose: int = CARD_RESAMPLES) -> UInt8s:
    """Draw how often each bootstrap sample contains each document, `[documents, resamples]`: Poisson with a mean of 1.

    `purpose` is the constant of `ops.sampling` that identifies the draw.
    """
    return np.random.default_rng([seed, purpose]).poisson(1.0, (documents, resamples)).astype(np.uint8)


def evaluate(
    card: ScoreCard, found: Occurrences, labelled: Labelled, resamples: UInt8s | None, leave_out: bool = True
) -> CardScores:
    """Return how well a card distinguishes winners from other sentences.

    A winner counts once, and any other sentence counts with its weight. Intervals are percentiles of a bootstrap by
    document; with fewer than 10 documents in the test half they are NaN. All scores are NaN if winners are more than
    half of the corpus, or if the test half has no winners or nothing but winners.

    Args:
        card: the score card, as `learn` returns it.
        found: the sentences that have each literal, as passed to `learn`.
        labelled: the sentences.
        resamples: how often each sample contains each document, `[documents, samples]`; None for no intervals.
        leave_out: whether to compute the shares of the card and of each literal, and the gain of each literal, for
            which the others are refitted; otherwise these are NaN.
    """
    cells = Cells.by(found, card.literals, len(labelled.winner))
    scores, weight = card.scores(cells.has), labelled.baseline_weight
    counts = cells.counts(labelled.sides, 4)
    all_sides = counts.sum(0)
    train_rest, train_winners, rest, winners = counts.T * _each(weight)
    values, intervals, auc = np.full(len(MEASURES), np.nan), np.full((len(MEASURES), 2), np.nan), math.nan
    gains, shares, baseline_shares = np.full((3, len(card.literals)), np.nan)
    share, baseline_share = math.nan, math.nan
    documents, with_winners = _documents(labelled.document, labelled.sides)
    if all_sides[2] and all_sides[3] and weight and not labelled.too_many:
        level, called, hits, others = _levels(scores, card.threshold, winners, rest)
        values[:4] = _measures(hits[:, None], others[:, None], called)[:, 0]
        values[4], auc = _single_f1(card, found, labelled, all_sides), _area(hits, others)
        if leave_out and all_sides[0] and all_sides[1]:
            gains = values[0] - _without_each(card, cells.has, train_winners, train_rest, winners, rest, weight / 2)
        if resamples is not None and documents >= LEAST_DOCUMENTS:
            again = _drawn_again(card, found, level[cells.of], called, labelled, resamples)
            intervals = _intervals(values, again, documents)
    if leave_out:
        winners_all, rest_all = train_winners + winners, train_rest + rest
        stated = np.where(card.weights < 0, ~cells.has, cells.has)
        fits = np.column_stack([scores >= card.threshold, stated]).astype(np.float64)
        with np.errstate(invalid="ignore"):
            (share, *shares), (baseline_share, *baseline_shares) = (
                of @ fits / of.sum() for of in (winners_all, rest_all)
            )
    measured = {
        name + end: number
        for name, value, interval in zip(MEASURES, values.tolist(), intervals.tolist(), strict=True)
        for end, number in zip(("", "_low", "_high"), (value, *interval), strict=True)
    }
    return CardScores(
        **measured,
        auc=auc,
        gains=gains,
        n_train=int(all_sides[1]),
        n_test=int(all_sides[3]),
        test_documents=with_winners,
        share=float(share),
        baseline_share=float(baseline_share),
        shares=np.array(shares),
        baseline_shares=np.array(baseline_shares),
    )


def held_out_f1(card: ScoreCard, found: Occurrences, labelled: Labelled) -> float:
    """Return only the F1 of a card, computed as in `evaluate`."""
    cells = Cells.by(found, card.literals, len(labelled.winner))
    rest, winners = (cells.counts(labelled.sides, 4).T * _each(labelled.baseline_weight))[2:]
    if labelled.too_many or not winners.sum() or not rest.sum():
        return math.nan
    called = card.scores(cells.has) >= card.threshold
    return float(2 * winners[called].sum() / ((winners + rest)[called].sum() + winners.sum()))


def _each(weight: float) -> Float64s:
    """Return the weight of one sentence on each of the four `Labelled.sides`, `[4, 1]`."""
    return np.array([[weight], [1.0], [weight], [1.0]])


@compiled
def _levels(
    scores: Float64s, threshold: float, winners: Float64s, rest: Float64s
) -> tuple[Int64s, Bools, Float64s, Float64s]:
    """Return the rank of each score, `[cells]`, and three values for each rank. 0 is the highest; ties share a rank.

    The values are whether the card calls it a winner, and the weights of its winners and of its other sentences,
    `[ranks]`.
    """
    order = np.argsort(-scores, kind="mergesort")
    level, highest = np.empty(scores.size, np.int64), np.empty(scores.size)
    hits, others, ranks = np.zeros(scores.size), np.zeros(scores.size), 0
    for cell in order:
        if not ranks or scores[cell] != highest[ranks - 1]:
            highest[ranks] = scores[cell]
            ranks += 1
        level[cell] = ranks - 1
        hits[ranks - 1] += winners[cell]
        others[ranks - 1] += rest[cell]
    return level, highest[:ranks] >= threshold, hits[:ranks], others[:ranks]


@compiled
def _measures(hits: Float64s, others: Float64s, called: Bools) -> Float64s:
    """Return average precision, precision, recall and F1, `[4, samples]`; NaN if they are undefined.

    Without a winner all of them are undefined. Precision is also undefined if nothing is called a winner.

    Args:
        hits, others: weight of the winners and of the other sentences with each score, from the highest score down,
            `[scores, samples]`.
        called: which scores make the card call a sentence a winner, `[scores]`.
    """
    levels, samples = hits.shape
    measures = np.full((4, samples), np.nan)
    for sample in range(samples):
        area, so_far, wrong_so_far, found, wrong = 0.0, 0.0, 0.0, 0.0, 0.0
        for level in range(levels):
            own = hits[level, sample]
            so_far += own
            wrong_so_far += others[level, sample]
            if own > 0:
                area += own * so_far / (so_far + wrong_so_far)
            if called[level]:
                found += own
                wrong += others[level, sample]
        if so_far > 0:
            measures[0, sample], measures[2, sample] = area / so_far, found / so_far
            measures[3, sample] = 2 * found / (found + wrong + so_far)
            if found + wrong > 0:
                measures[1, sample] = found / (found + wrong)
    return measures


def _average_precision(scores: Float64s, winners: Float64s, rest: Float64s) -> float:
    _, called, hits, others = _levels(scores, 0.0, winners, rest)
    return float(_measures(hits[:, None], others[:, None], called)[0, 0])


def _without_each(
    card: ScoreCard,
    has: Bools,
    train_winners: Float64s,
    train_rest: Float64s,
    winners: Float64s,
    rest: Float64s,
    half: float,
) -> Float64s:
    """Return the average precision without each of the card's literals, with the others refitted, `[m]`."""
    there, found = train_winners + train_rest > 0, np.empty(len(card.literals))
    for number in range(len(found)):
        others, start = np.delete(has, number, 1), np.array([card.intercept, *np.delete(card.weights, number)])
        fit = rounded(fit_cells(others[there], train_winners[there], train_rest[there], half, start))
        found[number] = _average_precision(np.round(fit.scores(others), DECIMALS), winners, rest)
    return found


def _drawn_again(
    card: ScoreCard, found: Occurrences, level: Int64s, called: Bools, labelled: Labelled, resamples: UInt8s
) -> Float64s:
    """Return the five measures of each bootstrap sample, `[5, samples]`."""
    others, hits = _resampled(level, labelled.sides, labelled.document, resamples, len(called))
    measures = _measures(hits.astype(np.float64), others * labelled.baseline_weight, called)
    single = np.full(resamples.shape[1], np.nan)
    if card.single >= 0:
        own = found.sentences[found.offsets[card.single] : found.offsets[card.single + 1]]
        nothing = np.zeros(len(own), np.int64)
        (wrong,), (right,) = _resampled(nothing, labelled.sides[own], labelled.document[own], resamples, 1)
        if card.single_negated:
            wrong, right = others.sum(0) - wrong, hits.sum(0) - right
        winners = hits.sum(0)
        np.divide(2 * right, right + wrong * labelled.baseline_weight + winners, out=single, where=winners > 0)
    return np.vstack([measures, single])


def _intervals(values: Float64s, again: Float64s, documents: int) -> Float64s:
    """Return the ends of the measures' intervals, `[5, 2]`; `documents` is the number of documents of the test half."""
    intervals = np.full((len(values), 2), np.nan)
    for number, value in enumerate(values.tolist()):
        if math.isfinite(value):
            intervals[number] = percentile_interval(np.append(value, again[number]), documents)[1:]
    return intervals


@compiled
def _documents(document: Int64s, sides: UInt8s) -> tuple[int, int]:
    """Return the number of documents of the test half, and how many of them have winners."""
    seen = np.zeros(document.max() + 1 if document.size else 0, np.uint8)
    for sentence in range(document.size):
        seen[document[sentence]] |= 1 << sides[sentence]
    return int(np.count_nonzero(seen & 12)), int(np.count_nonzero(seen & 8))


@compiled
def _area(hits: Float64s, others: Float64s) -> float:
    """Return the area under the ROC curve from the weights with each score, from the highest score down."""
    area, above, total = 0.0, 0.0, others.sum()
    for level in range(hits.size):
        area += hits[level] * (total - above - others[level] / 2)
        above += others[level]
    return float(area / (hits.sum() * total))


def _single_f1(card: ScoreCard, found: Occurrences, labelled: Labelled, sides: Int64s) -> float:
    """Return the F1 of the best single literal; `sides [4]` holds the number of sentences on each side."""
    if card.single < 0:
        return math.nan
    own = found.sentences[found.offsets[card.single] : found.offsets[card.single + 1]]
    own_sides = np.bincount(labelled.sides[own], minlength=4)
    if card.single_negated:
        own_sides = sides - own_sides
    wrong, hits = int(own_sides[2]) * labelled.baseline_weight, int(own_sides[3])
    return 2 * hits / (hits + wrong + int(sides[3]))


@compiled
def _resampled(level: Int64s, sides: UInt8s, document: Int64s, resamples: UInt8s, levels: int) -> Int32s:
    """Count the test half's other sentences and winners with each score in each sample, `[2, levels, samples]`."""
    sums = np.zeros((2, levels, resamples.shape[1]), np.int32)
    for sentence in range(level.size):
        if sides[sentence] >= 2:
            row, times = sums[sides[sentence] - 2, level[sentence]], resamples[document[sentence]]
            for sample in range(times.size):
                row[sample] += times[sample]
    return sums
