"""Forms of sentences: against plain Python on random sentences, and by hand on sentences with near misses."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ops.forms.affixes import productive_prefixes, productive_suffixes
from ops.forms.find import sentences_with
from ops.forms.forms import FORMS, NAMES, NEED_TAGS
from ops.mine.properties import Profiler
from ops.penn import read_labels_and_sizes
from ops.sentences.mining_view import MiningView
from ops.sentences.names import Names
from ops.sentences.pipeline import Annotator
from tests.conftest import ROOT
from tests.unit.forms.plain_forms import affixes, plain_forms
from tests.unit.small_corpus import Sentence, open_corpus

# Words that the sentences of forms.tsv need as stems, as a corpus would have them.
STEMS = (
    "able build cloud count dark end fair fear fit great happy harm heat home hope ill join kind known lock lucky mad "
    "moon name open opened paid pain paint play read sad safe soft sweet take thick tidy true use usual weak write care"
)
LEXICON = {
    "NN": "dog Dog kindness darkness redness B2B 12 3rd soooo #tag nt",
    "NNP": "Tom NATO US @tom IT https://x.org",
    "PRP": "I we you She it US 's them IT",
    "PRP$": "my their ITS",
    "DT": "the no The NO",
    "RB": "not n't N\u2019t never nt hardly",
    "UH": "please No oh",
    "VB": "go do be get eat",
    "VBP": "do are have 're",
    "VBZ": "'s is has \u2019s",
    "VBD": "was got did",
    "VBG": "being going",
    "VBN": "been gone eaten seen got",
    "MD": "will wo can 'll",
    "TO": "to",
    "IN": "if without of",
    "WRB": "where when",
    "WP": "who",
    "EX": "there",
    "CC": "and nor",
    "ADD": "www.a.org",
    "SYM": "# \U0001f600 %",
    "``": "\" ' \u2018 \u201c",
    "''": "\" ' \u2019 \u201d ''",
    "POS": "' 's",
    ",": ",",
    ":": ": -",
    ".": ". ? ?! !",
}


def random_sentences(seed: int, n: int, tagged: bool) -> list[Sentence]:
    """Return sentences of words in any order, a quarter of them questions by their trees."""
    rng, found = np.random.default_rng(seed), []
    words = {tag: own.split() for tag, own in LEXICON.items()}
    for _ in range(n):
        tags = [str(tag) for tag in rng.choice(list(words), rng.integers(1, 9))]
        own = [str(rng.choice(words[tag])) for tag in tags]
        top = str(rng.choice(["S", "SQ", "NP", "SBARQ"]))
        tree = f"(ROOT ({top} (NN x)))" if tagged and rng.random() < 0.5 else None
        found.append(Sentence(own, tags if tagged else None, tree))
    return found


def found_forms(profiler: Profiler, n: int) -> list[dict[str, set[str]]]:
    selection = profiler.select(np.arange(n))
    forms = {own.name: (own.codes(selection).to_lists(), own.values) for own in profiler.properties if own.is_form}
    return [{name: {values[c] for c in codes[i]} for name, (codes, values) in forms.items()} for i in range(n)]


@pytest.mark.parametrize("tagged", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_every_form_is_that_of_plain_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, tagged: bool
) -> None:
    sentences = random_sentences(seed, 1_200, tagged)
    profiler = Profiler(MiningView(open_corpus(tmp_path, monkeypatch, sentences), "lower"))
    counts: Counter[str] = Counter()
    for sentence, own in zip(sentences, found_forms(profiler, 1_200), strict=True):
        top = read_labels_and_sizes(sentence.tree)[0][1] if sentence.tree else ""
        expected = plain_forms(sentence.words, sentence.tags, top)
        assert {name: own.get(name) for name in expected} == expected, sentence
        counts.update(value for name in ("form", "pronoun", "tense", "shape") for value in expected.get(name, ()))
    assert min(counts[name] for name in FORMS if tagged or name not in ("imperative", "passive")) >= 10
    assert {own.name for own in profiler.properties if own.is_form} == set(NAMES) - (set() if tagged else {*NEED_TAGS})


def test_affixes_are_those_of_plain_python() -> None:
    rng = np.random.default_rng(0)
    stems = sorted({"".join(rng.choice(list("aeiybdkn"), rng.integers(2, 6))) for _ in range(400)})
    ends, starts = ["ness", "ing", "ed", "less", "y", "ation", "xx", "er"], ["un", "re", "under", "in", "zz"]
    grown = [f"{rng.choice(stems)}{rng.choice(ends)}" for _ in range(300)]
    grown += [f"{str(rng.choice(stems)).rstrip('e')}ing" for _ in range(60)]
    grown += [f"{rng.choice(starts)}{rng.choice(stems)}" for _ in range(300)]
    words = sorted({*stems, *grown, *(f"q{i}ness" for i in range(50)), "12less", "\u00e9dness"})
    names = Names.of(words).array
    found = productive_prefixes(names), productive_suffixes(names)
    for own, expected in zip(found, affixes(words), strict=True):
        assert own.names == sorted(set(expected.values()))
        assert {w: own.names[code] for w, code in zip(words, own.of_word, strict=True) if code >= 0} == expected
    assert {"un-", "re-"} <= set(found[0].names)
    assert {"-ing", "-ed"} <= set(found[1].names)


def test_no_affix_is_productive_in_few_words() -> None:
    names = Names.of(["kind", "kindness", "sad", "sadness"]).array
    assert productive_suffixes(names).names == []
    assert productive_suffixes(names).of_word.tolist() == [-1] * 4
    assert productive_prefixes(Names.of([]).array).names == []


# The accuracy that each form reaches on forms.tsv at least: documented in docs/statistics.md.
FLOORS = {
    "negation": 0.97,
    "question": 0.95,
    "imperative": 0.97,
    "passive": 0.97,
    "quotation": 0.97,
    "pronoun": 0.89,
    "tense": 0.97,
    "prefix": 0.97,
    "suffix": 0.97,
    "shape": 0.97,
    "first_word": 0.97,
    "last_word": 0.97,
}


def test_forms_of_sentences_with_near_misses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (ROOT / "tests" / "data" / "forms.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    found = Annotator("english").annotate([text for _, _, text in rows])
    sentences = [Sentence(own.words, own.tags, own.tree) for own in found]
    store = open_corpus(tmp_path, monkeypatch, [*sentences, Sentence(STEMS.split())])
    profiler = Profiler(MiningView(store, "lower"))
    right, every, negative = Counter[str](), Counter[str](), Counter[str]()
    for (name, expected, _), own in zip(rows, found_forms(profiler, len(rows)), strict=True):
        values = {"yes" if name in own["form"] else "no"} if name in FORMS else own[name]
        wanted = {value for value in expected.split("; ") if value}
        every[name] += 1
        negative[name] += wanted <= {"no"}
        right[name] += values == wanted
    accuracy = {name: right[name] / n for name, n in every.items()}
    assert {name: share for name, share in accuracy.items() if share < FLOORS[name]} == {}
    assert set(accuracy) == set(FLOORS)
    assert min(every.values()) >= 40
    assert all(negative[name] >= 20 for name in (*FORMS, "pronoun", "tense", "prefix", "suffix", "shape"))


@pytest.mark.parametrize("tagged", [True, False])
def test_forms_of_sentences_as_text_are_those_of_their_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tagged: bool
) -> None:
    sentences = random_sentences(7, 300, tagged)
    profiler = Profiler(MiningView(open_corpus(tmp_path, monkeypatch, sentences), "keep"))
    rows = [{"words": s.words, "tags": s.tags, "tree": s.tree} for s in sentences] + [
        dict.fromkeys(("words", "tags", "tree"))
    ]
    own = found_forms(profiler, 300)
    for name in set(own[0]) - {"prefix", "suffix"}:
        for value in sorted(set().union(*(row[name] for row in own)))[:12]:
            assert sentences_with(name, value, rows) == {i for i, row in enumerate(own) if value in row[name]}


def test_words_spelled_with_an_affix_have_it_where_the_corpus_is_not_known() -> None:
    rows = [
        {"words": words.split(), "tags": None, "tree": None}
        for words in ("A Kindness", "less is", "un un-do", "undoes")
    ]
    assert [sentences_with("suffix", own, rows) for own in ("-ness", "-less")] == [{0}, set()]
    assert sentences_with("prefix", "un-", rows) == {3}
