from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ops.literals.own_literals import OwnWords
from ops.mine.pattern_kinds import SequenceKind
from ops.patterns import count_sequences
from ops.patterns.sequences import Sequences
from ops.sentences.mining_view import MiningView
from ops.statistics.association import signed_g2
from tests.unit.patterns.mined import mine
from tests.unit.small_corpus import Sentence, open_corpus


def language(seed: int, n: int) -> list[list[str]]:
    """Return sentences in which few words are frequent."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 61)
    return [[f"w{w}" for w in rng.choice(60, rng.integers(2, 12), p=share / share.sum())] for _ in range(n)]


def kind_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, sentences: list[Sentence], size: int = 2, max_gap: int = 1
) -> SequenceKind:
    view = MiningView(open_corpus(folder, monkeypatch, sentences), "lower")
    return SequenceKind("word", view, 0.05, size, max_gap)


@pytest.mark.parametrize("max_gap", [-1, 1])
@pytest.mark.parametrize(
    ("top", "pooled", "factor", "rare"), [(5, 0, 0.0, 400), (30, 40, 1.05, 400), (1000, 5, 1.05, 100), (3, 0, 2.0, 60)]
)
def test_the_best_are_those_of_a_count_of_every_pattern(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    top: int,
    pooled: int,
    factor: float,
    rare: int,
    max_gap: int,
) -> None:
    rng = np.random.default_rng(pooled)
    written = language(pooled, 400)
    is_baseline = rng.random(400) < 0.8
    sentences = [Sentence([*own, "."], baseline=bool(b)) for own, b in zip(written, is_baseline, strict=True)]
    kind = kind_of(tmp_path, monkeypatch, sentences, 3, max_gap)
    view = kind.view
    trains = rng.random(400) < 0.5
    # Winners have frequent word 7 more than others, and most of all before word 2.
    pair = [("w7", "w2") in pairwise(own) for own in written]
    wins = np.array([p or rng.random() < (0.5 if "w7" in own else 0.1) for p, own in zip(pair, written, strict=True)])
    winners, baseline = np.flatnonzero(wins & trains), np.flatnonzero(is_baseline)
    counted = (trains & ~wins)[baseline]

    mined, support = mine(view.words(winners), max(-(-len(winners) // 20), 2), 3, max_gap)
    pool = mined.take(rng.permutation(len(mined))[:pooled])
    own = view.words(baseline)
    rest, everywhere = (count_sequences.count(some, mined, max_gap) for some in (own.take(counted), own))
    facts = {
        tuple(p): found for p, *found in zip(mined.to_lists(), support, rest, everywhere, strict=True)
    }  # fmt: skip
    n, n_rest, known = len(winners), int(counted.sum()), {tuple(p) for p in pool.to_lists()}
    rows = {}
    for pattern, (a, c, _) in facts.items():
        rarest = min(pattern, key=lambda word: facts[(word,)][2])
        of_word, c_word, everywhere_word = facts[(rarest,)]
        lifts = (a + 0.5) / (c + 0.5), factor * (of_word + 0.5) / (c_word + 0.5)
        g2 = float(signed_g2(a, n, c, n_rest))
        kept = g2 > 0 and everywhere_word <= rare and (len(pattern) == 1 or lifts[0] >= lifts[1] - 1e-12)
        if kept and pattern not in known:
            rows[pattern] = (-g2, -int(a), len(pattern))

    monkeypatch.setattr("ops.literals.own_literals.RARE_COUNT", rare)
    monkeypatch.setattr("ops.literals.own_literals.TOP", top)
    words = OwnWords(kind, baseline, pool, 2, factor, seed=0)
    found, having = words.mine(rng.permutation(winners), counted, 5)
    assert len(found) > 0
    assert [rows[tuple(p)] for p in found.to_lists()] == sorted(rows.values())[:top]
    expected = count_sequences.occurrences(own, found, max_gap)
    assert having.sentences.tolist() == expected.sentences.tolist()
    assert having.offsets.tolist() == expected.offsets.tolist()


def test_of_many_winners_a_sample_by_the_seed_is_mined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = kind_of(tmp_path, monkeypatch, [Sentence(own) for own in language(1, 300)])
    winners, counted = np.arange(150), np.arange(300) >= 150

    def found(seed: int, number: int, most: int = 40) -> list[list[int]]:
        monkeypatch.setattr("ops.literals.own_literals.MOST_WINNERS", most)
        own = OwnWords(kind, np.arange(300), Sequences.from_lists([]), 2, 1.05, seed)
        return own.mine(winners, counted, number)[0].to_lists()

    assert found(0, 1) == found(0, 1)
    assert len({str(found(*given)) for given in ((0, 1), (0, 2), (1, 1))}) == 3
    assert found(0, 1, 150) == found(1, 2, 150)


def test_nothing_to_mine_and_nothing_to_compare_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = kind_of(tmp_path, monkeypatch, [Sentence(own) for own in language(2, 60)])
    counted, every = np.arange(60) >= 20, mine(kind.view.words(np.arange(20)), 2, 2, 1)[0]
    nothing = Sequences.from_lists([])

    def found(winners: int, counted: np.ndarray, pool: Sequences = nothing, baseline: int = 60) -> int:
        return len(OwnWords(kind, np.arange(baseline), pool, 2, 0.0, 0).mine(np.arange(winners), counted, 0)[0])

    assert found(20, counted) > 0
    assert found(0, np.ones(60, bool)) == found(20, np.zeros(60, bool)) == found(20, np.zeros(0, bool), baseline=0) == 0
    assert found(20, counted, every) == 0, "the pool has every pattern"
    own = OwnWords(kind, np.arange(60), nothing, 2, 1.05, 0)
    for patterns in (Sequences.from_lists([[3, 1], [2], [3, 0, 3]]), nothing):
        texts, items = kind.texts_and_items(patterns)
        named = [(literal.kind, literal.pattern, literal.items) for literal in own.literals(patterns)]
        assert named == [("word", *row) for row in zip(texts.to_pylist(), items.to_pylist(), strict=True)]
