"""The classifier of a set of sentences: what is picked, and what a sentence's evidence is the sum of."""

from collections import Counter
from itertools import combinations, pairwise
from math import log
from pathlib import Path

import numpy as np
import pytest

from ops.mine.baseline_counts import BlockCounter, add_up, read_baselines
from ops.mine.candidates import mine_candidates, unite
from ops.mine.held_out_sets import LikeRows
from ops.mine.naive_bayes import Features, evidence, learn, score_sets
from ops.mine.pattern_kinds import PatternKind, SequenceKind
from ops.mine.properties import Profiler
from ops.mine.sentence_sets import SentenceSets
from ops.patterns.sequences import Sequences
from ops.sentences.mining_view import MiningView
from ops.statistics.association import signed_g2
from ops.statistics.like_area import LikeArea
from tests.unit.small_corpus import Sentence, open_corpus

WORDS = [f"w{i}" for i in range(30)]


def sentences(planted: int, seed: int = 0) -> list[Sentence]:
    """400 sentences of eight random words; the first `planted` also hold `river bank` and are about water."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(400):
        words = [WORDS[w] for w in rng.integers(0, 30, 8)]
        topic = "water" if i < planted and rng.random() < 0.8 else "other"
        if i < planted:
            words[2:4] = ["river", "bank"]
        found.append(Sentence(words, ["NN"] * 8, doc_id=f"d{i}", meta={"topic": topic}))
    return found


def built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sets: list[np.ndarray], planted: int, top: int = 25
) -> tuple[list[Features], MiningView]:
    monkeypatch.setattr("ops.mine.naive_bayes.TOP", top)
    text = MiningView(open_corpus(tmp_path, monkeypatch, sentences(planted)))
    kinds: dict[str, PatternKind] = {
        "word": SequenceKind("word", text, 0.05, 3, 2),
        "tag": SequenceKind("tag", text, 0.05, 3, 2),
    }
    profiler = Profiler(text)
    learnt = SentenceSets.gather(np.arange(len(sets)), Sequences.from_lists([s.tolist() for s in sets]), text.store)
    candidates = mine_candidates(learnt, kinds.values(), 3)
    union = unite([candidates])
    totals = add_up([BlockCounter(union, kinds, profiler).count((np.arange(400), np.zeros(0, np.int64)))])
    baseline = read_baselines(union, kinds, profiler, totals)[0]
    return learn(candidates, kinds, baseline, learnt, profiler, 3), text


def evidence_of_first(found: list[Features], rows: np.ndarray) -> np.ndarray:
    return evidence(found, 0, rows, Sequences.of_all(len(rows)))


def words_of(sets: list[np.ndarray], number: int, planted: int) -> dict[tuple[str, ...], float]:
    """Return the strongest word patterns of a set and their weights, in descending order, counted by hand."""
    corpus = [s.words for s in sentences(planted)]

    def patterns(words: list[str]) -> set[tuple[str, ...]]:
        found = set()
        for size in (1, 2, 3):
            for places in combinations(range(8), size):
                if all(b - a <= 3 for a, b in pairwise(places)):
                    found.add(tuple(words[p] for p in places))
        return found

    has = [patterns(words) for words in corpus]
    own = set(sets[number].tolist())
    a, c = Counter(p for i in own for p in has[i]), Counter(p for i in range(400) if i not in own for p in has[i])
    frequent = [p for p, n in a.items() if n >= max(3, 0.05 * len(own))]
    g2 = signed_g2([a[p] for p in frequent], len(own), [c[p] for p in frequent], 400 - len(own))
    lift = {p: ((a[p] + 0.5) / (len(own) + 1)) / ((c[p] + 0.5) / (401 - len(own))) for p in frequent}
    ranked = sorted(zip(g2.tolist(), frequent, strict=True), reverse=True)
    return {p: log(lift[p]) for value, p in ranked if value > 0}


def test_the_planted_pattern_recognises_the_others_of_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = built(tmp_path, monkeypatch, [np.arange(40)], 80)
    weights = found[0].weights
    assert (weights > 0).all()
    # 40 of 40 winners, 40 of the 360 others.
    assert np.isclose(weights, log((40.5 / 41) / (40.5 / 361))).any()
    scores = evidence_of_first(found, np.arange(40, 400))
    assert scores[:40].min() > scores[40:].max()
    own, others = Sequences.of_all(80).take([0]).where(np.arange(80) >= 40), Sequences.from_lists([range(80, 400)])
    like = LikeRows(others, np.zeros(40, np.int64), np.full(40, 320))
    (area,) = score_sets(found, own, like, np.arange(400) // 2)
    assert area.auc == 1.0
    assert area.documents.tolist() == list(range(20, 200))
    assert area.winners.tolist() == [2.0] * 20 + [0.0] * 160


def test_the_evidence_is_the_sum_of_the_weights_of_what_the_sentence_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = [np.arange(0, 100, 3), np.arange(200, 260), np.arange(10, 100, 2)]
    found, text = built(tmp_path, monkeypatch, sets, 80, top=100_000)
    rows, wanted = np.array([1, 50, 99, 333]), [[0, 1, 2, 3], [3, 1], [2]]
    scores = evidence(found, 0, rows, Sequences.from_lists(wanted)).tolist()
    corpus, place = sentences(80), 0
    for number, places in enumerate(wanted):
        words = words_of(sets, number, 80)
        assert len(words) == len(found[0].sets.to_lists()[number])
        for own in places:
            sentence = corpus[rows[own]]
            total = sum(w for p, w in words.items() if contains(sentence.words, p))
            profiler = Profiler(text)
            of_values = [p for p in profiler.properties if p.is_feature and not p.is_nuisance]
            # One feature for each kind comes before those of the properties.
            for property_, features in zip(of_values, found[2:], strict=True):
                first, stop = features.sets.offsets[number : number + 2]
                weights = dict(zip(features.sets.items[first:stop].tolist(), features.weights[first:stop], strict=True))
                held = {sentence.meta["topic"]} if property_.name == "topic" else set(sentence.words)
                total += sum(w for value, w in weights.items() if property_.values[value] in held)
            assert scores[place] == pytest.approx(total)
            place += 1


def test_the_strongest_are_picked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [np.arange(200, 260), np.arange(0, 100, 3)]
    found, _ = built(tmp_path, monkeypatch, sets, 80)
    for number in range(2):
        by_strength = list(words_of(sets, number, 80).values())
        first, stop = found[0].sets.offsets[number : number + 2]
        assert stop - first == 25 < len(by_strength)
        # The order of ties aside, weights are those of the strongest by g2.
        ours = Counter(np.round(found[0].weights[first:stop], 9).tolist())
        assert sum((ours - Counter(np.round(by_strength[:25], 9).tolist())).values()) <= 2


def contains(words: list[str], pattern: tuple[str, ...]) -> bool:
    places = [i for i, w in enumerate(words) if w == pattern[0]]
    for item in pattern[1:]:
        places = [j for i in places for j in range(i + 1, min(i + 4, len(words))) if words[j] == item]
    return bool(places)


def assert_same(one: LikeArea, other: LikeArea) -> None:
    assert one.auc == other.auc
    for name in ("documents", "gain", "winners"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_sets_are_weighed_the_same_alone_and_beside_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [np.arange(0, 100, 3), np.arange(200, 260), np.zeros(0, np.int64), np.arange(10, 100, 2)]
    found, _ = built(tmp_path, monkeypatch, sets, 80)
    held_out, others = ([np.arange(first + i, first + 40 + i).tolist() for i in range(4)] for first in (100, 300))
    first = np.arange(160) % 40 // 10 * 10
    like, documents = LikeRows(Sequences.from_lists(others), first, first + 10), np.arange(400)
    together = score_sets(found, Sequences.from_lists(held_out), like, documents)
    monkeypatch.setattr("ops.mine.naive_bayes.MOST_WANTED", 1)
    apart = score_sets(found, Sequences.from_lists(held_out), like, documents)
    for one, other in zip(apart, together, strict=True):
        assert_same(one, other)
    for i, own in enumerate(sets):
        alone, _ = built(tmp_path / str(i), monkeypatch, [own], 80)
        assert np.allclose(
            evidence_of_first(alone, np.arange(400)),
            evidence(found, i, np.arange(400), Sequences.of_all(400)),
            rtol=1e-12,
        )
