"""What is typical of winners, next to a plain program that goes through the sentences one by one."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom, norm

from ops.arrays import Bools, Float64s, Int64s
from ops.literals.find import Literals
from ops.literals.incidence import incidence, incidence_of_words
from ops.literals.like_words import LikeWords
from ops.literals.pool import literal_rows
from ops.literals.word_keys import count_frequent
from ops.mine.pattern_kinds import pattern_kinds
from ops.patterns.sequences import Sequences
from ops.sentences.mining_view import MiningView
from ops.sentences.store import SentenceStore
from ops.statistics.poisson_binomial import log_upper_tails
from ops.typical import typical
from ops.typical.items import DEVIATIONS, MORE_DEVIATIONS, ItemCounter
from ops.typical.strata import Cells
from ops.typical.typical import Typical, first_of_copies, strengths
from tests.unit.literals.test_literals import OPTIONS, holds
from tests.unit.small_corpus import Sentence, open_corpus

TAGS = ("DT", "NN", "VB", "JJ")
CLASSES = {"w1, w2": ["w1", "w2", "w5"], "w7, w8": ["w7", "w8"], "w18, zebra": ["w18", "zebra"]}
POOL = {
    "word": ["w1", "w3 w4"], "tag": ["NN", "JJ", "DT NN", "VB VB"], "subtree": ["(S (NN))", "(S (DT) (JJ))"],
    "word_class": list(CLASSES), "mark": ["."], "length": ["6"],
    "value": ["dataset: news", "mood: glad", "mood: sad", "mood", "place: here", "place"],
}  # fmt: skip
ITEMS = [(kind, pattern) for kind in ("tag", "subtree", "word_class") for pattern in POOL[kind]]
ITEMS += [("value", "mood: glad"), ("value", "mood: sad")]


def draw(seed: int, n: int, sources: tuple[str, ...] = ("docs", "news")) -> list[Sentence]:
    """Sentences of few words, in documents of several; words depend on the source, and the mood is often missing."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(n):
        source = int(rng.integers(len(sources)))
        length = int(rng.integers(2, 9))
        words = [f"{rng.choice(['w', 'W'])}{int(22 * rng.random() ** (1.5 + source))}" for _ in range(length)]
        drawn = [str(tag) for tag in rng.choice(TAGS, length, p=[0.4, 0.35, 0.22, 0.03])]
        # The rarest words are nearly always adjectives.
        tags = ["JJ" if int(word[1:]) >= 20 and rng.random() < 0.8 else t for word, t in zip(words, drawn, strict=True)]
        words, tags = [*words, "."][: length + number % 2], [*tags, "."][: length + number % 2]
        leaves = " ".join(f"({tag} {word})" for tag, word in zip(tags, words, strict=True))
        meta = {"mood": str(rng.choice(["glad", "sad"]))} if rng.random() < 0.6 else {}
        meta |= {"place": "here"} if rng.random() < 0.3 else {}
        where: dict[str, Any] = {"dataset": sources[source], "doc_id": str(rng.integers(n // 3)), "meta": meta}
        found.append(Sentence(words, tags, f"(ROOT (S {leaves}))", baseline=bool(rng.random() < 0.8), **where))
    return found


def parts_of(kind: str, pattern: str) -> list[str]:
    if kind == "word_class":
        return CLASSES[pattern]
    return pattern.split(": ") if kind == "value" else pattern.replace("(", " ").replace(")", " ").split()


def pool() -> pa.Table:
    parts = []
    for kind, patterns in POOL.items():
        parts.append(literal_rows(kind, patterns, [parts_of(kind, pattern) for pattern in patterns]))
    return pa.concat_tables(parts)


class Corpus:
    """A small corpus with all that finds what is typical; `place` is nuisance."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, sentences: list[Sentence], like: LikeWords | None = None,
        least: int = 0,
    ) -> None:  # fmt: skip
        self.sentences = sentences
        self.store: SentenceStore = open_corpus(folder, monkeypatch, sentences)
        view = MiningView(self.store, "lower")
        self.view, options = view, OPTIONS | {"tag_max_gap": 0}
        self.literals = Literals(pool(), view, pattern_kinds(view, options), ["place"])
        baseline = np.flatnonzero(self.store.baseline)
        matrix = incidence(self.literals.find(baseline), len(baseline))
        counter = ItemCounter(view, self.literals, baseline, matrix)
        having = incidence_of_words(view.words(baseline), len(view.word_names))
        document, fold = np.asarray(self.store.doc).astype(np.int64), np.asarray(self.store.fold)
        self.typical = Typical(
            counter, self.literals.every, having, like or LikeWords.none(), count_frequent(view, 0), document, fold,
            least=least,
        )  # fmt: skip

    def rows(self, winners: Int64s, count: int | None = None) -> list[dict[str, Any]]:
        found = incidence(self.literals.find(winners), len(winners)).T.tocsr()
        given = self.typical.rows(winners, found, len(winners) if count is None else count)
        return [{name: value for name, value in row.items() if name != "is_new"} for row in given]

    def code(self, word: str) -> int:
        return list(self.view.word_names).index(word)

    def winners(self, seed: int, weights: dict[str, float], n: int) -> Int64s:
        """Draw winners that prefer sentences with some words or labels."""
        liked = [
            sum(
                w
                for item, w in weights.items()
                if f" {item} " in f" {' '.join(plain_words(s))} " or item in s.meta.values()
            )
            for s in self.sentences
        ]
        noise = np.random.default_rng(seed).gumbel(size=len(liked))
        return np.sort(np.argsort(-(np.array(liked) + noise))[:n])


def plain_words(s: Sentence) -> list[str]:
    return [word.lower() for word in s.words if word != "."]


@dataclass
class Plain:
    kind: str
    pattern: str
    words: list[str]
    has: Bools
    chance: Float64s
    n: int
    q: float = 1.0

    @property
    def g2(self) -> float:
        a, e = float(self.has.sum()), float(self.chance.sum())
        terms = [(a, e), (self.n - a, self.n - e)]
        return 2 * sum(x * float(np.log(x / y)) for x, y in terms if x) * (1 if a > e else -1)


class ByHand:
    """Finds what is typical by looking at every sentence."""

    def __init__(self, corpus: Corpus, winners: Iterable[int], alike: set[frozenset[str]]) -> None:
        self.all, self.alike = corpus.sentences, alike
        self.winners, self.fold = [int(row) for row in winners], np.asarray(corpus.store.fold)
        of_document: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.has_item: list[set[tuple[str, str]]] = []
        for s in self.all:
            words = plain_words(s)
            names = {*words, *(f"{a} {b}" for a, b in pairwise(words))}
            for name in names:
                of_document["word", name].add(s.document)
            literals = {
                (kind, pattern) for kind, pattern in ITEMS
                if holds(kind, parts_of(kind, pattern), pattern, s, False, False)
            }  # fmt: skip
            self.has_item.append({("word", name) for name in names} | literals)
        self.family = sum(len(documents) >= 4 for documents in of_document.values()) + len(ITEMS)
        self.strata = [self.stratum(row) for row in self.winners]

    def stratum(self, row: int) -> list[int]:
        own = self.all[row]
        for width in (1, 2, 4, 8, 16, 1000):
            rows = [
                i for i, s in enumerate(self.all)
                if s.dataset == own.dataset and len(s.words) // width == len(own.words) // width
                and (s.baseline or i in self.winners)
            ]  # fmt: skip
            if sum(i not in self.winners for i in rows) >= 50:
                break
        return rows

    def item(self, kind: str, pattern: str, members: set[tuple[str, str]] | None = None) -> Plain:
        """Return an item, or any of several, with the winners' chances."""
        own = members or {(kind, pattern)}
        key = pattern.split(": ")[0] if kind == "value" else ""
        known = [not key or key in s.meta for s in self.all]
        holds_in = np.array([bool(own & names) for names in self.has_item])
        chance = []
        for row, rows in zip(self.winners, self.strata, strict=True):
            asked = [i for i in rows if known[i]]
            chance.append(holds_in[asked].mean() if known[row] else 0.0)
        has = holds_in[self.winners]
        words = [pattern] if kind == "word" else []
        return Plain(kind, pattern, words, has, np.array(chance), sum(known[row] for row in self.winners))

    def p(self, item: Plain) -> float:
        distribution = np.ones(1)
        for chance in item.chance:
            distribution = np.convolve(distribution, [1 - chance, chance])
        tail = distribution[item.has.sum() :].sum()
        key = item.pattern.split(": ")[0] if item.kind == "value" else ""
        sums: dict[str, float] = defaultdict(float)
        squares, n = 0.0, 0
        for row, has, chance in zip(self.winners, item.has, item.chance, strict=True):
            s = self.all[row]
            if not key or key in s.meta:
                sums[s.document] += has - chance
                squares += (has - chance) ** 2
                n += 1
        d = len(sums)
        effect = d / (d - 1) * sum(x * x for x in sums.values()) / (n / (n - 1) * squares)
        return float(norm.sf(norm.isf(tail) / np.sqrt(max(effect, 1.0))))

    def entries(self) -> list[Plain]:
        names = sorted({item for row in self.winners for item in self.has_item[row]})
        tested = []
        for name in names:
            rows = [row for row in self.winners if name in self.has_item[row]]
            if len(rows) >= 4 and len({self.all[row].document for row in rows}) >= 4:
                tested.append(self.item(*name))
        ps = [self.p(item) for item in tested]
        every = np.sort([*ps, *[1.0] * (self.family - len(ps))])
        rates = every * len(every) / np.arange(1, len(every) + 1)
        for item, p in zip(tested, ps, strict=True):
            item.q = min(rates[np.searchsorted(every, p, "right") - 1 :])
        kept = [item for item in tested if item.q < 0.05 and self.is_more(item)]
        return self.grouped(self.unexplained(self.folded(self.ordered(kept))))

    def is_more(self, item: Plain) -> bool:
        more = item.has - item.chance
        first = self.fold[self.winners] < 5
        enough = item.has.sum() >= 2 * item.chance.sum() or more.sum() >= 0.2 * item.n
        return bool(enough and more[first].sum() > 0 and more[~first].sum() > 0)

    @staticmethod
    def ordered(items: list[Plain]) -> list[Plain]:
        kinds = ["word", "form", "word_class", "tag", "subtree", "value"]
        return sorted(items, key=lambda item: (-round(item.g2, 9), kinds.index(item.kind), item.pattern))

    @staticmethod
    def folded(items: list[Plain]) -> list[Plain]:
        kept: list[Plain] = []
        for item in items:
            if all((item.has & k.has).sum() < 0.9 * (item.has | k.has).sum() for k in kept):
                kept.append(item)
        return kept

    @staticmethod
    def unexplained(items: list[Plain]) -> list[Plain]:
        kept: list[Plain] = []
        for item in items:
            rest = ~np.any([k.has for k in kept if k.kind == "word"] or [np.zeros(len(item.has), bool)], axis=0)
            more = item.has - item.chance
            if item.kind not in ("tag", "subtree") or more[rest].sum() >= more.sum() / 2:
                kept.append(item)
        return kept

    def grouped(self, items: list[Plain]) -> list[Plain]:
        groups: list[list[Plain]] = []
        for item in items:
            for group in groups if item.kind == "word" and " " not in item.pattern else []:
                if all(frozenset((item.pattern, other.pattern)) in self.alike for other in group):
                    group.append(item)
                    break
            else:
                groups.append([item])
        found = []
        for group in groups:
            one = group[0]
            if len(group) > 1:
                names = [item.pattern for item in group]
                union = self.item(one.kind, one.pattern, {("word", name) for name in names})
                one = Plain(one.kind, one.pattern, names, union.has, union.chance, one.n, one.q)
            found.append(one)
        return self.ordered(found)

    def rows(self) -> list[dict[str, Any]]:
        found = []
        for item in self.entries():
            rows = [row for row, has in zip(self.winners, item.has, strict=True) if has]
            found.append(
                {
                    "kind": item.kind, "pattern": item.pattern, "words": item.words, "winners": len(rows),
                    "expected": item.chance.sum(), "q": item.q, "docs": len({self.all[row].document for row in rows}),
                }
            )  # fmt: skip
        return found


def same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one == {**other, "expected": pytest.approx(other["expected"]), "q": pytest.approx(other["q"], rel=1e-6)}


CASES: list[dict[str, float]] = [
    {"w15": 3.0},
    {"w12": 2.0, "w18": 3.0, "w4": 1.0},
    {"sad": 2.5},
    {"w7": 2.0, "glad": 1.0},
    {"w20": 4.0, "w21": 4.0},
    {},
]


@pytest.mark.parametrize("seed", range(len(CASES)))
def test_entries_are_those_of_a_plain_program(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus(tmp_path, monkeypatch, draw(seed, 400))
    # All words whose numbers leave the same rest when divided by 3 are alike.
    words = sorted(f"w{i}" for i in range(22))
    codes = np.array([corpus.code(word) for word in words])
    directions = np.eye(3, dtype=np.float16)[[int(word[1:]) % 3 for word in words]]
    corpus.typical._like = LikeWords(codes, directions, 0.5)
    alike = {frozenset((a, b)) for a in words for b in words if a != b and (int(a[1:]) - int(b[1:])) % 3 == 0}
    winners = corpus.winners(seed, CASES[seed], 70)
    is_known = np.asarray(corpus.store.baseline)[winners]
    assert 0 < is_known.sum() < len(winners)
    expected = ByHand(corpus, winners, alike).rows()
    assert bool(expected) == bool(CASES[seed])
    same(corpus.rows(winners), expected)
    again = np.random.default_rng(0).permutation(winners)
    same(corpus.rows(again), expected)


def test_items_that_winners_chose_count_as_at_least_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = []
    for least in (0, 1_000_000):
        corpus = Corpus(tmp_path / str(least), monkeypatch, draw(1, 400), least=least)
        rows.append({entry["pattern"]: entry["q"] for entry in corpus.rows(corpus.winners(1, CASES[1], 70))})
    assert set(rows[1]) < set(rows[0])
    assert all(q > 1_000 * rows[0][pattern] for pattern, q in rows[1].items())


def test_all_rules_have_something_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The corpora of the comparison have near-copies, explained constructions and groups."""
    folded = explained = grouped = 0
    for seed, case in list(enumerate(CASES))[1:5:3]:
        corpus = Corpus(tmp_path / str(seed), monkeypatch, draw(seed, 400))
        by_hand = ByHand(corpus, corpus.winners(seed, case, 70), set())
        by_hand.grouped = lambda items: items  # type: ignore[method-assign]
        counts = [len(by_hand.entries())]
        for name in ("unexplained", "folded"):
            setattr(by_hand, name, lambda items: items)
            counts.append(len(by_hand.entries()))
        explained, folded = explained + (counts[1] > counts[0]), folded + (counts[2] > counts[1])
        words = [item.pattern for item in by_hand.entries() if item.kind == "word" and " " not in item.pattern]
        grouped += len({int(word[1:]) % 3 for word in words}) < len(words)
    assert all((folded, explained, grouped))


def named(found: list[dict[str, Any]]) -> list[str]:
    return [entry["pattern"] for entry in found]


def test_a_planted_word_pair_and_label_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = draw(7, 600)
    for i in range(0, 600, 9):
        at = len(sentences[i].words) // 2
        sentences[i].words[at - 1 : at + 1] = ["red", "kite"]
    for i in range(4, 600, 9):  # both words, but not next to each other
        sentences[i].words[0], sentences[i].words[-1] = "kite", "red"
    corpus = Corpus(tmp_path, monkeypatch, sentences)
    assert named(corpus.rows(corpus.winners(0, {"red kite": 6.0}, 60)))[0] == "red kite"
    assert named(corpus.rows(corpus.winners(1, {"kite": 6.0}, 70)))[0] == "kite"
    (found,) = [e for e in corpus.rows(corpus.winners(2, {"glad": 4.0}, 90)) if e["kind"] == "value"]
    assert (found["pattern"], found["words"]) == ("mood: glad", [])


def test_a_planted_group_is_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = draw(8, 600)
    for i in range(0, 600, 5):
        sentences[i].words[0] = ("sleep", "bed", "nap")[i // 5 % 3]
    corpus = Corpus(tmp_path, monkeypatch, sentences)
    winners = corpus.winners(0, {"sleep": 5.0, "bed": 5.0, "nap": 5.0}, 80)
    apart = [e for e in corpus.rows(winners) if e["kind"] == "word"]
    assert {"sleep", "bed", "nap"} <= set(named(apart)), "without a token table there are no groups"
    codes = np.sort([corpus.code(word) for word in ("sleep", "bed", "nap", "w1")])
    directions = np.zeros((4, 2), np.float16)
    directions[np.arange(4), [int(code == corpus.code("w1")) for code in codes]] = 1
    corpus.typical._like = LikeWords(codes, directions, 0.9)
    first = corpus.rows(winners)[0]
    assert set(first["words"]) == {"sleep", "bed", "nap"}
    strongest = next(e for e in apart if e["pattern"] in first["words"])
    assert (first["pattern"], first["q"]) == (strongest["pattern"], strongest["q"])
    assert first["winners"] == sum(e["winners"] for e in apart if e["pattern"] in first["words"]), "no sentence has two"


def test_what_source_and_length_explain_is_not_typical(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short sentences of one source have other words than the corpus, but no other words than their like."""
    corpus = Corpus(tmp_path, monkeypatch, draw(9, 1_500))
    sentences = corpus.sentences
    like = [i for i, s in enumerate(sentences) if s.dataset == "docs" and len(s.words) <= 5]
    some = 0
    for seed in range(40):
        winners = np.sort(np.random.default_rng(seed).choice(like, 80, replace=False))
        some += bool(corpus.rows(winners))
    assert some <= 4
    rare = [
        np.mean([int(word[1:]) >= 15 for i in rows for word in plain_words(sentences[i])])
        for rows in (like, range(1_500))
    ]
    assert rare[0] > 1.2 * rare[1], "the source does have words of its own"


def test_uniform_sets_have_nothing_in_common(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus(tmp_path, monkeypatch, draw(10, 900))
    sets = [np.sort(np.random.default_rng(seed).choice(900, 60, replace=False)) for seed in range(60)]
    assert sum(bool(corpus.rows(own)) for own in sets) <= 6
    assert corpus.rows(np.zeros(0, np.int64)) == []
    assert corpus.rows(np.arange(3)) == []


def test_one_document_is_not_typical(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty winners of one document share a word; they are not thirty independent sentences."""
    sentences = [s for s in draw(11, 600) if s.doc_id != "1"]
    for i in range(30):
        sentences[i] = Sentence(
            ["kite", "w1", "w2"], ["NN", "NN", "NN"], "(ROOT (NN kite))", dataset="docs", doc_id="1"
        )
    corpus = Corpus(tmp_path, monkeypatch, sentences)
    assert "kite" not in named(corpus.rows(np.arange(80)))


def test_counts_of_a_sample_are_scaled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus(tmp_path, monkeypatch, draw(0, 500))
    winners = corpus.winners(0, CASES[0], 80)
    own, scaled = corpus.rows(winners), corpus.rows(winners, 240)
    assert [3 * e["winners"] for e in own] == [e["winners"] for e in scaled]
    assert [3 * e["expected"] for e in own] == pytest.approx([e["expected"] for e in scaled])
    assert [(e["q"], e["docs"]) for e in own] == [(e["q"], e["docs"]) for e in scaled]


def test_of_many_winners_some_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus(tmp_path, monkeypatch, draw(0, 400))
    winners = corpus.winners(0, CASES[0], 120)
    expected = corpus.rows(winners[::2], 120)
    assert expected
    monkeypatch.setattr(typical, "MOST_WINNERS", 60)
    assert corpus.rows(winners) == expected


def test_near_copies_of_a_copy_stay() -> None:
    """The third is a near-copy of the second, which is not shown, but not of the first."""
    has = np.zeros((3, 40), np.bool_)
    has[0, :20] = has[1, 1:21] = has[2, 2:22] = True
    assert first_of_copies(has).tolist() == [0, 2]
    assert first_of_copies(has[:0]).tolist() == []


def test_strength_is_the_signed_log_likelihood_ratio() -> None:
    found = strengths(np.array([30, 10, 50, 10]), np.array([12.0, 10.0, 20.0, 20.0]), np.array([100, 100, 50, 80]))
    by_hand = [2 * (30 * np.log(30 / 12) + 70 * np.log(70 / 88)), 0, 2 * 50 * np.log(50 / 20)]
    np.testing.assert_allclose(found, [*by_hand, -2 * (10 * np.log(10 / 20) + 70 * np.log(70 / 60))], atol=1e-12)


@pytest.mark.parametrize(("deviations", "least"), [(DEVIATIONS, 0.05), (MORE_DEVIATIONS, 0.05 / 3)])
def test_what_is_not_looked_at_has_a_large_p_value(deviations: float, least: float) -> None:
    for n in (4, 5, 10, 20, 50, 100, 300, 1_000):
        p: Float64s = np.linspace(0.002, 0.998, 499)
        hits = np.floor(n * p + deviations * np.sqrt(n * p * (1 - p)))
        possible = (hits >= 4) & (hits <= n)
        assert binom.sf(hits - 1, n, p)[possible].min() > least
    random = np.random.default_rng(0)
    for _ in range(300):
        first, second = random.choice([0.1, 0.3, 1, 3], 2).tolist()
        p = random.beta(first, second, int(random.integers(4, 100)))
        hits = np.floor(p.sum() + deviations * np.sqrt((p * (1 - p)).sum()))
        if 4 <= hits <= len(p):
            tail = log_upper_tails(p, np.array([0, len(p)]), np.array([int(hits)]))[0]
            assert np.exp(tail) > least


def test_more_winners_than_the_stratum_has_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With nearly all sentences as winners, every stratum is a whole source, and nothing is typical."""
    corpus = Corpus(tmp_path, monkeypatch, draw(12, 120))
    winners = np.arange(110)
    assert ByHand(corpus, winners, set()).rows() == corpus.rows(winners) == []


def test_a_word_that_the_baseline_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that only winners have, none of them in the baseline, is counted among them and is typical."""
    sentences = draw(13, 500)
    for i in range(40):
        words = ["kite", *sentences[i].words[1:]]
        sentences[i] = Sentence(words, None, None, dataset=sentences[i].dataset, doc_id=f"k{i}", baseline=False)
    corpus = Corpus(tmp_path, monkeypatch, sentences)
    winners = np.arange(60)
    (found,) = [e for e in corpus.rows(winners) if e["pattern"] == "kite"]
    (expected,) = [e for e in ByHand(corpus, winners, set()).rows() if e["pattern"] == "kite"]
    same([found], [expected])
    assert (found["winners"], found["docs"]) == (40, 40)


def test_many_words_and_one_very_long_sentence_do_not_mix_up_words() -> None:
    """A pair's key times the number of cells would exceed 64 bits."""
    names, length = 2_000_000, 700_000
    view, counter = SimpleNamespace(), object.__new__(ItemCounter)
    view.words = lambda rows: Sequences.from_lists([[names - 2, names - 1] for _ in rows])
    store = SimpleNamespace(longest=length, dataset=np.array([5, 5, 0]), lengths=lambda rows: np.full(len(rows), 2))
    counter.view, counter._names, counter._baseline = view, names, np.arange(3)  # type: ignore[assignment]
    counter._cells = Cells(store, counter._baseline)  # type: ignore[arg-type]
    keys, counts = counter._count_words()
    assert keys.tolist() == [names - 2, names - 1, (names - 1) * names + names - 1]
    counts.sort_indices()
    assert counts.indices.tolist() == [2, 5 * (length + 1) + 2] * 3
    assert counts.data.tolist() == [1, 2] * 3
