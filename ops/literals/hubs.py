"""Sentences that win for nearly every neuron, which would look like a finding of hundreds of neurons."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from ops.arrays import Int64s, Integers
from ops.patterns.sequences import Sequences


@dataclass(frozen=True)
class Hubs:
    """The sentences that win for more than `most` neuron-poles, and which of them each neuron-pole has as winners.

    Attributes:
        rows: the sentences' rows in the store, ascending, `[hubs]`.
        wins: the number of neuron-poles for which each sentence wins, `[hubs]`.
        won: for each set number, the hubs among the winners of that neuron-pole, as indices into `rows`.
        most: the number of wins above which a sentence is a hub, as `ops.sentences.selection.most_wins` returns it.
    """

    rows: Int64s
    wins: Int64s
    won: Sequences
    most: float

    @classmethod
    def find(cls, wins: Integers, winners: Iterable[tuple[Int64s, Int64s]], sets: int, most: float) -> Self:
        """Find the hubs among all sentences.

        Args:
            wins: the number of neuron-poles for which each sentence wins, `[rows]`.
            winners: blocks of winners, with each winner once: set numbers, and rows of the sentences.
            sets: the number of sets; every set number is below it.
            most: the number of wins above which a sentence is a hub, as `most_wins` returns it.
        """
        rows = np.flatnonzero(wins > most)
        places, numbers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for number, row in winners:
            is_hub = np.isin(row, rows)
            places.append(np.searchsorted(rows, row[is_hub]))
            numbers.append(number[is_hub])
        place, number = np.concatenate(places), np.concatenate(numbers)
        order = np.lexsort((place, number))
        won = Sequences(
            place[order].astype(np.int32), np.searchsorted(number[order], np.arange(sets + 1)).astype(np.int64)
        )
        return cls(rows, np.asarray(wins)[rows].astype(np.int64), won, most)

    def of(self, family: Int64s) -> Int64s:
        """Return the rows that are hubs for a neuron-pole, ascending; wins within its family are not counted.

        Wins in one direction are one finding, however many neurons share that direction.

        Args:
            family: the set numbers of the neuron-pole itself and of those that correlate with it, distinct.
        """
        of_family = np.bincount(self.won.take(family).items, minlength=len(self.rows))
        return self.rows[self.wins - of_family > self.most]
