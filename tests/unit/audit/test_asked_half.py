import numpy as np
import pytest

from ops.audit.asked_half import AskedHalf, totals
from ops.audit.divisions import Division
from ops.audit.fixed_prevalence import average_precision
from ops.explain.answers import Answers
from ops.explain.known_literals import KnownLiterals
from ops.explain.score_card import ScoreCard
from tests.unit.labelled_sentences import occurrences

ROWS, LITERALS, SAMPLES, PARTS = 120, 7, 4, 3


def made(seed: int) -> tuple[AskedHalf, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A half of some of the rows of a store, and what everything is: literals, parts, documents and draws."""
    rng = np.random.default_rng(seed)
    has = rng.random((ROWS, LITERALS)) < 0.3
    part = rng.integers(-1, PARTS, ROWS).astype(np.int32)
    document = rng.integers(0, 15, ROWS)
    draws = np.concatenate([np.ones((15, 1)), rng.poisson(1, (15, SAMPLES))], 1).astype(np.uint8)
    rows = np.arange(0, ROWS, 2)
    matrix = KnownLiterals(occurrences(has[rows]), len(rows))
    counts = rng.random(len(rows)) < 0.8
    division = Division("x", tuple("abc"), np.array([0, 0, 1], np.int32), part, np.ones(PARTS))
    asked = AskedHalf(division, rows, matrix, counts, document, draws)
    return asked, has, part, document, draws


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("literals", [[], [3], [0, 4, 6]])
def test_precisions_are_those_of_sentence_by_sentence(seed: int, literals: list[int]) -> None:
    asked, has, part, document, draws = made(seed)
    rng = np.random.default_rng([seed, 1])
    winners = np.sort(rng.choice(np.flatnonzero(part >= 0), 20, replace=False))
    weights = np.round(rng.normal(size=len(literals)), 6)
    if len(literals) == 3:
        weights[2] = -weights[0]  # a sentence with both scores as one with neither
    card = ScoreCard(np.array(literals, np.int64), weights, -1.25, 0.0, [], -1, False)
    found = asked.precisions(card, 0, asked.winners(winners, winners), Answers.of(occurrences(has), len(has)))
    score = np.round(has[:, literals] @ weights, 6)
    others = np.setdiff1d(asked.rows, winners)
    for own in range(PARTS):
        if own == 2:
            assert np.isnan(found[own]).all()  # of another group
            continue
        levels = np.unique(score)[::-1]
        counts = [
            np.array([draws[document[rows[(part[rows] == own) & (score[rows] == level)]]].sum(0) for level in levels])
            for rows in (winners, others)
        ]
        wanted = average_precision(*(count.astype(np.int32) for count in counts))
        assert found[own] == pytest.approx(wanted, nan_ok=True)


@pytest.mark.parametrize("seed", range(4))
def test_sentences_with_a_literal_and_all_others_but_the_winners_are_counted(seed: int) -> None:
    asked, has, part, document, draws = made(seed)
    winners = np.flatnonzero(part >= 0)[::3]
    own = asked.winners(winners, winners)
    assert own.draws.tolist() == draws[document[winners]].tolist()
    others = np.setdiff1d(asked.rows, winners)
    for literal in range(LITERALS):
        rows = others[has[others, literal]]
        wanted = [draws[document[rows[part[rows] == p]]].sum(0).tolist() for p in range(PARTS)]
        assert asked.having(literal, own).tolist() == wanted
    assert asked.rest(own).tolist() == [draws[document[others[part[others] == p]]].sum(0).tolist() for p in range(3)]
    assert totals(part[others], document[others], draws, 3).tolist() == asked.rest(own).tolist()
