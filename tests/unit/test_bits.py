"""Sets of sentences as bits, next to sets as Booleans."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.bits import Layout, are_in, bits_of, one_set, picked, shared
from ops.explain.card import Card, fold_scores
from ops.literals.incidence import count_by_fold, occurrences
from tests.unit.explain.score_cards_by_hand import matrix

FOLDS = 4


@given(st.integers(0, 300), st.integers(1, 6), st.integers(0, 2**16))
def test_bits_are_those_of_booleans(n: int, literals: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    has = rng.random((n, literals)) < rng.choice([0.01, 0.5, 0.99], literals)
    fold = rng.choice([0, 1, 3], n).astype(np.int8)  # one fold is empty
    layout = Layout.of(fold, FOLDS)
    found = occurrences(matrix(has))
    which = rng.permutation(literals)
    bits = bits_of(layout.place[found.sentences], found.offsets, which, layout.words)
    for own, literal in zip(bits, which, strict=True):
        assert are_in(own)[layout.place].tolist() == has[:, literal].tolist()
        assert are_in(own).sum() == has[:, literal].sum()
    chosen = has[:, which].astype(int)
    assert shared(bits, bits).tolist() == (chosen.T @ chosen).tolist()
    assert layout.of_folds(bits).tolist() == [chosen[fold == one].sum(0).tolist() for one in range(FOLDS)]
    for one in range(FOLDS):
        inside = np.zeros(layout.words, bool)
        inside[layout.fold(one)] = True
        assert inside[layout.place >> 6].tolist() == (fold == one).tolist()
    some = rng.permutation(n)[: n // 2]
    moved = picked(bits, layout.place[some], np.arange(len(some)), 1 + len(some) // 64)
    assert [are_in(own)[: len(some)].tolist() for own in moved] == chosen[some].T.astype(bool).tolist()
    assert are_in(one_set(layout.place[some], layout.words))[layout.place].nonzero()[0].tolist() == sorted(some)
    sizes = [
        [Card(own, rng.normal(size=len(own)), rng.normal(), 0.0) for own in of_folds]
        for of_folds in zip(
            *([path[:1], path] for path in (rng.permutation(literals) for _ in range(FOLDS))), strict=True
        )
    ]
    scores = fold_scores(sizes, bits, layout)[:, layout.place]
    for own, cards in zip(scores, sizes, strict=True):
        expected = [cards[f].scores(row[None, cards[f].literals])[0] for f, row in zip(fold, chosen, strict=True)]
        np.testing.assert_allclose(own, expected, rtol=0, atol=1e-9)


@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**16))
def test_counts_of_folds_are_those_of_a_dense_matrix(n: int, literals: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    has, some = rng.random((n, literals)) < 0.4, rng.permutation(n)[: n // 2]
    fold = rng.integers(0, FOLDS, len(some)).astype(np.int8)
    counts = count_by_fold(matrix(has).T.tocsr(), some, fold, FOLDS)
    assert counts.T.tolist() == [has[some[fold == one]].sum(0).tolist() for one in range(FOLDS)]
