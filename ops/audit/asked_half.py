"""The test half of the documents. Cards are tested on it part by part, in the sample and its bootstrap samples."""

from dataclasses import dataclass

import numpy as np

from ops.arrays import Bools, Float64s, Int32s, Int64s, Integers, UInt8s
from ops.audit.divisions import NO_PART, Division
from ops.audit.fixed_prevalence import average_precision
from ops.compiled import compiled
from ops.explain.answers import Answers
from ops.explain.known_literals import KnownLiterals
from ops.explain.score_card import DECIMALS, ScoreCard

_UNIT = 10**DECIMALS  # the weights of cards are integer multiples of 1 / _UNIT


@dataclass(frozen=True)
class Winners:
    """The tested winners of one neuron and pole: those in the test half.

    Attributes:
        places: the winners' indices among the sentences whose answers are known, `[m]`.
        part: each winner's part, `[m]`.
        draws: how often the sample and each bootstrap sample contain the winner's document, `[m, 1 + samples]`.
        in_baseline: indices of those winners that are sentences of `AskedHalf`, ascending.
    """

    places: Int64s
    part: Int32s
    draws: UInt8s
    in_baseline: Int64s


class AskedHalf:
    """The baseline's sentences in the test half of a division's parts.

    Args:
        division: the part of each sentence.
        rows: the rows of all sentences whose literals are known, ascending.
        matrix: which literals these sentences have.
        counts: which of these are baseline sentences of the test half, `[rows]`.
        document: the document of each row of the store, as a row of `draws`.
        draws: how often the sample and each bootstrap sample contain each document, `[documents, 1 + samples]`.
    """

    def __init__(
        self, division: Division, rows: Int64s, matrix: KnownLiterals, counts: Bools, document: Int64s, draws: UInt8s
    ) -> None:
        counts = counts & (division.of_row[rows] != NO_PART)
        self.division, self.rows = division, rows[counts]
        self.found = matrix.of(counts).found
        self.part = division.of_row[self.rows]
        self._document, self._draws = document, draws
        self._own_document = document[self.rows]
        self.totals = totals(self.part, self._own_document, draws, len(division))

    def winners(self, rows: Int64s, places: Int64s) -> Winners:
        """Return winners of the test half.

        Args:
            rows: the winners' rows in the store, ascending; each of them is in a part.
            places: the winners' indices among the sentences whose answers are known.
        """
        at = np.searchsorted(self.rows, rows)
        inside = at < len(self.rows)
        inside[inside] = self.rows[at[inside]] == rows[inside]
        return Winners(places, self.division.of_row[rows], self._draws[self._document[rows]], at[inside])

    def precisions(self, card: ScoreCard, group: int, winners: Winners, answers: Answers) -> Float64s:
        """Return a card's average precision in every part of its group, `[D, 1 + samples]`; NaN elsewhere.

        Args:
            card: a card of literals of the pool.
            group: the group of the part in which the card was learned.
            winners: the winners to find.
            answers: the literals of sentences, including those of the winners.
        """
        weights = np.round(card.weights * _UNIT).astype(np.int64)
        samples = self._draws.shape[1]
        found = np.full((len(self.division), samples), np.nan)
        inside = self.division.group == group
        hits, others = _sums(
            self.found.sentences, self.found.offsets, card.literals, weights, self.part, self._own_document,
            self._draws, self.totals, inside, winners.in_baseline, winners.part, winners.draws,
            _scores(answers.literals, answers.offsets, winners.places, card.literals, weights, answers.size),
        )  # fmt: skip
        for part in np.flatnonzero(inside).tolist():
            found[part] = average_precision(hits[part], others[part])
        return found

    def having(self, literal: int, winners: Winners) -> Float64s:
        """Return the number of sentences that have a literal and are not among the winners, `[D, 1 + samples]`."""
        own = self.found.sentences[self.found.offsets[literal] : self.found.offsets[literal + 1]]
        return _having(own, self.part, self._own_document, self._draws, winners.in_baseline, len(self.division)).astype(
            np.float64
        )

    def rest(self, winners: Winners) -> Float64s:
        """Return the number of sentences that are not among the winners, `[D, 1 + samples]`."""
        taken = winners.in_baseline
        less = totals(self.part[taken], self._own_document[taken], self._draws, len(self.division))
        return (self.totals - less).astype(np.float64)


@compiled
def totals(part: Int32s, document: Int64s, draws: UInt8s, parts: int) -> Int32s:
    """Return the number of sentences of each part in each sample, `[parts, 1 + samples]`."""
    totals = np.zeros((parts, draws.shape[1]), np.int32)
    for sentence in range(part.size):
        own, times = totals[part[sentence]], draws[document[sentence]]
        for sample in range(own.size):
            own[sample] += times[sample]
    return totals


@compiled
def _having(own: Int32s, part: Int32s, document: Int64s, draws: UInt8s, taken: Int64s, parts: int) -> Int32s:
    """Return the number of sentences of `own` that are not in `taken`, in each part and sample; both arrays ascend."""
    totals, at = np.zeros((parts, draws.shape[1]), np.int32), 0
    for sentence in own:
        while at < taken.size and taken[at] < sentence:
            at += 1
        if at < taken.size and taken[at] == sentence:
            continue
        sums, times = totals[part[sentence]], draws[document[sentence]]
        for sample in range(sums.size):
            sums[sample] += times[sample]
    return totals


@compiled
def _scores(literals: Integers, offsets: Int64s, places: Int64s, asked: Int64s, weights: Int64s, size: int) -> Int64s:
    """Return the sum that the requested literals add to the score of each sentence, `[places]`."""
    weight_of = np.zeros(size, np.int64)
    for i in range(asked.size):
        weight_of[asked[i]] = weights[i]
    scores = np.zeros(places.size, np.int64)
    for i in range(places.size):
        for pair in range(offsets[places[i]], offsets[places[i] + 1]):
            scores[i] += weight_of[literals[pair]]
    return scores


@compiled
def _sums(
    sentences: Int32s, offsets: Int64s, literals: Int64s, weights: Int64s, part: Int32s, document: Int64s,
    draws: UInt8s, totals: Int32s, inside: Bools, taken: Int64s, winner_part: Int32s, winner_draws: UInt8s,
    winner_scores: Int64s,
) -> tuple[Int32s, Int32s]:  # fmt: skip
    """Count winners and other sentences by score, from the highest, `[parts, levels, 1 + samples]` each.

    A sentence with none of the literals has the score 0, so only the other sentences are visited.
    """
    scores, touched = np.zeros(part.size, np.int64), np.zeros(part.size, np.bool_)
    for i in range(literals.size):
        for pair in range(offsets[literals[i]], offsets[literals[i] + 1]):
            sentence = sentences[pair]
            scores[sentence] += weights[i]
            touched[sentence] = True
    for sentence in taken:
        touched[sentence] = True
    some = np.flatnonzero(touched)
    every = np.unique(np.concatenate((scores[some], winner_scores, np.zeros(1, np.int64))))
    samples = draws.shape[1]
    hits, others = (
        np.zeros((totals.shape[0], every.size, samples), np.int32),
        np.zeros((totals.shape[0], every.size, samples), np.int32),
    )
    zero = every.size - 1 - np.searchsorted(every, 0)
    for one in range(totals.shape[0]):
        others[one, zero] = totals[one]
    is_taken = np.zeros(part.size, np.bool_)
    is_taken[taken] = True
    for sentence in some:
        own = part[sentence]
        if not inside[own] or (scores[sentence] == 0 and not is_taken[sentence]):
            continue
        times = draws[document[sentence]]
        less = others[own, zero]
        for sample in range(samples):
            less[sample] -= times[sample]
        if not is_taken[sentence]:
            more = others[own, every.size - 1 - np.searchsorted(every, scores[sentence])]
            for sample in range(samples):
                more[sample] += times[sample]
    for winner in range(winner_scores.size):
        own = winner_part[winner]
        if not inside[own]:
            continue
        more = hits[own, every.size - 1 - np.searchsorted(every, winner_scores[winner])]
        for sample in range(samples):
            more[sample] += winner_draws[winner, sample]
    return hits, others
