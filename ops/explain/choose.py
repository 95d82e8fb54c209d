"""The choice of a score card's literals: one at a time, the one whose gain exceeds its cost most, until none does.

Sentences are bits, so that the sums over sentences on which a choice depends are counts of shared bits. As sums over
cells of sentences with the same literals, the cards of a neuron and pole took 40 times as long: common literals leave
nearly every sentence in a cell of its own.
"""

from typing import NamedTuple

import numpy as np

from ops.arrays import Bools, Float64s, Int64s, UInt64s
from ops.bits import shared
from ops.compiled import compiled

DEVIATION = 5.0  # standard deviation of the Gaussian prior of a weight, in log-odds
DECIMALS = 6  # of weights and scores, so that they do not depend on the machine or on the order of addition
LEAST_WINNERS = 4  # that must have a literal, or be expected to have it, before it can be chosen
_STEPS, _FARTHEST = 50, 4.0  # of Newton's method: number of steps, and the farthest that one goes in log-odds
_REFUSED = 12  # literals without enough evidence, after which the choice ends


class Training(NamedTuple):
    """The sentences from which a card is learned, and M candidate literals, as bits (see `ops.bits`).

    Attributes:
        winners, others: which winners, and which other sentences, are learned from, `[words of winners]`, `[words]`.
        of_winners, of_others: which winners, and which sentences, have each candidate, `[M, words]` each.
        each: number of corpus sentences that one sentence outside the winners represents.
        known: for each candidate, the candidate that says for which sentences it is known; -1 for all sentences, `[M]`.
        nuisance: which candidates are nuisance, `[M]`.
        near: which candidates are near-copies of each other, `[M, M]`.
        plainness: the plainness of each candidate, `[M]`; the smallest is the plainest.
        cost: the gain that each candidate has to exceed, in nats, `[M]`.
        document: the document of each winner by bit, numbered from 0, `[64 * words of winners]`.
    """

    winners: UInt64s
    others: UInt64s
    of_winners: UInt64s
    of_others: UInt64s
    each: float
    known: Int64s
    nuisance: Bools
    near: Bools
    plainness: Int64s
    cost: Float64s
    document: Int64s


class Fitted(NamedTuple):
    """A card under construction. It does not tell the sentences of a group apart.

    Attributes:
        literals: its candidates in the order of choice, `[m]`.
        has: which of the card's literals each group has, `[groups, m]`.
        winners, others: the winners and the other sentences of each group, as bits, `[groups, words]`.
        hits, rest: the number of winners and of other sentences in each group, `[groups]`.
        beta: intercept and weights at the corpus's own rate of winners, `[1 + m]`.
    """

    literals: Int64s
    has: Bools
    winners: UInt64s
    others: UInt64s
    hits: Float64s
    rest: Float64s
    beta: Float64s


class Path(NamedTuple):
    """The cards of all sizes of one choice; each is the beginning of the next.

    Attributes:
        literals: candidates in the order of choice, `[m]`.
        ends: number of literals on the card of each size, `[sizes]`. Size 0 has nuisance literals alone.
        beta: intercept and weights of each size, rounded, `[sizes, 1 + m]`; 0 for the literals that it lacks.
        threshold: of each size, `[sizes]`; infinite if the card has no literals, because then it calls nothing.
    """

    literals: Int64s
    ends: Int64s
    beta: Float64s
    threshold: Float64s


@compiled
def divergence(a: float, p: float, n: float) -> float:
    """Return n times the divergence of a / n from p, in nats."""
    q = a / n
    nats = 0.0
    if a > 0:
        nats = a * np.log(q / p) if p > 0 else np.inf
    if n > a:
        nats += (n - a) * np.log1p((p - q) / (1 - p)) if p < 1 else np.inf
    return nats


@compiled
def gain_of(
    a: float, e: float, n: float, all_winners: float, all_expected: float, all_sentences: float, half: float
) -> float:
    """Return by how many nats a literal raises the log-likelihood of a model without it.

    A literal splits the sentences in two parts: those with it and those without. Let a part have n sentences, of which
    a are winners, while the model expects e winners. With q = a / n and p = e / n, the gain of the part is

        a log(q / p) + (n - a) log((1 - q) / (1 - p))

    This is exact if the model gives all sentences of a part the same probability, and otherwise close. As in `fit`,
    each literal gets half a baseline sentence, so that one without a baseline sentence does not look infallible.

    Args:
        a, e, n: number of winners with the literal, the number that the model expects, and the weight of all sentences
            with it.
        all_winners, all_expected, all_sentences: the same numbers for all sentences for which the literal is known.
        half: half the weight of a baseline sentence.
    """
    if n <= 0:
        return 0.0
    chance = e / n
    gain = divergence(a, chance, n + half) + (half * np.log1p(-chance) if half else 0.0)
    rest = all_sentences - n
    if rest > 0:
        gain += divergence(all_winners - a, min(max((all_expected - e) / rest, 0.0), 1.0), rest)
    return gain


@compiled
def fit(has: Bools, winners: Float64s, rest: Float64s, half: float, start: Float64s) -> Float64s:
    """Fit the probability of a winner given m literals, as a logistic regression with Newton's method.

    The log-likelihood of the sentences has two penalties. The weights have a Gaussian prior with mean 0 and a standard
    deviation of 5, which keeps them finite if no winner has a literal. Each literal also gets half a baseline sentence
    that has only this literal. The intercept has no prior.

    Args:
        has: which literals each group of sentences has, `[groups, m]`.
        winners, rest: weight of the winners and of the other sentences in each group, `[groups]`.
        half: half the weight of a baseline sentence.
        start: initial intercept and weights, `[1 + m]`.

    Returns:
        Intercept and weights, `[1 + m]`.
    """
    groups, size = has.shape
    design = np.zeros((groups + size, 1 + size))
    positive, total = np.zeros(groups + size), np.full(groups + size, half)
    design[:, 0] = 1
    positive[:groups], total[:groups] = winners, winners + rest
    for literal in range(size):
        design[groups + literal, 1 + literal] = 1
        for group in range(groups):
            design[group, 1 + literal] = has[group, literal]
    ridge = np.full(1 + size, 1 / DEVIATION**2)
    ridge[0] = 1e-9
    beta = start.copy()
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-(design @ beta)))
        gradient = design.T @ (positive - total * chance) - ridge * beta
        weighted = design.T * (total * chance * (1 - chance))
        step = np.linalg.solve(weighted @ design + np.diag(ridge), gradient)
        beta = beta + step * (_FARTHEST / max(_FARTHEST, np.abs(step).max()))
        if gradient @ step < 1e-8:  # twice the remaining gain in nats; the last step squares the error
            break
    return beta


@compiled
def _nothing(given: Training) -> Fitted:
    """Return the card without literals."""
    winners, others = given.winners.reshape(1, -1), given.others.reshape(1, -1)
    hits, rest = _sizes(winners), _sizes(others)
    beta = np.array([np.log(hits[0] / (given.each * rest[0]))])
    return Fitted(np.zeros(0, np.int64), np.zeros((1, 0), np.bool_), winners, others, hits, rest, beta)


@compiled
def _sizes(groups: UInt64s) -> Float64s:
    """Return the number of sentences in each group, `[groups]`."""
    every = np.full((1, groups.shape[1]), ~np.uint64(0))
    return shared(groups, every)[:, 0].astype(np.float64)


@compiled
def _with(given: Training, card: Fitted, literal: int) -> Fitted:
    """Return a card with one more literal, refitted. Each group is divided by the literal."""
    size = card.literals.size
    has = np.zeros((2 * len(card.has), size + 1), np.bool_)
    winners = np.empty((len(has), card.winners.shape[1]), np.uint64)
    others = np.empty((len(has), card.others.shape[1]), np.uint64)
    for group in range(len(card.has)):
        for side in range(2):
            number = 2 * group + side
            has[number, :size], has[number, size] = card.has[group], side
            flip = np.uint64(0) if side else ~np.uint64(0)
            winners[number] = card.winners[group] & (given.of_winners[literal] ^ flip)
            others[number] = card.others[group] & (given.of_others[literal] ^ flip)
    hits, rest = _sizes(winners), _sizes(others)
    kept = np.flatnonzero(hits + rest)
    has, hits, rest = has[kept], hits[kept], rest[kept]
    beta = fit(has, hits, rest * given.each, given.each / 2, np.append(card.beta, 0.0))
    return Fitted(np.append(card.literals, literal), has, winners[kept], others[kept], hits, rest, beta)


@compiled
def _chances(card: Fitted, shift: float) -> Float64s:
    """Return the probability of a winner in each group, with `shift` added to the intercept, `[groups]`."""
    scores = np.full(len(card.has), card.beta[0] + shift)
    for literal in range(card.literals.size):
        scores += card.has[:, literal] * card.beta[1 + literal]
    chances: Float64s = 1 / (1 + np.exp(-scores))
    return chances


class Counts(NamedTuple):
    """How many winners and other sentences of each group have each candidate, `[M, groups]` each."""

    hits: Float64s
    rest: Float64s


@compiled
def _counts(given: Training, card: Fitted) -> Counts:
    hits, rest = shared(given.of_winners, card.winners), shared(given.of_others, card.others)
    return Counts(hits.astype(np.float64), rest.astype(np.float64))


@compiled
def _gains(given: Training, card: Fitted, counts: Counts, each: float) -> Float64s:
    """Return by how many nats each candidate would raise the likelihood before a refit, `[M]`.

    Each sentence outside the winners counts `each` times. A literal that is known for some sentences only is judged by
    these.
    """
    # Another weight of the other sentences changes only the intercept.
    chances = _chances(card, np.log(given.each / each))
    total = counts.hits + each * counts.rest
    hits, size, expected = counts.hits.sum(1), total.sum(1), (total * chances).sum(1)
    of_groups = card.hits + each * card.rest
    every = (card.hits.sum(), (of_groups * chances).sum(), of_groups.sum())
    gained = np.zeros(hits.size)
    for index in range(hits.size):
        base = given.known[index]
        winners, chance, sentences = every if base < 0 else (hits[base], expected[base], size[base])
        if max(hits[index], expected[index]) >= LEAST_WINNERS or given.nuisance[index]:
            gained[index] = gain_of(hits[index], expected[index], size[index], winners, chance, sentences, each / 2)
    return gained


@compiled
def _design_effect(given: Training, card: Fitted, counts: Counts, literal: int) -> float:
    """Return how much more the winners with a literal vary by document than by sentence; at least 1.

    A winner has a residual: whether it has the literal, minus the share of its group that has it. The effect is the sum
    over documents of the squared sum of residuals, divided by the sum of squared residuals. What is found in one
    document only counts as found once.
    """
    of_documents, squares = np.zeros(given.document.max() + 1), 0.0
    for group in range(len(card.has)):
        share = (counts.hits[literal, group] + counts.rest[literal, group]) / (card.hits[group] + card.rest[group])
        # Most groups have few winners: words without any are passed over.
        for word in np.flatnonzero(card.winners[group]):
            for bit in range(64):
                if (card.winners[group, word] >> np.uint64(bit)) & np.uint64(1):
                    has = (given.of_winners[literal, word] >> np.uint64(bit)) & np.uint64(1)
                    of_documents[given.document[64 * word + bit]] += float(has) - share
                    squares += (float(has) - share) ** 2
    return max(1.0, (of_documents**2).sum() / squares) if squares > 0 else 1.0


@compiled
def first_that_pays(given: Training, card: Fitted, allowed: Bools) -> int:
    """Return the literal whose gain exceeds its cost most; -1 if none does.

    The evidence must exceed the cost too: the gain if each sentence at hand counts once, divided by its design effect.
    Of near-copies the plainest is chosen, and a copy of a nuisance literal is nuisance. A literal that does not pay is
    refused for good, with its copies: it is no longer `allowed [M]`, nor is one that is returned.
    """
    if not allowed.any():
        return -1
    counts = _counts(given, card)
    worth, at_hand = _gains(given, card, counts, given.each) - given.cost, _gains(given, card, counts, 1.0)
    for _ in range(_REFUSED):
        best = np.argmax(np.where(allowed, worth, -np.inf))
        if not allowed[best] or worth[best] <= 0:
            break
        same = np.flatnonzero(allowed & given.near[best])
        literal = same[np.argmin(given.plainness[same])]
        # A copy of a copy need not be a copy.
        copies = given.near[best] | given.near[literal]
        allowed[np.flatnonzero(copies)] = False
        if (not given.nuisance[best] and (copies & given.nuisance).any()) or worth[literal] <= 0:
            continue
        if at_hand[literal] > given.cost[literal] * _design_effect(given, card, counts, literal):
            return int(literal)
    return -1


@compiled
def _longer(given: Training, card: Fitted, literal: int) -> Fitted:
    """Return the card with a literal and, if it is known for some sentences only, with the literal that says which."""
    for one in (given.known[literal], np.int64(literal)):
        if one >= 0 and not (card.literals == one).any():
            card = _with(given, card, int(one))
    return card


@compiled
def best_threshold(scores: Float64s, winners: Float64s, others: Float64s) -> float:
    """Return the threshold between two scores with the highest F1, the highest of ties.

    It is halfway between two scores, or one below the lowest score if all sentences are called winners.

    Args:
        scores: the score of each group of sentences, `[groups]`.
        winners, others: weight of the winners and of the other sentences in each group, `[groups]`.
    """
    order = np.argsort(-scores)
    all_winners, hits, called, best, threshold = winners.sum(), 0.0, 0.0, -1.0, np.inf
    for rank in range(order.size):
        group = order[rank]
        hits += winners[group]
        called += winners[group] + others[group]
        lower = scores[order[rank + 1]] if rank + 1 < order.size else scores[group] - 2
        if lower < scores[group] and 2 * hits / (all_winners + called) > best:
            best, threshold = 2 * hits / (all_winners + called), (scores[group] + lower) / 2
    return threshold


@compiled
def _rounded(card: Fitted, each: float) -> tuple[Float64s, float]:
    """Return a card's rounded intercept and weights, `[1 + m]`, and its threshold."""
    beta = np.round(card.beta, DECIMALS)
    if not card.literals.size:
        return beta, np.inf
    scores = np.full(len(card.has), beta[0])
    for literal in range(card.literals.size):
        scores += card.has[:, literal] * beta[1 + literal]
    return beta, best_threshold(np.round(scores, DECIMALS), card.hits, card.rest * each)


@compiled
def grow(given: Training, allowed: Bools, most_nuisance: int, most: int) -> Path:
    """Return the cards of all sizes up to `most`: nuisance literals first, then the others, each worth its cost.

    Args:
        given: the sentences to learn from, with at least one winner and one other sentence.
        allowed: which candidates may be chosen, `[M]`.
        most_nuisance: maximum number of nuisance literals that are chosen.
        most: maximum number of other literals.
    """
    ends, threshold = np.zeros(most + 1, np.int64), np.full(most + 1, np.inf)
    beta = np.zeros((most + 1, 1 + 2 * (most_nuisance + most)))
    card, size, number = _nothing(given), 0, 0
    for nuisance in (True, False):
        free, number = allowed & (given.nuisance == nuisance), 0
        while True:
            if not nuisance:
                rounded, threshold[number] = _rounded(card, given.each)
                ends[number], beta[number, : rounded.size], size = card.literals.size, rounded, number
            literal = first_that_pays(given, card, free) if number < (most_nuisance if nuisance else most) else -1
            if literal < 0:
                break
            card, number = _longer(given, card, literal), number + 1
    return Path(card.literals, ends[: size + 1], beta[: size + 1, : 1 + card.literals.size], threshold[: size + 1])
