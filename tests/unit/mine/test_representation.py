"""The representation of a set of sentences: what is picked, and what a sentence's evidence is the sum of."""

from math import log
from pathlib import Path

import numpy as np
import pytest

from ops.mine.baseline_counts import baseline_table, read_baseline
from ops.mine.candidates import Winners, from_keys, mine_winners, unite
from ops.mine.pattern_kinds import PatternKind, SequenceKind
from ops.mine.properties import Profiler
from ops.mine.representation import Representation, represent
from ops.sentences.mining_view import MiningView
from ops.statistics.auc import area
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: np.ndarray, planted: int
) -> tuple[Representation, dict[str, PatternKind], Profiler]:
    text = MiningView(open_corpus(tmp_path, monkeypatch, sentences(planted)))
    kinds: dict[str, PatternKind] = {"word": SequenceKind("word", text, 0.05, 3, 2)}
    profiler = Profiler(text)
    winners = Winners(0, rows, np.ones(len(rows), bool), text.store.doc[rows])
    candidates = mine_winners(winners, kinds.values(), 3)
    keys = unite([candidates])["key"].combine_chunks()
    every = np.arange(400)
    counts = kinds["word"].counter(from_keys(keys))(every)
    baseline = read_baseline(baseline_table(400, {"word": (keys, counts)}, profiler, every), profiler)
    return represent(candidates, kinds, baseline, winners, profiler, 3), kinds, profiler


def test_the_planted_pattern_recognises_the_others_of_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, kinds, profiler = built(tmp_path, monkeypatch, np.arange(40), 80)
    patterns, weights = found.patterns["word"]
    texts = kinds["word"].texts_and_items(patterns)[0]
    assert "river bank" in texts[:3]
    assert (weights > 0).all()
    # 40 of 40 winners, 40 of the 360 others.
    expected = log((40.5 / 41) / (40.5 / 361))
    assert weights[texts.index("river bank")] == pytest.approx(expected)
    evidence = found.evidence(np.arange(40, 400), kinds, profiler)
    assert area(evidence[:40], evidence[40:]).auc == 1.0


def test_the_evidence_is_the_sum_of_the_weights_of_what_the_sentence_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, kinds, profiler = built(tmp_path, monkeypatch, np.arange(0, 100, 3), 80)
    rows = np.array([1, 50, 99, 333])
    evidence = found.evidence(rows, kinds, profiler)
    patterns, weights = found.patterns["word"]
    corpus = sentences(80)
    names = {p.name: p.values for p in profiler.properties}
    for row, own_evidence in zip(rows, evidence, strict=True):
        sentence, total = corpus[row], 0.0
        for items, weight in zip(kinds["word"].texts_and_items(patterns)[1], weights, strict=True):
            places = [i for i, w in enumerate(sentence.words) if w == items[0]]
            for item in items[1:]:
                places = [j for i in places for j in range(i + 1, min(i + 4, 8)) if sentence.words[j] == item]
            total += weight if places else 0.0
        for name, values in found.values.items():
            own = {"noun": set(sentence.words), "topic": {sentence.meta["topic"]}}.get(name)
            own = own or {"docs", str(len(sentence.words))}
            total += sum(values[names[name].index(v)] for v in own if v in names[name])
        assert own_evidence == pytest.approx(total)


def test_random_sets_are_recognised_no_better_than_by_chance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = 0
    for draw in range(12):
        rng = np.random.default_rng(draw)
        chosen = rng.permutation(400)
        found, kinds, profiler = built(tmp_path / str(draw), monkeypatch, np.sort(chosen[:60]), 0)
        evidence = found.evidence(np.sort(chosen[60:]), kinds, profiler)
        held_out = np.isin(np.sort(chosen[60:]), chosen[60:130])
        measured = area(evidence[held_out], evidence[~held_out])
        inside += measured.low <= 0.5 <= measured.high
    assert inside >= 10


def test_without_features_there_is_no_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, kinds, profiler = built(tmp_path, monkeypatch, np.zeros(0, np.int64), 10)
    assert not found.values
    assert found.evidence(np.arange(5), kinds, profiler).tolist() == [0.0] * 5
