"""What is typical of a set of winners: items more frequent than sentences of the same sources and lengths give.

Whether an item is typical is tested on the winners themselves, and the false discovery rate is what protects it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import rel_entr  # type: ignore[import-untyped]

from ops.arrays import Bools, Float64s, Int8s, Int64s, UInt64s
from ops.bits import as_bits, shared
from ops.compiled import compiled
from ops.literals.like_words import LikeWords
from ops.literals.literal import NEAR, PLAINEST_FIRST, Literal
from ops.literals.word_keys import words_of
from ops.sentences.folds import HALF
from ops.statistics.design_effect import effects_of_residuals
from ops.statistics.false_discovery import q_values_among
from ops.statistics.poisson_binomial import log_upper_tails, one_sided
from ops.typical.items import ItemCounter, Items, Winners, documents_with

RATE = 0.05  # the false discovery rate
MOST_WINNERS = 400  # that are counted; of more, the time of exact tails would grow with the square of their number
# An item needs this many times the expected number of winners, or this share of the winners more than expected.
LEAST_LIFT, LEAST_MORE = 2.0, 0.2
LEAST_LEFT = 0.5  # share of an item's excess that the winners without the stronger ones must have
EXPLAINED_BY_WORDS = ("tag", "subtree", "form")
_NAMES = 1 << 16  # words whose spelling is cached


@dataclass(frozen=True)
class Entry:
    """An item that is typical of a set of winners.

    Attributes:
        kind, pattern: the kind of item, and its text.
        words: the words of a group, or the word or pair by itself, strongest first; empty for other kinds.
        codes: the codes of the word or pair; empty for other kinds.
        has: which winners have it, `[winners]`.
        chance: the probability that each winner has it; 0 for a winner that does not count, `[winners]`.
        n: number of winners that count.
        q: its false discovery rate.
        g2: its strength, see `strengths`.
    """

    kind: str
    pattern: str
    words: tuple[str, ...]
    codes: tuple[int, ...]
    has: Bools
    chance: Float64s
    n: int
    q: float
    g2: float


class Typical:
    """Finds what is typical of sets of winners.

    Args:
        counter: finds the items of winners and their chances.
        literals: the literals of the pool.
        having: which of the baseline's sentences have each word, `[words, baseline]`; None if they have no words.
        like: which words are alike.
        frequent: number of words and pairs that at least four documents of all annotated sentences contain.
        document, fold: the code and the fold of the document of every row of the store.
        least: the number of the pool's items that count at least. If only some neurons were mined, they chose the pool,
            and a family that the winners choose gives too many entries (10 of 120 random sets had one).
    """

    def __init__(
        self, counter: ItemCounter, literals: Sequence[Literal], having: csr_array | None, like: LikeWords,
        frequent: int, document: Int64s, fold: Int8s, least: int = 0,
    ) -> None:  # fmt: skip
        self._counter, self._literals, self._having, self._like = counter, literals, having, like
        # Every literal of the pool is listed for several winners, so that it counts without a look at its documents.
        self.hypotheses = frequent + max(int(np.count_nonzero(counter.is_item)), least)
        # Words and pairs, whose literal is -1, come last here and are the plainest.
        self._plainness = np.array([*(PLAINEST_FIRST.index(own.kind) for own in literals), 0], np.int64)
        self._is_construction = np.array([*(own.kind in EXPLAINED_BY_WORDS for own in literals), False], np.bool_)
        self._document, self._fold = document, fold
        self._name = lru_cache(_NAMES)(counter.view.word_names.__getitem__)

    def find(self, rows: Int64s, literals: csr_array) -> tuple[Winners, list[Entry]]:
        """Return the winners by document, and what is typical of them, strongest first.

        Args:
            rows: the winners' rows in the store, distinct.
            literals: which literals of the pool each has, `[winners, L]`.
        """
        order = np.argsort(self._document[rows], kind="stable")
        ordered = rows[order]
        winners = self._counter.winners(ordered, self._document[ordered], self._fold[ordered] < HALF, literals[order])
        items = self._counter.find(winners, self.hypotheses)
        if not len(items.key):
            return winners, []
        q = q_values_of(items, winners.document, self.hypotheses)
        significant = np.flatnonzero(q < RATE)
        kept = significant[are_more(items.take(significant), winners.first_half)]
        items, q = items.take(kept), q[kept]
        g2 = strengths(items.has.sum(1), items.chance.sum(1), items.counted.sum(1))
        order = np.lexsort((self._plainness[items.literal], -g2))
        order = order[first_of_copies(items.has[order])]
        order = order[self._unexplained(items.take(order))]
        entries = by_strength([self._entry(items, i, float(q[i]), float(g2[i])) for i in order.tolist()])
        return winners, self._grouped(winners, entries)

    def rows(self, rows: Int64s, literals: csr_array, winners: int) -> list[dict[str, Any]]:
        """Return what is typical of a set as entries of the column `typical`, strongest first.

        `is_new` tells texts, which have no room for all of them, which entries say more than the stronger ones.

        Args:
            rows, literals: see `find`.
            winners: number of the set's winners, of which `rows` may be a sample. Counts are those of at most 400 of
                the rows, scaled to this number.
        """
        if len(rows) > MOST_WINNERS:
            some = np.arange(MOST_WINNERS) * len(rows) // MOST_WINNERS
            rows, literals = rows[some], literals[some]
        sample, entries = self.find(rows, literals)
        has = np.array([entry.has for entry in entries], np.bool_).reshape(len(entries), len(sample.rows))
        documents = documents_with(has, sample.document).tolist()
        factor = winners / max(len(rows), 1)
        return [
            {
                "kind": entry.kind, "pattern": entry.pattern, "words": list(entry.words),
                "winners": round(int(entry.has.sum()) * factor), "expected": float(entry.chance.sum()) * factor,
                "q": entry.q, "docs": docs, "is_new": is_new,
            }
            for entry, docs, is_new in zip(entries, documents, say_more(entries), strict=True)
        ]  # fmt: skip

    def _unexplained(self, items: Items) -> Int64s:
        """Return the items, strongest first, that are no constructions whose excess is mostly that of stronger words.

        A tag, subtree or form is left out if its excess among the winners without any stronger word is less than half
        of its excess among all winners.
        """
        more = items.has - items.chance
        excess, kept = more.sum(1), []
        rest = np.ones(items.has.shape[1])  # winners with none of the words so far
        for index in range(len(more)):
            if self._is_construction[items.literal[index]] and more[index] @ rest < LEAST_LEFT * excess[index]:
                continue
            if items.literal[index] < 0:
                rest[items.has[index]] = 0
            kept.append(index)
        return np.array(kept, np.int64)

    def _entry(self, items: Items, index: int, q: float, g2: float) -> Entry:
        given = items.has[index], items.chance[index], int(items.counted[index].sum()), q, g2
        if items.literal[index] >= 0:
            literal = self._literals[items.literal[index]]
            return Entry(literal.kind, literal.pattern, (), (), *given)
        codes = words_of(int(items.key[index]), len(self._counter.view.word_names))
        pattern = " ".join(self._name(code) for code in codes)
        return Entry("word", pattern, (pattern,), tuple(codes), *given)

    def _grouped(self, winners: Winners, entries: list[Entry]) -> list[Entry]:
        """Return entries with words that are alike as one entry, strongest first."""
        single = [entry for entry in entries if len(entry.codes) == 1]
        result = [entry for entry in entries if len(entry.codes) != 1]
        for group in self._like.groups([entry.codes[0] for entry in single]):
            members = [single[i] for i in group]
            result.append(members[0] if len(group) == 1 else self._union(winners, members))
        return by_strength(result)

    def _union(self, winners: Winners, members: list[Entry]) -> Entry:
        """Return an entry of sentences that have any of several words; its q is that of the first, the strongest."""
        assert self._having is not None
        sentences = np.unique(self._having[[entry.codes[0] for entry in members]].indices)
        has = np.any([entry.has for entry in members], axis=0)
        chance = self._counter.chance_of_any(winners, sentences.astype(np.int64), has)
        g2 = float(strengths(np.array([has.sum()]), np.array([chance.sum()]), np.array([members[0].n]))[0])
        return replace(members[0], words=tuple(entry.pattern for entry in members), has=has, chance=chance, g2=g2)


def strengths(winners: Int64s, expected: Float64s, n: Int64s) -> Float64s:
    """Return the G2 of numbers of winners against the expected numbers, negative if they are lower, `[items]`.

    It is the log-likelihood ratio of `winners` of `n` winners, for a probability of `expected / n`.
    """
    size = 2 * (rel_entr(winners, expected) + rel_entr(n - winners, n - expected))
    return np.asarray(np.where(winners > expected, size, -size))


def q_values_of(items: Items, document: Int64s, hypotheses: int) -> Float64s:
    """Return the false discovery rate of each item, `[items]`; where it is above 5 %, it may be given as 1.

    Args:
        items: the items.
        document: the document of each winner, ascending.
        hypotheses: the number of items of which these are some; the p-value of all others is 1.
    """
    size, winners = items.has.shape
    tails = log_upper_tails(items.chance.ravel(), np.arange(size + 1) * winners, items.has.sum(1))
    p = np.ones(size)
    # Design effects only increase p-values, and so the rates. What is above 5 % without them affects no rate below it.
    kept = np.flatnonzero(q_values_among(np.exp(tails), hypotheses) < RATE)
    p[kept] = one_sided(tails[kept], _effects(items.take(kept), document))
    return q_values_among(p, hypotheses)


def _effects(items: Items, document: Int64s) -> Float64s:
    """Return the design effect of the number of winners that have each item, `[items]`."""
    size = len(items.has)
    if (document[1:] != document[:-1]).all():
        return np.ones(size)
    counted = items.counted
    n, documents = counted.sum(1), documents_with(counted, document)
    has, of_each = items.has[counted], np.broadcast_to(document, counted.shape)[counted]
    key, preferred = np.repeat(np.arange(size), n), np.ones(size, np.bool_)
    return effects_of_residuals(has - items.chance[counted], has, key, of_each, preferred, n, documents)


def are_more(items: Items, first_half: Bools) -> Bools:
    """Return which items are so much more frequent than expected that they can be typical, `[items]`.

    They have twice the expected number of winners, or 20 % of the winners more, and more than expected in both halves
    of the documents.
    """
    more = items.has - items.chance
    expected, excess = items.chance.sum(1), more.sum(1)
    enough = (excess >= (LEAST_LIFT - 1) * expected) | (excess >= LEAST_MORE * items.counted.sum(1))
    halves = [more[:, half].sum(1) > 0 for half in (first_half, ~first_half)]
    return np.asarray(enough & halves[0] & halves[1])


def by_strength(entries: list[Entry]) -> list[Entry]:
    """Return entries by G2, descending; of equally strong ones the plainer first."""
    return sorted(entries, key=lambda entry: (-entry.g2, PLAINEST_FIRST.index(entry.kind), entry.pattern))


def first_of_copies(has: Bools) -> Int64s:
    """Return the items, strongest first, that are no near-copies of stronger ones: nearly the same winners have both.

    Args:
        has: which winners have each item, `[items, winners]`.
    """
    return np.flatnonzero(_are_first(as_bits(has), NEAR))


@compiled
def _are_first(bits: UInt64s, least: float) -> Bools:
    """Return which sets, strongest first, are no near-copies (Jaccard of `least`) of stronger ones that are none."""
    both = shared(bits, bits)
    first = np.ones(len(bits), np.bool_)
    for own in range(len(bits)):
        for other in range(own):
            if first[other] and both[own, other] >= least * (both[own, own] + both[other, other] - both[own, other]):
                first[own] = False
                break
    return first


def say_more(entries: Sequence[Entry]) -> list[bool]:
    """Return which entries, strongest first, say more than the stronger ones that do, `[entries]`.

    Half of an entry's excess must be among the winners that have none of these.

    >>> def entry(*has):
    ...     return Entry("word", "a", ("a",), (0,), np.array(has) > 0, np.full(len(has), 0.1), len(has), 0.01, 1.0)
    >>> say_more([entry(1, 1, 1, 0, 0, 0), entry(0, 1, 1, 0, 0, 0), entry(0, 0, 0, 0, 1, 1)])
    [True, False, True]
    """
    are_new: list[bool] = []
    rest = np.ones(len(entries[0].has) if entries else 0)  # winners that have none of the entries so far
    for entry in entries:
        more = entry.has - entry.chance
        are_new.append(bool(more @ rest >= LEAST_LEFT * more.sum()))
        if are_new[-1]:
            rest[entry.has] = 0
    return are_new
