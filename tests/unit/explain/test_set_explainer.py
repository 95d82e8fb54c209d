"""The cards of the folds and the published card, next to those of a plain program, and what must not change them."""

from itertools import product

import numpy as np
import pytest

from ops.arrays import Int64s
from ops.explain.card import Card
from ops.explain.card_rows import shares
from ops.explain.test_scores import best_single_f1
from tests.unit.explain.score_cards_by_hand import (
    BASE,
    FOLDS,
    KEY,
    NUISANCE,
    SCORED,
    VALUES,
    CardsByHand,
    PlainCard,
    World,
)


def winners_of(world: World, seed: int) -> Int64s:
    """Return winners that follow a word, a label, two near-copies, a length, one's own word, or nothing."""
    has = world.has.astype(float)
    odds = [
        has @ np.eye(39)[20] * 4 + has[:, 21] * 3, has[:, 5] * 3 - has[:, 22] * 2, has[:, 11] * 4 + has[:, 1] * 2,
        has[:, 38] * 5 + has[:, 23] * 2 + has[:, 24] * 2, has[:, 6] * 2 + has[:, 36] * 3, has[:, 0] * 0,
    ]  # fmt: skip
    return world.draw(odds[seed % len(odds)] - 4)


def same(card: Card, which: Int64s, expected: PlainCard) -> None:
    assert which[card.literals].tolist() == expected.literals
    np.testing.assert_allclose(card.weights, expected.beta[1:], atol=3e-6)
    np.testing.assert_allclose([card.intercept, card.threshold], [expected.beta[0], expected.threshold], atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_cards_are_those_of_a_plain_program(seed: int) -> None:
    world, with_own = World(seed), seed % 3 != 1
    winners = winners_of(world, seed)
    assert not world.known[winners].all()
    found = world.explainer().fold(winners, world.own() if with_own else None)
    expected = CardsByHand(world, winners, with_own)
    assert found.which.tolist() == expected.every_listed
    assert found.size == expected.size()
    assert (found.size > 0) == (seed != 5)
    assert len(found.asked.called) == len(expected.cards[0])
    for fold, card in enumerate(found.cards):
        same(card, found.which, expected.cards[fold][found.size])
    f1, effects = expected.f1(expected.called(found.size))
    assert found.calls.f1.value == pytest.approx(f1)
    assert dict(zip(found.calls.f1.documents.tolist(), found.calls.f1.effects.tolist(), strict=True)) == pytest.approx(
        effects
    )
    assert found.of_nuisance.f1.value == pytest.approx(expected.f1(expected.called(0))[0])
    same(found.published(), found.which, expected.published(found.size))
    assert best_single_f1(found.lesson) == pytest.approx(single_by_hand(expected))


def single_by_hand(own: CardsByHand) -> float:
    """Return the F1 of the literal, or of its absence, that is the best in the other folds, asked in each fold."""
    called = np.zeros(len(own.has), bool)
    for fold in range(FOLDS):
        some, best = own.training(fold), -1.0
        for negated, literal in product((False, True), sorted(own.listed(fold))):
            calls = own.has[:, literal] ^ negated
            calls = calls & own.has[:, BASE[literal]] if BASE[literal] >= 0 else calls
            hits = (calls & own.winner & some).sum()
            f1 = 2 * hits / (own.winner[some].sum() + own.weight[calls & some].sum())
            if f1 > best + 1e-12:
                best, called[own.fold == fold] = f1, calls[own.fold == fold]
    return own.f1(called)[0]


@pytest.mark.parametrize("fold", [0, 7])
def test_a_fold_s_own_cards_do_not_depend_on_its_winners_or_words(fold: int) -> None:
    """In one fold all words are drawn again, so that names cost another price, and other sentences win."""
    world, other = World(8), World(8)
    winners = winners_of(world, 0)
    own = np.flatnonzero((other.fold == fold) & other.known)
    other.has[other.fold == fold] ^= other.rng.random(other.has[other.fold == fold].shape) < 0.3
    other.has[:, VALUES] &= other.has[:, [KEY]]
    moved = np.isin(own, winners).sum()
    swapped = other.rng.permutation(own)[:moved]
    first = world.explainer().fold(winners, world.own())
    second = other.explainer().fold(np.sort(np.append(winners[~np.isin(winners, own)], swapped)), other.own())
    assert moved > 3
    for left_out in range(FOLDS):
        paths = []
        for one in (first, second):
            path = one.lesson.learn(left_out)
            assert path is not None
            paths.append((one.which[path.literals], *path[1:]))
        assert all(np.array_equal(*pair) for pair in zip(*paths, strict=True)) == (left_out == fold)
    assert first.calls.f1.value != second.calls.f1.value


def test_winners_that_are_not_known_are_winners_and_never_others() -> None:
    """What is said of the winners does not depend on which of them the baseline happens to have."""
    world = World(3)
    winners = winners_of(world, 0)
    found = world.explainer().fold(winners, world.own())
    known = np.count_nonzero(world.known[winners])
    assert 0 < known < len(winners)
    assert (found.asked.winner.sum(), (~found.asked.winner).sum()) == (len(winners), world.known.sum() - known)
    assert found.asked.each == pytest.approx((SCORED - len(winners)) / (world.known.sum() - known))
    assert sorted(found.rows.tolist()) == winners.tolist()


def test_of_unknown_values_nothing_is_counted() -> None:
    """A value brings the key along; its share, and that of its negation, are of sentences that have the key."""
    world = World(1)
    key, (value, _) = world.has[:, KEY], VALUES
    for direction in (3.0, -3.0):
        winners = world.draw(key * (world.has[:, value] - 0.5) * direction - 3.5)
        found = world.explainer().fold(winners)
        card = found.published()
        chosen = found.which[card.literals].tolist()
        assert chosen.index(KEY) < chosen.index(value)
        place = chosen.index(value)
        literal, negated = card.literals[place], bool(card.weights[place] < 0)
        assert negated == (direction < 0)
        assert found.size == 1, "the key is not counted"
        folds = found.chosen_by(literal)[world.fold]
        wins = np.isin(np.arange(len(key)), winners)
        holds = world.has[:, value] ^ negated
        of_winners, others = (key & folds & some for some in (wins, world.known & ~wins))
        assert shares(found, literal, negated, found.chosen_by(literal)) == pytest.approx(
            {"share": holds[of_winners].mean(), "baseline_share": holds[others].mean()}
        )
        assert sorted(found.holding(literal, negated)) == np.flatnonzero(wins & key & holds).tolist()


def test_shares_are_those_of_all_folds_where_the_folds_that_chose_a_literal_have_no_winner() -> None:
    world = World(1)
    winners = np.flatnonzero(world.has[:, 10] & (world.fold != 3))[:60]
    found = world.explainer().fold(winners)
    place = int(np.flatnonzero(found.which == 10)[0])
    every, only = np.ones(FOLDS, np.bool_), np.arange(FOLDS) == 3
    assert shares(found, place, False, only) == shares(found, place, False, every)
    assert shares(found, place, False, only)["share"] == 1.0


def test_votes_and_stability_count_near_copies() -> None:
    """Literals 10 and 11 are one finding: whichever of them a fold chose, the plainer is published."""
    world = World(2)
    world.has[:, 10] = world.has[:, 11] ^ (world.rng.random(len(world.has)) < 0.004)
    found = world.explainer().fold(world.draw(world.has[:, 11] * 6 - 6.0))
    (pair,) = [np.flatnonzero(np.isin(found.which, (10, 11)))]
    of_folds = [{*found.which[card.literals].tolist()} & {10, 11} for card in found.cards]
    for place in pair:
        assert found.chosen_by(place).tolist() == [bool(own) for own in of_folds]
        assert found.lesson.near[place, pair].all()
    chosen = {*found.which[found.published().literals].tolist()} & {10, 11}
    assert chosen == {min((10, 11), key=lambda i: world.plainness[i])}


def test_a_literal_of_four_folds_is_not_published() -> None:
    """As many votes are needed as half of the folds have, and weights are learned again from all documents."""
    world = World(4)
    found = world.explainer().fold(winners_of(world, 0), world.own())
    whole = found.published()
    chosen = [literal for literal in whole.literals if not NUISANCE[found.which[literal]]]
    assert chosen
    for voters, kept in ((5, True), (4, False)):
        for fold, card in enumerate(found.cards):
            left = np.isin(card.literals, np.flatnonzero(found.lesson.near[chosen[0]]), invert=fold >= voters)
            literals = card.literals[left] if fold >= voters else np.append(card.literals[~left], chosen[0])
            found.cards[fold] = Card(literals, np.ones(len(literals)), card.intercept, card.threshold)
        assert (chosen[0] in found.published().literals) == kept


def test_a_set_does_not_depend_on_the_sets_before_it() -> None:
    world = World(5)
    sets = [winners_of(world, seed) for seed in range(3)]
    explainer = world.explainer()
    one, other = ([explainer.fold(sets[i], world.own()) for i in order] for order in ((0, 1, 2), (2, 1, 0)))
    for first, second in zip(one, other[::-1], strict=True):
        np.testing.assert_array_equal(first.asked.called, second.asked.called)
        np.testing.assert_array_equal(first.calls.f1.effects, second.calls.f1.effects)


@pytest.mark.parametrize("winners", [0, 1, 2, 1_100, 2_000])
def test_sets_of_which_nothing_can_be_told(winners: int) -> None:
    """No winner, one, and more than half of the corpus: cards without literals, which call nothing."""
    world = World(6)
    some = np.sort(world.rng.choice(len(world.has), winners, replace=False))
    explainer = world.explainer()
    explainer.sentences = len(world.has)
    found = explainer.fold(some, world.own())
    assert all(len(card.literals) == 0 for card in (*found.cards, found.published()))
    assert not found.asked.called.any()
    assert found.calls.f1.value == 0
