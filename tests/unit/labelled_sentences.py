"""Corpora whose winners are a known function of the literals of a sentence, sampled as a run samples them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ops.arrays import Bools, Float64s, Int64s
from ops.explain.score_card import Labelled, ScoreCard, learn
from ops.patterns.occurrences import Occurrences


def occurrences(has: Bools) -> Occurrences:
    """The sentences with each literal, of `has [n, L]`."""
    literals, sentences = np.nonzero(has.T)
    return Occurrences(sentences.astype(np.int32), np.searchsorted(literals, np.arange(has.shape[1] + 1)))


@dataclass(frozen=True)
class Sample:
    """Winners and a uniform baseline of a corpus: which literals each sentence has, and its label."""

    has: Bools
    labelled: Labelled

    @property
    def found(self) -> Occurrences:
        return occurrences(self.has)

    @property
    def training(self) -> tuple[Bools, Bools]:
        """Which sentences are of the training half, and which of these are winners."""
        return ~self.labelled.held_out, self.labelled.winner & ~self.labelled.held_out

    def cost(self, candidates: int = 1_000) -> Float64s:
        """The same for each literal: one of so many, and a weight that the training winners are to tell."""
        winners = max(int(self.training[1].sum()), 1)
        return np.full(self.has.shape[1], math.log(candidates) + math.log(winners) / 2)

    def learn(
        self, nuisance: tuple[int, ...] = (), candidates: int = 1_000, cost: Float64s | None = None, **options: int
    ) -> ScoreCard:
        literals = np.arange(self.has.shape[1])
        paid = self.costs(nuisance, candidates) if cost is None else cost
        return learn(self.found, self.labelled, np.isin(literals, nuisance), literals, paid, **options)

    def costs(self, nuisance: tuple[int, ...] = (), candidates: int = 1_000) -> Float64s:
        """Those of the nuisance literals, and of the others."""
        of_nuisance = self.cost(max(len(nuisance), 1))
        return np.where(np.isin(np.arange(self.has.shape[1]), nuisance), of_nuisance, self.cost(candidates))


def literals_of_documents(
    rng: np.random.Generator, shares: list[float], documents: int, each: int, apart: float = 0.0
) -> tuple[Bools, Int64s]:
    """Literals with these shares `[n, L]`, whose odds differ by document, and the document of each sentence."""
    document = np.arange(documents * each) // each
    odds = np.log(np.array(shares) / (1 - np.array(shares))) + apart * rng.normal(size=(documents, len(shares)))
    return rng.random((len(document), len(shares))) < 1 / (1 + np.exp(-odds))[document], document


def sample(
    rng: np.random.Generator,
    has: Bools,
    document: Int64s,
    winner: Bools | Callable[[Bools], Bools],
    baseline: int,
) -> Sample:
    """All winners, and those of a uniform sample of the corpus that are not; documents are cut in two by chance."""
    wins = winner(has) if callable(winner) else winner
    chosen = np.zeros(len(has), np.bool_)
    chosen[rng.choice(len(has), min(baseline, len(has)), replace=False)] = True
    rows = np.flatnonzero(wins | chosen)
    rest = ~wins[rows]
    weight: Float64s = np.ones(len(rows))
    weight[rest] = (len(has) - wins.sum()) / max(rest.sum(), 1)
    half = rng.random(int(document.max(initial=-1)) + 1) < 0.5
    return Sample(has[rows], Labelled(wins[rows], weight, document[rows], half[document[rows]]))
