"""Explains any sets of sentences of a run as `jobs.explain` explains the winners of its neurons, for benchmarks.

The run must have been mined. The parts that need no neuron's verdict are the job's own: the pool of literals, hubs,
pairs of correlated neurons, and the class that explains neurons.
"""

import copy
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bench.mined_calibration import null_scores
from jobs.mine.job import MINE_OPTIONS
from jobs.run_folder.run import RunReader
from jobs.run_folder.stages import CODES
from jobs.stage.checks import recorded_model
from jobs.stage.scored import Scored
from ops.arrays import Int8s, Int64s
from ops.compare.activation_vectors import neuron_vectors, sampled_sentences
from ops.explain.controls import Controls
from ops.explain.explain import Assessed, NeuronExplainer, known_rows
from ops.explain.families import Pairs, vector_pairs
from ops.literals.find import Literals
from ops.literals.hubs import Hubs
from ops.literals.incidence import incidence, occurrences
from ops.literals.pool import PATTERN_COLUMNS, PROFILE_COLUMNS, count_listed
from ops.literals.run_pool import make_pool
from ops.mine.mining import Mining
from ops.sentences.local_copy import open_sentences
from ops.sentences.selection import THRESHOLDS, most_wins, with_winners
from ops.sentences.store import SentenceStore
from ops.sentences.winner_sets import WinnerSets, read_winner_sets, winner_rows
from ops.statistics.interval import Interval
from ops.storage.tables import read_table
from ops.topk.neurons import set_number
from ops.topk.silent import read_silent

CARD_LITERALS = 6
MOST_SETS = 1_000_000  # that are no neuron's


class MinedRun:
    """What all explainers of a run share.

    Args:
        out: the run's folder. Its pool of literals is made when it is opened.

    Attributes:
        reader, store: the run and its folder.
        sentences, neurons: its annotated sentences and its units.
        scored: what `topk` left behind.
        seed: the seed of the run.
        mine: the options with which patterns were mined.
        pool, words, literals: the literals as a table, what is known about words, and what finds the literals.
        known: the rows whose literals are known: the baseline and the activation sample, ascending, `[n]`.
        matrix: which of them have each literal, `[L, n]`.
        hubs: the sentences that win for nearly every neuron.
        pairs: the pairs of neurons whose activations correlate.

    Raises:
        InputError: the run is not there, or was not mined.
    """

    def __init__(self, out: str) -> None:
        self.reader = run = RunReader(out, create=False)
        run.require("topk")
        annotate, mine = run.require_current("annotate"), run.require("mine")["config"]
        self.scored, self.store, self.seed = Scored.of(run), run.store, int(mine["seed"])
        self.neurons = self.scored.neurons
        self.sentences = open_sentences(self.store, CODES, annotate["fingerprint"])
        self.mine = {name: mine[name] for name in MINE_OPTIONS}
        mining = Mining(self.sentences, self.neurons, self.mine | {"word_case": "lower"}, self.seed)
        tables = (("patterns", PATTERN_COLUMNS), ("profiles", PROFILE_COLUMNS))
        listed = count_listed(*(read_table(self.store, table, columns=columns) for table, columns in tables))
        self.pool, self.words = make_pool([listed], mining, recorded_model(run.require("topk")), self.seed)
        self.known = known_rows(self.sentences, sampled_sentences(self.store))
        self.literals = Literals(self.pool, mining.text, mining.kinds, self.mine["nuisance"])
        self.matrix = incidence(self.literals.find(self.known), len(self.known))
        thresholds = read_table(self.store, "neurons", columns=THRESHOLDS)
        self.hubs = Hubs.find(
            np.asarray(self.sentences.wins), winner_rows(self.store, self.neurons, self.sentences),
            set_number(len(self.neurons), 0) + MOST_SETS,
            most_wins(self.scored.k, self.scored.sentences, with_winners(thresholds)),
        )  # fmt: skip
        self.pairs = Pairs.joined([])
        if self.scored.sampled:
            with threadpool_limits(1):
                self.pairs = vector_pairs(neuron_vectors(self.store, self.neurons), 0, len(self.neurons))

    @cached_property
    def baseline(self) -> Int64s:
        """The rows of the baseline, ascending."""
        return np.flatnonzero(self.sentences.baseline)

    @cached_property
    def sampled(self) -> Int64s:
        """The rows of the activation sample, ascending."""
        return self.sentences.rows(sampled_sentences(self.store))

    def winners(self, count: int, random: np.random.Generator) -> WinnerSets:
        """Return the winners of randomly drawn neurons and poles that are not silent, with ascending rows."""
        heard = np.flatnonzero(~read_silent(self.store, self.neurons))
        neurons = np.sort(random.choice(heard, min(count, len(heard)), replace=False))
        sets = read_winner_sets(self.store, self.neurons, self.sentences, neurons).by_row()
        chosen = np.sort(random.choice(len(sets.number), min(count, len(sets.number)), replace=False))
        return WinnerSets(sets.number[chosen], sets.rows.take(chosen))

    def other_numbers(self, count: int) -> Int64s:
        """Return the numbers of sets that are no neuron's: those after the numbers of all neurons and poles."""
        return set_number(len(self.neurons), 0) + np.arange(count)


class ExplainedSets:
    """Explains sets of winners of the corpus of a run, or of a smaller corpus.

    Args:
        run: the run.
        rows: the sentences of the smaller corpus, ascending and among the known rows of the run.
        fold: the fold of every sentence's document, if it is not that of the run, `[sentences]`.
        seed: the seed of all draws, if it is not that of the run.
    """

    def __init__(
        self, run: MinedRun, rows: Int64s | None = None, fold: Int8s | None = None, seed: int | None = None
    ) -> None:
        scored = run.scored.sentences if rows is None else len(rows)
        self._run, self._seed = run, run.seed if seed is None else seed
        self._sentences = _seen(run.sentences, run.baseline if rows is None else rows, fold)
        known = known_rows(self._sentences, sampled_sentences(run.store))
        literals = occurrences(run.matrix[:, np.searchsorted(run.known, known)])
        nothing = np.zeros(0, np.int64)
        self._explainer = NeuronExplainer(
            run.store, self._mining(word_case="lower", no_scores=True), run.pool, [(literals, len(known))], run.hubs,
            run.words, run.pairs, scored, self._seed, 1, CARD_LITERALS, Controls(False, nothing, nothing), False,
        )  # fmt: skip

    def assess(self, sets: Sequence[Int64s], numbers: Int64s, scores: bool = False) -> Iterator[Assessed]:
        """Yield what is known about each set of winners.

        Args:
            sets: the rows of the winners of each set, ascending.
            numbers: the number of each set, distinct and ascending; see `MinedRun.other_numbers`.
            scores: whether held-out scores are part of it.
        """
        areas: list[Interval | None] = [None] * len(sets)
        if scores:
            parts = null_scores(self._mining(no_scores=False), sets, numbers)
            areas = [Interval(*ends) for part in parts for ends in part[:, [0, 5, 6]].tolist()]
        for one in zip(numbers.tolist(), sets, areas, strict=True):
            with threadpool_limits(1):
                yield self._explainer.assess(*one)

    def typical(self, sets: Sequence[Int64s]) -> list[int]:
        """Return the number of entries of *Typically* of each set of winners, given the ascending rows of each."""
        with threadpool_limits(1):
            return [len(self._explainer.typical_of(rows)) for rows in sets]

    def _mining(self, **changes: Any) -> Mining:
        run = self._run
        return Mining(self._sentences, run.neurons, run.mine | changes, self._seed)


def fresh_f1(run: MinedRun, assessed: Assessed, rows: Int64s, winners: Int64s) -> float:
    """Return the F1 of a published card on sentences from which it was not learned.

    Args:
        run: the run.
        assessed: what is known about the set of winners from which the card was learned.
        rows: the sentences, among the known rows of the run, ascending.
        winners: those of them that are winners.
    """
    card = assessed.card
    if not len(card.literals):
        return 0.0
    literals, size = assessed.folded.which[card.literals], run.matrix.shape[0]
    matrix = run.matrix[literals[literals < size]][:, np.searchsorted(run.known, rows)]
    has = np.zeros((len(rows), len(literals)), np.bool_)
    has[:, literals < size] = matrix.toarray().T > 0
    if (literals >= size).any():
        has[:, literals >= size] = assessed.own.find(rows)[literals[literals >= size] - size].toarray().T > 0
    called = card.scores(has) >= card.threshold
    hits = np.count_nonzero(called & np.isin(rows, winners))
    return 2 * hits / (np.count_nonzero(called) + len(winners))


def _seen(sentences: SentenceStore, rows: Int64s, fold: Int8s | None) -> SentenceStore:
    """Return a view of the sentences with these rows as its baseline, and these folds."""
    view = copy.copy(sentences)
    view.baseline = np.zeros(len(sentences.sent_id), np.bool_)
    view.baseline[rows] = True
    view.fold = sentences.fold if fold is None else fold
    return view
