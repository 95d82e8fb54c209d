from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ops.forms.forms import NAMES
from ops.mine.properties import Profiler, Property
from ops.mine.value_counts import ValueCounts
from ops.penn import PUNCTUATION_TAGS, tag_class
from ops.schema import TABLES
from ops.sentences.mining_view import MiningView
from tests.conftest import ROOT
from tests.unit.forms.plain_forms import plain_forms
from tests.unit.small_corpus import PROPERTIES, Sentence, open_corpus, random_sentences


def recount(sentences: list[Sentence], name: str, lower: bool = False) -> tuple[Counter[str], int]:
    """Count one property's values in plain Python: counts, and out of how many."""
    if name in ("tag", "tag_class"):
        tags = [t if name == "tag" else tag_class(t) for s in sentences for t in s.tags or []]
        return Counter(tags), len(tags)
    if name in ("noun", "verb", "adjective"):
        found: Counter[str] = Counter()
        for s in sentences:
            tagged = [p for p in zip(s.words, s.tags or [], strict=True) if p[1] not in PUNCTUATION_TAGS]
            found.update({w.lower() if lower else w for w, t in tagged if tag_class(t) == name})
        return found, len(sentences)
    if name == "punctuation":
        marks = Counter(mark for s in sentences for mark in {"."} & set(s.words))
        return marks, len(sentences)
    if name in NAMES:
        # These sentences have too few words for affixes, and no question by its tree.
        return Counter(v for s in sentences for v in plain_forms(s.words, s.tags, "S").get(name, ())), len(sentences)
    if name == "dataset":
        return Counter(s.dataset for s in sentences), len(sentences)
    if name == "words_per_sentence":
        return Counter(str(len(s.words)) for s in sentences), len(sentences)
    key = name.removeprefix("meta:")
    return Counter(s.meta[key] for s in sentences if key in s.meta), sum(key in s.meta for s in sentences)


def counted(property_: Property, found: ValueCounts) -> dict[str, int]:
    """Return the counts of the values that occur, by their names."""
    counts = zip(found.value.tolist(), found.counts["support"].tolist(), strict=True)
    return {property_.values[value]: n for value, n in counts}


def test_every_property_is_documented() -> None:
    [column] = [column for column in TABLES["profiles"].columns if column.name == "property"]
    page = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| `property` | `string` | `dataset`"))
    named = [name for name in PROPERTIES if f"`{name}`" in column.meaning and f"`{name}`" in row]
    assert named == [*PROPERTIES[:-2]], "the last two are metadata of the sentences of tests"


@pytest.mark.parametrize("lower", [False, True])
def test_every_property_is_counted_as_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lower: bool) -> None:
    sentences = random_sentences(0, 40)
    store = open_corpus(tmp_path, monkeypatch, sentences[:25], sentences[25:])
    profiler = Profiler(MiningView(store, "lower" if lower else "keep"))
    rows = np.random.default_rng(0).permutation(40)[:17]
    own = [sentences[row] for row in rows]
    names = [p.name for p in profiler.properties]
    assert tuple(names) == PROPERTIES
    for property_, found in zip(profiler.properties, profiler.count(rows), strict=True):
        expected, n = recount(own, property_.name, lower)
        assert counted(property_, found) == dict(expected)
        assert found.n.tolist() == [n]
    verbs, nouns = ([sum(tag_class(t) == c for t in s.tags or []) for s in own] for c in ("verb", "noun"))
    numbers = {
        "words_per_sentence": [len(s.words) for s in own],
        "verbs_per_sentence": verbs,
        "nouns_per_sentence": nouns,
    }
    sums = profiler.sums(rows)
    assert list(sums) == list(numbers)
    for name, of in numbers.items():
        assert (sums[name].n, sums[name].total, sums[name].squares) == (17, sum(of), sum(n * n for n in of))


def test_without_tags_there_are_no_tag_properties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = MiningView(open_corpus(tmp_path, monkeypatch, [Sentence(["a", "b"], meta={"k": "v"})]))
    profiler = Profiler(view)
    of_words = [name for name in NAMES if name not in ("pronoun", "tense")]
    assert [p.name for p in profiler.properties] == ["dataset", "words_per_sentence", "punctuation", *of_words, "k"]
    counts = profiler.count(np.array([0]))
    found = [(c.value.tolist(), c.counts["support"].tolist()) for c in counts]
    ends = [([0], [1]), ([1], [1])]  # first and last word
    none: tuple[list[int], list[int]] = ([], [])
    assert found == [([0], [1]), ([2], [1]), none, none, *ends, none, none, none, ([0], [1])]
    assert [own.is_feature for own in profiler.properties] == [not own.is_form for own in profiler.properties]
    for nuisance, keys in (((), []), (("k", "dataset"), ["k"])):
        found = [own.name for own in Profiler(view, nuisance).properties if own.is_nuisance]
        assert found == ["dataset", "words_per_sentence", *keys]
    assert list(profiler.sums(np.array([0]))) == ["words_per_sentence"]
    assert [c.n.item() for c in profiler.count(np.zeros(0, np.int64))] == [0] * 10


@pytest.mark.parametrize("tagged", [True, False])
def test_each_mark_counts_once_a_sentence_and_repeated_ones_are_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tagged: bool
) -> None:
    rows = [["Stop", "!", "Go", "!"], ["What", "!!", "?"], ["Nothing"], ["-", "%"]]
    tags = [["VB", ".", "VB", "."], ["WP", ".", "."], ["NN"], ["HYPH", "NN"]]
    sentences = [Sentence(w, t if tagged else None) for w, t in zip(rows, tags, strict=True)]
    profiler = Profiler(MiningView(open_corpus(tmp_path, monkeypatch, sentences), punctuation="keep"))
    counts = profiler.count(np.arange(4))
    (found,) = [(p, c) for p, c in zip(profiler.properties, counts, strict=True) if p.name == "punctuation"]
    assert (counted(*found), found[1].n.item()) == ({"!": 1, "!!": 1, "?": 1, "-": 1}, 4)
    assert found[0].is_feature


def test_a_meta_key_that_is_named_like_a_form_stays_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meta = dict.fromkeys((*NAMES, "other"), "x")
    view = MiningView(open_corpus(tmp_path, monkeypatch, [Sentence(["Not", "now"], meta=meta)]))
    found = {own.name: own for own in Profiler(view).properties}
    assert {f"meta:{name}" for name in NAMES} | {"other"} <= set(found)
    assert [name for name, own in found.items() if own.is_form] == [n for n in NAMES if n not in ("pronoun", "tense")]
    assert list(found["form"].values) == ["negation", "question", "imperative", "passive", "quotation"]
    assert list(found["meta:form"].values) == ["x"]
