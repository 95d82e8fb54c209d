"""The sentences and the short list of literals from which the card of each fold is learned."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ops.arrays import Bools, Float64s, Int8s, Int32s, Int64s, UInt64s
from ops.bits import Layout, are_in, one_set, shared
from ops.compiled import compiled
from ops.explain.choose import LEAST_WINNERS, Path, Training, gain_of, grow
from ops.literals.literal import NEAR
from ops.sentences.folds import FOLDS

SHORTLIST = 40  # number of literals that are not nuisance, the best by themselves, from which a card is chosen
NUISANCE_SHORTLIST = 20
# Nats that a listed literal may cost more than it gains by itself, because next to other literals it may gain more.
NEARLY = 2.0
MOST_NUISANCE = 3  # maximum number of nuisance literals on a card


class Candidates(NamedTuple):
    """M literals from which cards are chosen.

    Attributes:
        of_winners, of_others: which winners, and which other sentences, have each of them, as bits.
        known, nuisance, plainness: see `ops.explain.choose.Training`.
        cost: the gain that each has to exceed without each fold, and with all folds, `[M, folds + 1]`.
        listed: which of them the card of each fold, and the published card, may have, `[folds + 1, M]`.
    """

    of_winners: UInt64s
    of_others: UInt64s
    known: Int64s
    nuisance: Bools
    plainness: Int64s
    cost: Float64s
    listed: Bools


@dataclass(frozen=True)
class Sentences:
    """Sentences in a layout.

    Attributes:
        layout: where the bit of each sentence is.
        used: the sentences that count, as bits, `[words]`.
        document, fold: the code of the document and the fold of the sentence of each bit, `[64 * words]`.
    """

    layout: Layout
    used: UInt64s
    document: Int64s
    fold: Int8s

    @classmethod
    def of(cls, document: Int64s, fold: Int8s) -> "Sentences":
        """Lay out sentences with these documents and folds, `[n]` each."""
        layout = Layout.of(fold, FOLDS)
        used = one_set(layout.place, layout.words)
        return cls(layout, used, layout.values(document, -1), layout.values(fold))

    @cached_property
    def places(self) -> Int64s:
        """The bits of the sentences that count, ascending."""
        return np.flatnonzero(are_in(self.used))

    def without(self, places: Int64s) -> "Sentences":
        """Return the same sentences, of which those with these bits do not count."""
        return replace(self, used=self.used & ~one_set(places, self.layout.words))

    def training(self, fold: int) -> UInt64s:
        """Return the sentences that count, as bits, without those of a fold; all of them if it is -1."""
        kept = self.used.copy()
        if fold >= 0:
            kept[self.layout.fold(fold)] = 0
        return kept


class Lesson:
    """Winners and other sentences, from which the card of each fold is learned on the nine others.

    Args:
        winners, others: the winners, and the other sentences.
        each: number of corpus sentences that one of the others represents.
        candidates: the literals.

    Attributes:
        near: which candidates are near-copies of each other on all documents: a Jaccard similarity of at least 0.9,
            `[M, M]`. What the card of a fold takes for a copy depends on the other folds alone.
    """

    def __init__(self, winners: Sentences, others: Sentences, each: float, candidates: Candidates) -> None:
        self.winners, self.others, self.each, self.candidates = winners, others, each, candidates
        self._document = np.unique(winners.document, return_inverse=True)[1]
        self._both = _shared_by_fold(candidates.of_others, others.layout.starts)
        self.near = _near(self._both, -1, np.arange(len(candidates.nuisance)), NEAR)

    def learn(self, without: int, allowed: Bools | None = None, most: int = 6) -> Path | None:
        """Return the cards of all sizes, learned from all folds but one, or from all if `without` is -1.

        None if there is nothing to tell apart: no winners, or nothing but winners.

        Args:
            without: the fold that is left out.
            allowed: which candidates may be chosen, `[M]`; by default all.
            most: maximum number of literals that are not nuisance.
        """
        winners, others, candidates = self.winners.training(without), self.others.training(without), self.candidates
        if not winners.any() or not others.any():
            return None
        every = np.ones(len(candidates.nuisance), np.bool_) if allowed is None else allowed
        return _learn(winners, others, candidates, self.each, self._both, self._document, without, every, most, NEAR)

    @cached_property
    def asked(self) -> tuple[Bools, Int64s, Int8s]:
        """Of the others and then the winners: which are winners, and their documents and folds."""
        parts = (self.others, self.winners)
        winner = np.repeat([False, True], [len(some.places) for some in parts])
        document = np.concatenate([some.document[some.places] for some in parts])
        return winner, document, np.concatenate([some.fold[some.places] for some in parts])

    @cached_property
    def by_fold(self) -> tuple[Int64s, Int64s, Int64s]:
        """How many winners and others have each candidate, `[folds, M]` each, and the number of both, `[folds, 2]`."""
        candidates, parts = self.candidates, (self.winners, self.others)
        having = [
            some.layout.of_folds(of & some.used)
            for some, of in zip(parts, (candidates.of_winners, candidates.of_others), strict=True)
        ]
        sizes = [some.layout.of_folds(some.used[None])[:, 0] for some in parts]
        return having[0], having[1], np.stack(sizes, 1)


@compiled
def _learn(
    winners: UInt64s, others: UInt64s, candidates: Candidates, each: float, both: Int64s, document: Int64s,
    without: int, allowed: Bools, most: int, least: float,
) -> Path:  # fmt: skip
    """Return the cards that are learned from these winners and others, as `Lesson.learn` describes."""
    some = np.flatnonzero(candidates.listed[without])
    known = candidates.known[some]
    given = Training(
        winners, others, candidates.of_winners[some], candidates.of_others[some], each,
        np.where(known < 0, -1, np.searchsorted(some, known)), candidates.nuisance[some],
        _near(both, without, some, least), candidates.plainness[some], candidates.cost[some, without], document,
    )  # fmt: skip
    path = grow(given, allowed[some], MOST_NUISANCE, most)
    return Path(some[path.literals], path.ends, path.beta, path.threshold)


@compiled
def _shared_by_fold(bits: UInt64s, starts: Int64s) -> Int64s:
    """Return how many sentences of each fold, and of all, each two sets share, `[folds + 1, sets, sets]`."""
    folds, sets = starts.size - 1, len(bits)
    counts = np.zeros((folds + 1, sets, sets), np.int64)
    for fold in range(folds):
        of_fold = np.ascontiguousarray(bits[:, starts[fold] : starts[fold + 1]])
        counts[fold] = shared(of_fold, of_fold)
        counts[folds] += counts[fold]
    return counts


@compiled
def _near(both: Int64s, without: int, some: Int64s, least: float) -> Bools:
    """Return which candidates are near-copies of each other without a fold, or on all documents, `[some, some]`.

    Args:
        both: how many others of each fold, and of all, each two candidates share, `[folds + 1, M, M]`.
        without: the fold; -1 for all documents.
        some: the candidates.
        least: the Jaccard similarity from which two literals are near-copies.
    """
    near = np.empty((some.size, some.size), np.bool_)
    shared_by = both[-1] - both[without] if without >= 0 else both[-1]
    for i, a in enumerate(some):
        for j, b in enumerate(some):
            union = shared_by[a, a] + shared_by[b, b] - shared_by[a, b]
            near[i, j] = a == b or shared_by[a, b] >= least * max(union, 1)
    return near


def shortlist(
    winners: Int32s, others: Int32s, sizes: Int64s, each: float, known: Int64s, nuisance: Bools, cost: Float64s
) -> tuple[Int64s, Bools]:
    """Return the literals with the highest gain without one of the folds, `[M]`, and which of them each card may have.

    The card of a fold may have those that are best without it, by themselves, and whose gain nearly exceeds their cost.
    The published card may have all, as the last row of `[folds + 1, M]` says. A value comes with its key.

    Args:
        winners, others: number of winners and of other sentences of each fold that have each literal, `[L, folds]`.
        sizes: number of winners and of other sentences in each fold, `[folds, 2]`.
        each: number of corpus sentences that one other sentence represents.
        known: for each literal, the literal that says for which sentences it is known; -1 for all sentences, `[L]`.
        nuisance: which literals are nuisance, `[L]`.
        cost: the gain that each literal has to exceed without each fold, in nats, `[L, folds]` or more columns.
    """
    best = _best(winners, others, sizes.astype(np.float64), each, known, nuisance, cost)
    fold = np.repeat(np.arange(len(best)), best[0].size)[best.ravel() >= 0]
    chosen = best[best >= 0]
    needed = known[chosen]
    which = np.unique(np.concatenate((chosen, needed[needed >= 0])))
    listed = np.zeros((len(best) + 1, len(which)), np.bool_)
    listed[fold, np.searchsorted(which, chosen)] = True
    listed[fold[needed >= 0], np.searchsorted(which, needed[needed >= 0])] = True
    listed[-1] = True
    return which, listed


@compiled
def _best(
    winners: Int32s, others: Int32s, sizes: Float64s, each: float, known: Int64s, nuisance: Bools, cost: Float64s
) -> Int64s:
    """Return the literals that gain most by themselves without each fold, compared with their cost.

    They are `[folds, 2, SHORTLIST]`: language literals, then nuisance, each from the best on; -1 where there are fewer.
    """
    literals, folds = winners.shape
    best = np.full((folds, 2, SHORTLIST), -1)
    worth = np.full((folds, 2, SHORTLIST), -NEARLY)
    every = (sizes[:, 0].sum(), sizes[:, 1].sum())
    rest = every[0] - sizes[:, 0]
    rate = (rest / np.maximum(rest + each * (every[1] - sizes[:, 1]), 1.0)).max()
    for literal in range(literals):
        a, o = winners[literal].sum(), others[literal].sum()
        base, kind = known[literal], int(nuisance[literal])
        last = (NUISANCE_SHORTLIST if kind else SHORTLIST) - 1
        if base < 0 and max(a, rate * (a + each * o)) < LEAST_WINNERS and not kind:
            continue
        all_winners, all_others = every
        if base >= 0:
            all_winners, all_others = winners[base].sum() + 0.0, others[base].sum() + 0.0
        for fold in range(folds):
            left_out = (sizes[fold, 0], sizes[fold, 1])
            if base >= 0:
                left_out = (winners[base, fold] + 0.0, others[base, fold] + 0.0)
            w = all_winners - left_out[0]
            total = w + each * (all_others - left_out[1])
            if w <= 0 or total <= w:
                continue
            hits = a - winners[literal, fold]
            size = hits + each * (o - others[literal, fold])
            if max(hits, size * w / total) < LEAST_WINNERS and not kind:
                continue
            # The gain is at most the divergences of winners and others, each bounded by chi-square; a nat for rounding.
            gains, chosen = worth[fold, kind], best[fold, kind]
            chance = size / total
            variance = chance * (1 - chance)
            bound = (1 + w / (total - w)) * (hits - w * chance) ** 2 / w + variance
            if bound <= (cost[literal, fold] + gains[last]) * variance:
                continue
            gained = gain_of(hits, size * w / total, size, w, w, total, each / 2) - cost[literal, fold]
            if gained > gains[last]:
                at = last
                while at and gains[at - 1] < gained:
                    gains[at], chosen[at] = gains[at - 1], chosen[at - 1]
                    at -= 1
                gains[at], chosen[at] = gained, literal
    return best
