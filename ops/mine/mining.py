"""The data that ranges of neurons are mined from: annotated sentences, kinds of patterns, and sets of sentences."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ops.arrays import Int64s
from ops.mine.candidates import mine_candidates
from ops.mine.held_out_sets import SETS, HeldOutSets
from ops.mine.null_sets import NULL_SETS, null_sets
from ops.mine.pattern_kinds import pattern_kinds
from ops.mine.sentence_sets import SentenceSets
from ops.patterns.sequences import Sequences
from ops.sentences.folds import HALF
from ops.sentences.mining_view import MiningView
from ops.sentences.store import SentenceStore
from ops.sentences.winner_sets import WinnerSets, read_winner_sets
from ops.storage.store import Store
from ops.topk.neurons import POLES, Neurons, set_number
from ops.topk.silent import read_silent


class Mining:
    """The annotated sentences of a run, the kinds of patterns to mine, and the sets of sentences to mine them from.

    Args:
        options: the options of `jobs.mine`, by name.

    Attributes:
        mined: the numbers of the neurons to mine, ascending: those that the options name, by default all.
        text: the sentences' words, tags and trees, in the form that the options request.
        kinds: the kinds of patterns to mine, by their names in `patterns/`.
        half: the half of the documents to which each sentence belongs, 0 or 1, `[rows]` int8. Held-out scores are
            learned from one half and tested on the other.
    """

    def __init__(self, sentences: SentenceStore, neurons: Neurons, options: Mapping[str, Any], seed: int) -> None:
        self.sentences, self.neurons, self.options, self.seed = sentences, neurons, options, seed
        self.mined = neurons.named(options["units"])
        self.text = MiningView(
            sentences, options["word_case"], options["subtree_root"] == "collapse", options["punctuation"]
        )
        self.kinds = pattern_kinds(self.text, options)
        self.half = np.asarray(sentences.fold // HALF)

    @cached_property
    def held_out(self) -> HeldOutSets | None:
        """What draws the sets that are scored; None if no scores are requested. Only who draws sorts the baseline."""
        return None if self.options["no_scores"] else HeldOutSets(self.sentences, self.seed)

    def winners(self, store: Store, first: int, stop: int) -> WinnerSets:
        """Return the winners of a range of the mined neurons, as read from `topk/`, with ascending rows.

        The range is that of indices into `mined`. One that starts beyond the last mined neuron stands for random sets,
        which are drawn and returned instead.
        """
        if first >= len(self.mined):
            return self._random_sets(store, first - len(self.mined), stop - len(self.mined))
        return read_winner_sets(store, self.neurons, self.sentences, self.mined[first:stop]).by_row()

    def _random_sets(self, store: Store, first: int, stop: int) -> WinnerSets:
        """Draw two random sets for each index from `first` to `stop`, modelled on the winners of some mined neurons.

        Silent neurons are not drawn, because a feature that is never active has no winners. The sets are numbered as if
        they were the two poles of further neurons after the run's last one.
        """
        like_neurons = self.mined[~read_silent(store, self.neurons)[self.mined]]
        some, neurons = min(stop - first, len(like_neurons)), len(self.neurons) + np.arange(first, stop)
        draws = np.random.default_rng([self.seed, NULL_SETS, 0, int(neurons[0])])
        start = int(draws.integers(len(like_neurons) - some + 1))
        drawn = like_neurons[start : start + some]
        _, like = read_winner_sets(store, self.neurons, self.sentences, drawn).by_row()
        baseline = np.flatnonzero(self.sentences.baseline)
        sets = null_sets(baseline, np.asarray(self.sentences.doc), like, neurons, self.seed)
        return WinnerSets(set_number(neurons[:, None], np.arange(len(POLES))).ravel(), sets)

    def winner_sets(self, number: Int64s, winners: Sequences) -> SentenceSets:
        """Return the winners of neurons and poles as sets to mine; a set's number is its `number` times `len(SETS)`."""
        return SentenceSets.gather(len(SETS) * number, winners, self.sentences)

    def drawn_sets(self, number: Int64s, drawn: Sequences) -> SentenceSets:
        """Return the sets that `HeldOutSets.draw` drew for neurons and poles, or some sentences of each of them."""
        numbers = (len(SETS) * number[:, None] + np.arange(len(SETS))).ravel()
        return SentenceSets.gather(numbers, drawn, self.sentences)

    def candidates(self, number: Int64s, winners: Sequences) -> pa.Table:
        """Return the patterns of these neurons and poles' sets, by `ops.mine.candidates.SCHEMA`.

        They are those of the winners and of each half of each of `SETS`. For random sets, and if `held_out` is None,
        only the winners themselves are mined.
        """
        kinds, floor = self.kinds.values(), self.options["min_count"]
        if self.held_out is None or self.are_random(number):
            return mine_candidates(self.winner_sets(number, winners), kinds, floor)
        sets = self.drawn_sets(number, self.held_out.draw(number, winners))
        return mine_candidates(sets, kinds, floor, len(SETS) * number)

    def are_random(self, number: Int64s) -> bool:
        """Return whether sets with these numbers are random sets, as opposed to sets of neurons."""
        return bool(len(number)) and int(number[0]) >= set_number(len(self.neurons), 0)

    def baseline_rows(self, first: int, stop: int) -> tuple[Int64s, Int64s]:
        """Return the baseline's rows from `first` up to but excluding `stop`, of each half of the documents."""
        rows = first + np.flatnonzero(self.sentences.baseline[first:stop])
        second = self.half[rows] == 1
        return rows[~second], rows[second]
