"""A neuron's rows against a recount in plain Python."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise
from math import exp, inf, isnan, log, sqrt
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.forms.forms import NAMES
from ops.mine.baseline_counts import BlockCounter, add_up, read_baselines
from ops.mine.candidates import least_support, mine_candidates, unite
from ops.mine.findings import pattern_rows, profile_rows
from ops.mine.pattern_kinds import PatternKind, SequenceKind, SubtreeKind
from ops.mine.properties import Profiler
from ops.mine.range_tables import mean_rows
from ops.mine.sentence_sets import SentenceSets, row_groups
from ops.patterns.sequences import Sequences
from ops.penn import PUNCTUATION_TAGS, tag_class
from ops.sentences.mining_view import MiningView
from ops.sentences.store import SentenceStore
from ops.statistics.association import signed_g2
from ops.statistics.false_discovery import p_values, q_values, selected_p_values
from tests.unit.mine.test_properties import recount
from tests.unit.small_corpus import PROPERTIES, Sentence, open_corpus, random_sentences

CUT = ("noun", "verb", "adjective", "punctuation", *NAMES, "author", "topic")  # properties without rare values
LENGTH, GAP, SHARE, FLOOR = 3, 1, 0.1, 2


class Mined:
    """Everything that `mine` does, for several sets of winners."""

    def __init__(self, store: SentenceStore, winners: list[list[int]]) -> None:
        text = MiningView(store)
        self.profiler = Profiler(text)
        self.kinds: dict[str, PatternKind] = {
            "word": SequenceKind("word", text, SHARE, LENGTH, GAP),
            "tag": SequenceKind("tag", text, SHARE, LENGTH, GAP),
            "subtree": SubtreeKind(text, SHARE, 3),
        }
        self.sets = SentenceSets.gather(np.array([4, 8, 12]), Sequences.from_lists(winners), store)
        self.candidates = mine_candidates(self.sets, self.kinds.values(), FLOOR)
        union = unite([self.candidates])
        rows = np.flatnonzero(store.baseline)
        even = store.doc[rows] % 2 == 0
        totals = add_up([BlockCounter(union, self.kinds, self.profiler).count((rows[even], rows[~even]))])
        self.baseline = read_baselines(union, self.kinds, self.profiler, totals)[0]

    def rows(self, found: tuple[np.ndarray, pa.Table]) -> list[list[dict[str, Any]]]:
        """Return the rows of each set, once they are known to come set by set."""
        owner, table = found
        assert np.array_equal(owner, np.sort(owner))
        assert len(owner) == table.num_rows
        rows = table.to_pylist()
        return [[row for row, own in zip(rows, owner, strict=True) if own == i] for i in range(len(self.sets))]

    def patterns(self, productivity: float = 0, max_patterns: int = 0) -> list[list[dict[str, Any]]]:
        options = FLOOR, productivity, max_patterns
        return self.rows(pattern_rows(self.candidates, self.kinds.values(), self.baseline, self.sets, *options))


def measured(a: int, n1: int, c: int, n2: int) -> dict[str, float | None]:
    """Share, baseline share, lift, its lower bound and signed g2, from the definitions."""
    if not n2:
        return {"share": a / n1, "baseline_share": None, "lift": None, "lift_low": None, "g2": 0.0}
    lift = ((a + 0.5) / (n1 + 1)) / ((c + 0.5) / (n2 + 1))
    spread = sqrt(1 / (a + 0.5) - 1 / (n1 + 1) + 1 / (c + 0.5) - 1 / (n2 + 1))
    cells = ((a, n1, a + c), (n1 - a, n1, n1 + n2 - a - c), (c, n2, a + c), (n2 - c, n2, n1 + n2 - a - c))
    g2 = 2 * sum(o * log(o * (n1 + n2) / (row * column)) for o, row, column in cells if o)
    sign = 1 if a / n1 >= c / n2 else -1
    return {
        "share": a / n1,
        "baseline_share": c / n2,
        "lift": lift,
        "lift_low": lift * exp(-1.96 * spread),
        "g2": sign * g2,
    }


def same(row: dict[str, Any], expected: dict[str, float | None]) -> None:
    for name, value in expected.items():
        if name == "lift_low" and "property" in row:
            continue
        if value is None:
            assert row[name] is None
        else:
            assert row[name] == pytest.approx(value, rel=1e-5, abs=1e-5)


Counts = list[tuple[str, int, int]]  # of each sentence its document, how often it counts, and out of how many


def residuals(found: Counts, share: float) -> tuple[float, int]:
    """Return the variance of a share by documents over that by what is counted, and the documents."""
    of_document: dict[str, float] = {}
    alone = 0.0
    for document, count, n in found:
        if n:
            of_document[document] = of_document.get(document, 0.0) + count - share * n
            alone += count * (1 - share) ** 2 + (n - count) * share**2
    return (sum(r * r for r in of_document.values()) / alone if alone else 1.0), len(of_document)


def design_effect(own: Counts, others: Counts, baseline: Counts | None = None) -> float | None:
    """Return the design effect by its definition; None where it has no end.

    Args:
        own, others: of the winners, and of the baseline's sentences that are not among them.
        baseline: of all the baseline's, for a value that has a row also where no winner has it.
    """
    count, n = (sum(s[place] for s in own) for place in (1, 2))
    c, n2 = (sum(s[place] for s in others) for place in (1, 2))
    share = (count + c) / (n + n2)
    ratio, documents = residuals(own, share)
    if documents < 2 or (count > n * share and len({s[0] for s in own if s[1]}) < 2 and documents < n):
        return None
    effect = max(1.0, ratio * documents / (documents - 1) * (n - 1) / n)
    total, m = (sum(s[place] for s in baseline or []) for place in (1, 2))
    if m and count < n * share:
        whole, _ = residuals(baseline or [], total / m)
        crowds = [sum_of_squares(some) / sum(s[2] for s in some) - 1 for some in (own, baseline or [])]
        chance = min(crowds[0] / crowds[1], 1.0) if crowds[1] else 0.0
        effect = max(effect, 1 + chance * max(whole - 1, 0.0))
    return effect


def sum_of_squares(found: Counts) -> int:
    sizes = Counter[str]()
    for document, _, n in found:
        sizes[document] += n
    return sum(n * n for n in sizes.values())


def subsequences(items: list[str]) -> set[tuple[str, ...]]:
    found = set()
    for size in range(1, LENGTH + 1):
        for places in combinations(range(len(items)), size):
            if all(b - a <= GAP + 1 for a, b in pairwise(places)):
                found.add(tuple(items[p] for p in places))
    return found


def mining_items(sentence: Sentence, kind: str) -> list[str]:
    pairs = [p for p in zip(sentence.words, sentence.tags or [], strict=True) if p[1] not in PUNCTUATION_TAGS]
    return [p[kind == "tag"] for p in pairs]


def winner_sets(sentences: list[Sentence]) -> list[list[int]]:
    """Return three sets of winners by row; two of them overlap, and the last has one winner."""
    marked = [i for i, s in enumerate(sentences) if s.winner]
    return [marked, list(range(5, 20)), [30]]


def split(sentences: list[Sentence], own: list[int]) -> tuple[list[Sentence], list[Sentence]]:
    """Return the winners, and the baseline without them."""
    return [sentences[i] for i in own], [s for i, s in enumerate(sentences) if s.baseline and i not in own]


@pytest.fixture(params=["mixed", "no other baseline", "no baseline"])
def sentences(request: pytest.FixtureRequest) -> list[Sentence]:
    found = random_sentences(8, 45)
    if request.param == "no other baseline":
        return [replace(s, baseline=s.winner) for s in found]
    if request.param == "no baseline":
        return [replace(s, baseline=False) for s in found]
    return found


@pytest.fixture
def mined(sentences: list[Sentence], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mined:
    store = open_corpus(tmp_path, monkeypatch, sentences[:20], sentences[20:])
    return Mined(store, winner_sets(sentences))


def test_patterns(mined: Mined, sentences: list[Sentence], monkeypatch: pytest.MonkeyPatch) -> None:
    every = mined.patterns()
    monkeypatch.setattr("ops.mine.findings.MOST_CANDIDATES", 1)
    assert mined.patterns() == every
    for own, found in zip(winner_sets(sentences), every, strict=True):
        winners, others = split(sentences, own)
        assert [r["kind"] for r in found] == sorted(r["kind"] for r in found)
        for kind in ("word", "tag"):
            check_patterns([r for r in found if r["kind"] == kind], kind, winners, others)


def check_patterns(rows: list[dict[str, Any]], kind: str, winners: list[Sentence], others: list[Sentence]) -> None:
    """Check the rows of one kind of a set against all subsequences of its winners."""
    support: Counter[tuple[str, ...]] = Counter()
    documents: dict[tuple[str, ...], set[str]] = {}
    for s in winners:
        for pattern in subsequences(mining_items(s, kind)):
            support[pattern] += 1
            documents.setdefault(pattern, set()).add(s.document)
    elsewhere = Counter(p for s in others for p in subsequences(mining_items(s, kind)))
    least = least_support(SHARE, len(winners), FLOOR)
    effects: list[float] = []
    assert {tuple(r["items"]) for r in rows} == {p for p, n in support.items() if n >= least}
    assert [r["rank"] for r in rows] == list(range(1, len(rows) + 1))
    for row in rows:
        pattern = tuple(row["items"])
        assert (row["pattern"], row["size"]) == (" ".join(pattern), len(pattern))
        assert (row["support"], row["docs"]) == (support[pattern], len(documents[pattern]))
        same(row, measured(support[pattern], len(winners), elsewhere[pattern], len(others)))
        ours, theirs = (
            [(s.document, int(pattern in subsequences(mining_items(s, kind))), 1) for s in part]
            for part in (winners, others)
        )
        effect = design_effect(ours, theirs)
        assert row["design_effect"] == (effect and pytest.approx(effect, rel=1e-6))
        effects.append(effect or inf)
    order = [(-r["g2"], -r["support"], r["pattern"]) for r in rows]
    assert order == sorted(order, key=lambda key: (round(key[0], 4), *key[1:]))
    expected = [None] * len(rows)
    if others and rows:
        a, c = ([count[tuple(r["items"])] for r in rows] for count in (support, elsewhere))
        expected = q_values(selected_p_values(a, len(winners), c, len(others), least, effects)).tolist()
    assert [r["q_value"] for r in rows] == [q if q is None else pytest.approx(q) for q in expected]


def test_subtrees_of_two_nodes(mined: Mined, sentences: list[Sentence]) -> None:
    def holds(s: Sentence, tag: str) -> bool:
        return tag in mining_items(s, "tag")

    for own, found in zip(winner_sets(sentences)[:2], mined.patterns(), strict=False):
        winners, others = split(sentences, own)
        rows = {r["pattern"]: r for r in found if r["kind"] == "subtree"}
        for tag in ("NN", "DT", "JJ", "VBZ"):
            row = rows[f"(S ({tag}))"]
            a, c = sum(holds(s, tag) for s in winners), sum(holds(s, tag) for s in others)
            assert row["support"] == a
            assert row["docs"] == len({s.document for s in winners if holds(s, tag)})
            assert row["items"] == ["S", tag]
            same(row, measured(a, len(winners), c, len(others)))
        assert rows["(ROOT (S))"]["support"] == len(winners)


def test_the_cap_leaves_the_first_and_the_filter_changes_no_number(mined: Mined) -> None:
    for every, capped, filtered in zip(
        mined.patterns(), mined.patterns(max_patterns=3), mined.patterns(productivity=1.05), strict=True
    ):
        for kind in ("word", "tag", "subtree"):
            rows = [r for r in every if r["kind"] == kind]
            assert [r for r in capped if r["kind"] == kind] == rows[:3]
            left = [r for r in filtered if r["kind"] == kind]
            whole = {r["pattern"]: {**r, "rank": 0} for r in rows}
            assert all({**r, "rank": 0} == whole[r["pattern"]] for r in left)
            assert [r["rank"] for r in left] == list(range(1, len(left) + 1))
            if kind != "subtree":
                lift = {tuple(r["items"]): r["lift"] for r in rows}
                kept = {tuple(r["items"]) for r in left}
                for items, own in lift.items():
                    shorter = {items[:i] + items[i + 1 :] for i in range(len(items))} & lift.keys()
                    assert (items in kept) == (own is None or all(own >= 1.05 * lift[s] for s in shorter))


def test_profiles(mined: Mined, sentences: list[Sentence]) -> None:
    every = mined.rows(profile_rows(mined.profiler, mined.baseline, mined.sets, FLOOR))
    for own_rows, rows in zip(winner_sets(sentences), every, strict=True):
        winners, others = split(sentences, own_rows)
        baseline = [s for s in sentences if s.baseline]
        names = [r["property"] for r in rows]
        assert list(dict.fromkeys(names)) == sorted(set(names))
        for name in PROPERTIES:
            own = [r for r in rows if r["property"] == name]
            effects: list[float] = []
            counts, n = recount(winners, name)
            elsewhere, baseline_n = recount(others, name)
            cut = name in CUT
            kept = {v for v in counts | elsewhere if counts[v] >= (FLOOR if cut else 0)}
            assert {r["value"] for r in own} == (kept if n else set())
            assert [r["rank"] for r in own] == list(range(1, len(own) + 1))
            g2 = [r["g2"] for r in own]
            assert g2 == sorted(g2, reverse=True)
            for row in own:
                value = row["value"]
                assert (row["count"], row["n"], row["baseline_n"]) == (counts[value], n, baseline_n)
                assert row["docs"] == len({s.document for s in winners if recount([s], name)[0][value]})
                same(row, measured(counts[value], n, elsewhere[value], baseline_n))
                ours, theirs, every = (
                    [(s.document, found[0][value], found[1]) for s in part for found in [recount([s], name)]]
                    for part in (winners, others, baseline)
                )
                effect = design_effect(ours, theirs, None if cut else every)
                assert row["design_effect"] == (effect and pytest.approx(effect, rel=1e-6))
                effects.append(effect or inf)
            expected = [None] * len(own)
            if baseline_n and own:
                a, c = ([counter[r["value"]] for r in own] for counter in (counts, elsewhere))
                p = p_values(signed_g2(a, n, c, baseline_n), effects)
                if cut:
                    p = selected_p_values(a, n, c, baseline_n, FLOOR, effects)
                expected = [pytest.approx(q) for q in q_values(p)]
            assert [r["q_value"] for r in own] == expected


@pytest.mark.parametrize("sentences", ["mixed"], indirect=True)
def test_rates_of_a_profile_are_taken_before_its_cap(mined: Mined, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = mined.rows(profile_rows(mined.profiler, mined.baseline, mined.sets, FLOOR))
    monkeypatch.setattr("ops.mine.findings.MAX_VALUES", 1)
    capped = mined.rows(profile_rows(mined.profiler, mined.baseline, mined.sets, FLOOR))
    assert any(r["property"] in CUT and r["rank"] > 1 for r in whole[0])
    assert capped == [[r for r in rows if r["rank"] == 1 or r["property"] not in CUT] for rows in whole]


def test_means(mined: Mined, sentences: list[Sentence]) -> None:
    every = mined.rows(mean_rows(mined.profiler, mined.baseline, mined.sets))
    for own, rows in zip(winner_sets(sentences), every, strict=True):
        winners, others = split(sentences, own)
        assert [r["property"] for r in rows] == ["nouns_per_sentence", "verbs_per_sentence", "words_per_sentence"]
        for row, kind in zip(rows, ("noun", "verb", None), strict=True):
            ours, theirs = (
                [sum(kind in (None, tag_class(t)) for t in s.tags or []) for s in part] for part in (winners, others)
            )
            assert row["n"] == len(winners)
            assert row["mean"] == pytest.approx(fmean(ours))
            assert row["std"] == pytest.approx(pstdev(ours))
            if others:
                assert row["baseline_mean"] == pytest.approx(fmean(theirs))
                assert row["baseline_std"] == pytest.approx(pstdev(theirs))
            else:
                assert row["baseline_mean"] is row["baseline_std"] is None
            assert not any(isnan(v) for v in row.values() if isinstance(v, float))


@pytest.mark.parametrize("sentences", ["mixed"], indirect=True)
def test_no_candidate_gives_no_row(mined: Mined) -> None:
    none = mined.candidates.slice(0, 0)
    owner, found = pattern_rows(none, mined.kinds.values(), mined.baseline, mined.sets, 2, 1.05, 10)
    assert len(owner) == found.num_rows == 0
    assert found.schema.field("items").type == pa.list_(pa.string())


@given(st.lists(st.integers(1, 12), max_size=12), st.integers(1, 10))
def test_row_groups_hold_whole_neurons_and_as_many_as_fit(sizes: list[int], limit: int) -> None:
    of_row = np.repeat(np.arange(len(sizes)) * 2, sizes)
    found = list(row_groups(pa.table({"neuron": of_row}), of_row, limit))
    neurons = [group["neuron"].unique().to_pylist() for group in found]
    assert [n for group in neurons for n in group] == [2 * i for i in range(len(sizes))]
    assert [group.num_rows for group in found] == [sum(sizes[n // 2] for n in group) for group in neurons]
    for group, own in zip(found, neurons, strict=True):
        assert group.num_rows <= limit or len(own) == 1
    for (group, _), (_, following) in zip(pairwise(found), pairwise(neurons), strict=True):
        assert group.num_rows + sizes[following[0] // 2] > limit
