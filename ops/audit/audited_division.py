"""One division of the corpus: the cards learned in a part are tested on the winners of all parts of its group."""

from dataclasses import dataclass

import numpy as np

from ops.arrays import Bools, Int32s, Int64s, UInt8s
from ops.audit.asked_half import AskedHalf, Winners
from ops.audit.divisions import Division
from ops.audit.transfer import Precisions
from ops.explain.answers import Answers
from ops.explain.known_literals import KnownLiterals
from ops.explain.literals import Literals
from ops.explain.score_card import ScoreCard
from ops.explain.set_explainer import Known, Others, SetExplainer
from ops.mine.held_out_sets import Matcher
from ops.patterns.occurrences import Occurrences
from ops.sentences.store import SentenceStore


@dataclass(frozen=True)
class KnownSentences:
    """The sentences whose literals are computed before any neuron is audited.

    Attributes:
        rows: the rows of the baseline and the activation sample in the store, ascending, `[n]`.
        matrix: which literals these sentences have.
        baseline: which of these sentences are in the baseline, `[n]`.
        document, held_out: the code of the document of every row of the store, and whether that is in the test half.
        draws: how often the sample and each bootstrap sample contains a document, `[documents, 1 + samples]`.
    """

    rows: Int64s
    matrix: KnownLiterals
    baseline: Bools
    document: Int64s
    held_out: Bools
    draws: UInt8s


class RangeWinners:
    """The literals of the winners of a range of neurons, computed for all of them at once."""

    def __init__(self, literals: Literals) -> None:
        self._literals = literals
        self.rows = np.zeros(0, np.int64)
        self.answers: Answers

    def load(self, rows: Int64s) -> None:
        """Compute the literals of these rows, which are distinct and ascending."""
        self.rows, self.answers = rows, Answers.of(self._literals.find(rows), len(rows))

    def places(self, rows: Int64s) -> Int64s:
        """Return the indices of these rows among the loaded rows."""
        return np.searchsorted(self.rows, rows)

    def find(self, rows: Int64s, which: Int64s | None) -> Occurrences:
        """Return which of some rows have each literal of `which`, or of all if it is None."""
        return self.answers.find(self.places(rows), which)


class AuditedDivision:
    """Learns and tests the cards of one division.

    Args:
        division: the part of each sentence.
        known: the sentences that neurons are compared with.
        sentences: the annotated sentences.
        literals: the literals of the pool.
        winners: the literals of winners.
        most: maximum number of literals on a card, not counting nuisance.
        seed: the seed of the random sets.
    """

    def __init__(
        self, division: Division, known: KnownSentences, sentences: SentenceStore, literals: Literals,
        winners: RangeWinners, most: int, seed: int,
    ) -> None:  # fmt: skip
        self.division, self._known, self._winners = division, known, winners
        of_row = division.of_row
        others = Others(winners.find, known.document, known.held_out)
        self._sets = []
        for part, size in enumerate(division.sizes.tolist()):
            keep = known.baseline & (of_row[known.rows] == part)
            rows = known.rows[keep]
            own = Known(
                rows, np.ones(len(rows), np.bool_), known.document[rows], known.held_out[rows], known.matrix.of(keep)
            )
            self._sets.append(SetExplainer(own, others, literals.nuisance, literals.plainness, int(size), None, most))
        counts = known.baseline & known.held_out[known.rows]
        self.asked = AskedHalf(division, known.rows, known.matrix, counts, known.document, known.draws)
        inside = known.rows[known.baseline & (of_row[known.rows] >= 0)]
        self._matcher = Matcher(inside, np.maximum(of_row, 0), sentences.lengths, sentences.longest)
        self._seed = seed
        self._baseline_documents = _documents(known.document[self.asked.rows], self.asked.part, len(division))

    def test_winners(self, winners: Int64s) -> Winners:
        """Return the winners of a set on which cards are tested: those in the test half that belong to a part."""
        own = winners[self._known.held_out[winners] & (self.division.of_row[winners] >= 0)]
        return self.asked.winners(own, self._winners.places(own))

    def precisions(self, number: int, winners: Int64s, asked: Winners) -> Precisions:
        """Return the average precisions, in each part, of the cards of a set of winners.

        Args:
            number: the number of the set; its random sets depend on it.
            winners: the winners' rows, ascending.
            asked: the result of `test_winners` for these winners.
        """
        parts, samples = len(self.division), self._known.draws.shape[1]
        own, random = np.full((2, parts, parts, samples), np.nan)
        part = self.division.of_row[winners]
        for one in range(parts):
            inside = winners[part == one]
            if not len(inside):
                continue
            group = int(self.division.group[one])
            card = self._card(one, inside)
            own[one] = self.asked.precisions(card, group, asked, self._winners.answers)
            chance = self._card(one, self._matcher.draw(inside, self._seed, number * parts + one))
            random[one] = self.asked.precisions(chance, group, asked, self._winners.answers)
        return Precisions(own, random, self._baseline_documents, self.division.group)

    def _card(self, part: int, rows: Int64s) -> ScoreCard:
        return self._sets[part].explain(rows, intervals=False, terms=False).card


def _documents(document: Int64s, part: Int32s, parts: int) -> Int64s:
    """Return the number of documents that have sentences in each part, `[parts]`."""
    pairs = np.unique(np.stack([part.astype(np.int64), document]), axis=1)
    return np.bincount(pairs[0], minlength=parts)
