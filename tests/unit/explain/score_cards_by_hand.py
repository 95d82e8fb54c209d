"""A small corpus, and the score cards of its winners in plain numpy, next to which the compiled engine is tested."""

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, xlogy
from sklearn.linear_model import LogisticRegression

from ops.arrays import Bools, Float64s, Int64s
from ops.explain.set_explainer import Known, Own, Pool, SetExplainer

FOLDS, SCORED = 10, 12_000
POOL, OWN = 36, 3
NUISANCE = np.isin(np.arange(POOL + OWN), [0, 1, 2, 3, 4, POOL])  # bounds on length, a key of metadata, hubs
KEY, VALUES = 4, (5, 6)  # the literal that says which sentences have a key, and two values of the key
BASE = np.where(np.isin(np.arange(POOL + OWN), VALUES), KEY, -1)


class World:
    """Sentences of documents, in each of which literals are more or less frequent; half of them are known to all sets.

    Literal 10 is a near-copy of 11, and 12 of the nuisance literal 1. The last three belong to one set alone.
    """

    def __init__(self, seed: int, documents: int = 500, each: int = 4) -> None:
        self.rng = rng = np.random.default_rng(seed)
        n, literals = documents * each, POOL + OWN
        self.document = rng.permutation(np.arange(n) // each)
        self.fold = rng.integers(0, FOLDS, documents).astype(np.int8)[self.document]
        share = rng.permutation(np.geomspace(0.01, 0.5, literals))
        odds = np.log(share / (1 - share)) + 0.5 * rng.normal(size=(documents, literals))
        has = rng.random((n, literals)) < expit(odds)[self.document]
        words = rng.integers(1, 40, n)
        has[:, :4] = words[:, None] <= [5, 10, 20, 30]
        has[:, KEY] = rng.random(n) < 0.6
        topic = rng.integers(0, 3, n)
        has[:, 5], has[:, 6] = has[:, KEY] & (topic == 0), has[:, KEY] & (topic == 1)
        has[:, 10] = has[:, 11] ^ (rng.random(n) < 0.003)
        has[:, 12] = has[:, 1] & (rng.random(n) < 0.97)
        self.has, self.known = has, rng.random(n) < 0.5
        self.plainness = np.append(rng.permutation(POOL), POOL + np.arange(OWN))

    def draw(self, log_odds: Float64s) -> Int64s:
        """Return the rows of winners that are drawn with these odds, `[n]`."""
        return np.flatnonzero(self.rng.random(len(self.has)) < expit(log_odds))

    def explainer(self, most: int = 6) -> SetExplainer:
        """Return the engine for this corpus."""
        rows = np.flatnonzero(self.known)

        def find(rows: Int64s, which: Int64s | None) -> csr_array:
            return matrix(self.has[rows, :POOL][:, slice(None) if which is None else which])

        pool = Pool(NUISANCE[:POOL], self.plainness[:POOL], BASE[:POOL], find)
        known = Known(rows, matrix(self.has[rows, :POOL]))
        return SetExplainer(known, pool, self.document, self.fold, SCORED, most)

    def own(self) -> Own:
        """Return the literals that belong to one set alone."""
        of_known = matrix(self.has[self.known, POOL:])
        return Own(NUISANCE[POOL:], self.plainness[POOL:], of_known, lambda rows: matrix(self.has[rows, POOL:]))


def matrix(has: Bools) -> csr_array:
    """Return which sentences have each literal, `[literals, sentences]`, given `has [sentences, literals]`."""
    return csr_array(np.ascontiguousarray(has.T).astype(np.int8))


def log_likelihood(winners: float, rest: float, chance: float) -> float:
    """Return the log-likelihood of winners and other sentences that all have the same chance."""
    return float(xlogy(winners, chance) + xlogy(rest, 1 - chance))


def gain(a: float, e: float, n: float, every: tuple[float, float, float], half: float) -> float:
    """Return what a literal adds to the log-likelihood: both parts of the sentences get their own share of winners."""
    if n <= 0:
        return 0.0
    found = log_likelihood(a, n + half - a, a / (n + half)) - log_likelihood(a, n - a, e / n)
    b, f, m = (whole - part for whole, part in zip(every, (a, e, n), strict=True))
    return found + (log_likelihood(b, m - b, b / m) - log_likelihood(b, m - b, min(max(f / m, 0), 1)) if m > 0 else 0)


def fit(has: Bools, winner: Bools, each: float) -> Float64s:
    """Return intercept and weights of a logistic regression on all sentences, and on half a sentence per literal."""
    if not has.shape[1]:
        return np.array([math.log(winner.sum() / (each * (~winner).sum()))])
    rows = np.concatenate((has, np.eye(has.shape[1], dtype=bool)))
    truth = np.append(winner, np.zeros(has.shape[1], bool))
    weight = np.append(np.where(winner, 1.0, each), np.full(has.shape[1], each / 2))
    model = LogisticRegression(C=25.0, solver="newton-cholesky", tol=1e-10, max_iter=1_000)
    model.fit(rows, truth, sample_weight=weight)
    return np.append(model.intercept_, model.coef_[0])


def threshold(scores: Float64s, winner: Bools, weight: Float64s) -> float:
    """Return the middle between two scores that gives the highest F1, the highest if several do."""
    levels = np.unique(scores)[::-1]
    f1 = [round(2 * (winner & (scores >= t)).sum() / (winner.sum() + weight[scores >= t].sum()), 12) for t in levels]
    best = int(np.argmax(f1))
    return float((levels[best] + (levels[best + 1] if best + 1 < len(levels) else levels[best] - 2)) / 2)


@dataclass
class PlainCard:
    """A card; `literals` are numbers of the world's literals."""

    literals: list[int] = field(default_factory=list)
    beta: Float64s = field(default_factory=lambda: np.zeros(1))
    threshold: float = math.inf


class CardsByHand:
    """What the note says of a set of winners, one fold, one literal and one document after the other."""

    def __init__(self, world: World, winners: Int64s, with_own: bool, most: int = 6) -> None:
        wins = np.isin(np.arange(len(world.has)), winners)
        rows = np.flatnonzero(world.known | wins)
        self.literals = POOL + OWN * with_own
        self.has, self.winner = world.has[rows, : self.literals], wins[rows]
        self.document, self.fold = world.document[rows], world.fold[rows]
        self.each = (SCORED - len(winners)) / (~self.winner).sum()
        self.weight = np.where(self.winner, 1.0, self.each)
        self.plainness, self.most = world.plainness, most
        self._known, self._known_fold = world.has[world.known, : self.literals], world.fold[world.known]
        self.near, self.cost = self._learned_of_words(-1)

    def _learned_of_words(self, without: int) -> tuple[Bools, list[float]]:
        """Return which literals are near-copies, and what each costs, without a fold of the known sentences."""
        known = self._known[self._known_fold != without].astype(float)
        both, own = known.T @ known, known.sum(0)
        near = both >= 0.9 * np.maximum(own[:, None] + own - both, 1)
        near[np.diag_indices(self.literals)] = True
        return near, [self._cost(literal, own[:POOL]) for literal in range(self.literals)]

    def _cost(self, literal: int, support: Float64s) -> float:
        """The length of the literal's name, by its rank among the pool's of its kind, or after them."""
        pool = [i for i in range(POOL) if NUISANCE[i] == NUISANCE[literal]]
        pool.sort(key=lambda i: -support[i])
        names = pool + [i for i in range(POOL, self.literals) if NUISANCE[i] == NUISANCE[literal]]
        n = len(pool) if literal < POOL else len(names)
        rank = names.index(literal) + 1
        return max(min(math.log(rank) + math.log(sum(1 / r for r in range(1, n + 1))), math.log(n)) + 1, 3)

    def training(self, fold: int) -> Bools:
        return self.fold != fold

    def listed(self, fold: int) -> set[int]:
        """Return the literals with the highest gain by themselves without a fold, and the keys of their values."""
        _, cost = self._learned_of_words(fold)
        worth = [self._alone(literal, fold) - cost[literal] for literal in range(self.literals)]
        best = [i for i in np.argsort(-np.array(worth), kind="stable").tolist() if worth[i] > -2]
        kept = [i for i in best if NUISANCE[i]][:20] + [i for i in best if not NUISANCE[i]][:40]
        return {*kept, *(int(BASE[i]) for i in kept if BASE[i] >= 0)}

    @cached_property
    def every_listed(self) -> list[int]:
        return sorted(set().union(*map(self.listed, range(FOLDS))))

    def _alone(self, literal: int, fold: int) -> float:
        own = self.has[:, literal]
        some = self.training(fold) & (self.has[:, BASE[literal]] if BASE[literal] >= 0 else True)
        k, t = self.winner[some].sum(), self.weight[some].sum()
        a, n = (self.winner & some & own).sum(), self.weight[some & own].sum()
        if not 0 < k < t or (max(a, n * k / t) < 4 and not NUISANCE[literal]):
            return -math.inf
        return gain(a, n * k / t, n, (k, k, t), self.each / 2)

    def learn(self, some: Bools, allowed: set[int], most: int) -> list[PlainCard]:
        """Return the cards of all sizes that are learned from some sentences."""
        self.candidates = allowed
        card = PlainCard(beta=fit(self.has[some][:, []], self.winner[some], self.each))
        free = {i for i in allowed if NUISANCE[i]}
        for _ in range(3):
            card = self._longer(card, some, free) or card
        free = {i for i in allowed if not NUISANCE[i]}
        sizes: list[PlainCard] = []
        longer: PlainCard | None = card
        while longer is not None:
            sizes.append(self._finished(longer, some))
            longer = self._longer(longer, some, free) if len(sizes) <= most else None
        return sizes

    def _finished(self, card: PlainCard, some: Bools) -> PlainCard:
        beta = np.round(card.beta, 6)
        if not card.literals:
            return PlainCard([], beta)
        scores = np.round(beta[0] + self.has[some][:, card.literals] @ beta[1:], 6)
        return PlainCard(card.literals, beta, threshold(scores, self.winner[some], self.weight[some]))

    def _longer(self, card: PlainCard, some: Bools, free: set[int]) -> PlainCard | None:
        literal = self._first_that_pays(card, some, free)
        if literal is None:
            return None
        more = [int(BASE[literal])] if BASE[literal] >= 0 and BASE[literal] not in card.literals else []
        literals = [*card.literals, *more, literal]
        return PlainCard(literals, fit(self.has[some][:, literals], self.winner[some], self.each))

    def _first_that_pays(self, card: PlainCard, some: Bools, free: set[int]) -> int | None:
        worth = {i: self._gain(card, some, i, self.each) - self.cost[i] for i in sorted(free)}
        for _ in range(12):
            best = max(sorted(free), key=lambda i: worth[i], default=None)
            if best is None or worth[best] <= 0:
                return None
            plain = min((i for i in free if self.near[best, i]), key=lambda i: self.plainness[i])
            copies = {i for i in self.candidates if self.near[best, i] or self.near[plain, i]}
            free -= copies
            if (not NUISANCE[best] and any(NUISANCE[i] for i in copies)) or worth[plain] <= 0:
                continue
            if self._gain(card, some, plain, 1.0) > self.cost[plain] * self._design_effect(card, some, plain):
                return plain
        return None

    def _gain(self, card: PlainCard, some: Bools, literal: int, each: float) -> float:
        has, winner = self.has[some], self.winner[some]
        weight = np.where(winner, 1.0, each)
        shift = math.log(self.each / each)
        expected = weight * expit(card.beta[0] + shift + has[:, card.literals] @ card.beta[1:])
        own = has[:, literal]
        a, e, n = (winner & own).sum(), expected[own].sum(), weight[own].sum()
        if max(a, e) < 4 and not NUISANCE[literal]:
            return 0.0
        among = has[:, BASE[literal]] if BASE[literal] >= 0 else np.ones(len(has), bool)
        return gain(a, e, n, (winner[among].sum(), expected[among].sum(), weight[among].sum()), each / 2)

    def _design_effect(self, card: PlainCard, some: Bools, literal: int) -> float:
        has, winner, document = self.has[some], self.winner[some], self.document[some]
        residual = np.zeros(len(has))
        _, group = np.unique(has[:, card.literals], axis=0, return_inverse=True)
        for number in range(group.max() + 1):
            own = group.ravel() == number
            residual[own] = has[own, literal] - has[own, literal].mean()
        of_documents = sum(residual[winner & (document == one)].sum() ** 2 for one in np.unique(document[winner]))
        squares = (residual[winner] ** 2).sum()
        return max(1.0, of_documents / squares) if squares else 1.0

    @cached_property
    def cards(self) -> list[list[PlainCard]]:
        """The cards of each fold, of all sizes; an ended choice keeps its longest card."""
        cards = []
        for fold in range(FOLDS):
            self.near, self.cost = self._learned_of_words(fold)
            cards.append(self.learn(self.training(fold), self.listed(fold), self.most))
        self.near, self.cost = self._learned_of_words(-1)
        longest = max(map(len, cards))
        return [own + [own[-1]] * (longest - len(own)) for own in cards]

    def called(self, size: int) -> Bools:
        """Return which sentences the card of their own fold calls winners."""
        found = np.zeros(len(self.has), bool)
        for fold, cards in enumerate(self.cards):
            own, card = self.fold == fold, cards[size]
            scores = np.round(card.beta[0] + self.has[own][:, card.literals] @ card.beta[1:], 6)
            found[own] = scores >= card.threshold
        return found

    def f1(self, called: Bools) -> tuple[float, dict[int, float]]:
        """Return the F1 of what is called, and the effect of each document on it."""
        hits, q = ({int(one): 0.0 for one in np.unique(self.document)} for _ in range(2))
        for place, document in enumerate(self.document.tolist()):
            hits[document] += called[place] and self.winner[place]
            q[document] += self.winner[place] + called[place] * self.weight[place]
        total = sum(q.values()) + (self.each / 2 if self.each > 1 else 0)
        value = 2 * sum(hits.values()) / total
        return value, {one: (2 * hits[one] - value * q[one]) / total for one in q if q[one] > 0}

    def size(self) -> int:
        """Return the smallest size whose F1 is within one standard error of the difference of the best one's."""
        of_size = [self.f1(self.called(size)) for size in range(len(self.cards[0]))]
        best = max(range(len(of_size)), key=lambda size: of_size[size][0])
        for size in range(best):
            documents = {*of_size[best][1], *of_size[size][1]}
            differ = [of_size[best][1].get(one, 0) - of_size[size][1].get(one, 0) for one in documents]
            error = math.sqrt(len(differ) / (len(differ) - 1) * sum(one**2 for one in differ))
            if of_size[best][0] - of_size[size][0] <= error:
                return size
        return best

    def published(self, size: int) -> PlainCard:
        """Return the card that is learned from everything, from literals that half of the folds chose."""
        votes = [
            sum(any(self.near[i, j] for j in cards[size].literals) for cards in self.cards)
            for i in range(self.literals)
        ]
        allowed = {i for i in self.every_listed if NUISANCE[i] or votes[i] >= 5}
        sizes = self.learn(np.ones(len(self.has), bool), allowed, size)
        return sizes[min(size, len(sizes) - 1)]
