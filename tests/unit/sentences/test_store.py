from hashlib import blake2b
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ops.penn import read_labels_and_sizes
from ops.sampling import DOCUMENT_FOLDS
from ops.sentences.store import SentenceStore
from tests.unit.small_corpus import SEED, Sentence, open_corpus

TREES = [None, "(ROOT (NN cat))", "(ROOT (S (NP (DT the) (NN cat)) (VP (VBZ runs)) (. .)))", "(ROOT (X (. .)))"]
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1, max_size=4)


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    words = draw(st.lists(TEXT, max_size=4))
    tags = draw(
        st.none() | st.lists(st.sampled_from(["NN", "VBZ", ".", "``"]), min_size=len(words), max_size=len(words))
    )
    return Sentence(
        words, tags, draw(st.sampled_from(TREES)), draw(TEXT), draw(TEXT),
        draw(st.dictionaries(TEXT, TEXT, max_size=3)), draw(st.booleans()), draw(st.integers(0, 2**17)),
    )  # fmt: skip


def fold_of(sentence: Sentence) -> int:
    """By the definition: ten times the document's hash, mixed with the seed's own number, as a share of 2**64."""
    code = int.from_bytes(blake2b(sentence.document.encode(), digest_size=8).digest(), "little")
    salt = int(np.random.default_rng([SEED, DOCUMENT_FOLDS]).integers(0, 2**64, dtype=np.uint64))
    x = code ^ salt
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ x >> shift) * factor % 2**64
    return (x ^ x >> 31) * 10 >> 64


def check(store: SentenceStore, expected: list[Sentence]) -> None:
    rows = np.arange(len(expected))
    assert store.sent_id.tolist() == [2 * i for i in range(len(expected))]
    assert store.baseline.tolist() == [s.baseline for s in expected]
    assert store.winner.tolist() == [s.winner for s in expected]
    assert store.wins.tolist() == [s.wins for s in expected]
    assert store.fold.tolist() == [fold_of(s) for s in expected]
    named = sorted(zip(store.doc.tolist(), (s.document for s in expected), strict=True))
    assert [len({name for _, name in own}) for _, own in groupby(named, lambda pair: pair[0])] == [1] * store.documents
    assert store.documents == len({s.document for s in expected})
    assert [store.names["dataset"][c] for c in store.dataset] == [s.dataset for s in expected]
    words, tags = store.names["word"], store.names["tag"]
    assert [[words[c] for c in row] for row in store.words(rows).to_lists()] == [s.words for s in expected]
    assert [[tags[c] for c in row] for row in store.tags(rows).to_lists()] == [s.tags or [] for s in expected]
    assert store.lengths(rows).tolist() == [len(s.words) for s in expected]
    assert store.longest == store.lengths(np.arange(len(store.sent_id))).max(initial=0)
    forest, labels = store.forest(rows), store.names["label"]
    for i, sentence in enumerate(expected):
        own = slice(int(forest.offsets[i]), int(forest.offsets[i + 1]))
        found = ([labels[c] for c in forest.label[own]], forest.size[own].tolist())
        assert found == (read_labels_and_sizes(sentence.tree) if sentence.tree else ([], []))
    assert list(store.meta) == sorted({key for s in expected for key in s.meta})
    for key, (values, codes) in store.meta.items():
        assert list(values) == sorted({s.meta[key] for s in expected if key in s.meta})
        assert [values[c] if c >= 0 else None for c in codes] == [s.meta.get(key) for s in expected]
    for kind, names in store.names.items():
        assert list(names) == sorted(set(names)), kind
    lower = [w.lower() for w in words]
    assert list(store.lower_names) == sorted(set(lower))
    assert [store.lower_names[c] for c in store.word_lower] == lower


@given(st.lists(st.lists(sentences(), max_size=4), min_size=1, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_round_trip(tmp_path_factory: pytest.TempPathFactory, shards: list[list[Sentence]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        store = open_corpus(tmp_path_factory.mktemp("s"), patch, *shards)
    check(store, [s for shard in shards for s in shard])


def test_unicode_line_ends_nulls_and_many_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = [
        Sentence(["Grüße", "😀", "a\u2028b"], ["NN", "NFP", "NN"], TREES[2], "ü", "\n", {"k\n": "v\u0085", "e": ""}),
        Sentence([], None),
    ]
    second = [Sentence(["zz", "Grüße"], None, None, "a", "b", {"e": "x"}, False, 1)]
    returns = [Sentence(["a"], doc_id="x\r\ny", meta={"address": "1\r2"}), Sentence(["a"], meta={"address": "1\n2"})]
    many = [[Sentence([f"w{i}", f"w{40 - i}"])] * (i % 3) for i in range(40)]
    shards = [first, [], second, returns, *many]
    check(open_corpus(tmp_path, monkeypatch, *shards), [s for shard in shards for s in shard])


def test_rows_are_found_by_id_and_come_in_the_order_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_corpus(tmp_path, monkeypatch, [Sentence(["a"])] * 5)
    assert store.rows(np.array([8, 0, 4, 4])).tolist() == [4, 0, 2, 2]
    assert store.rows(np.zeros(0, np.int64)).tolist() == []
    for bad in (3, 10, -1):
        with pytest.raises(KeyError, match=f"sentence {bad} is not in sentences/"):
            store.rows(np.array([2, bad]))
    store = open_corpus(tmp_path / "trees", monkeypatch, [Sentence([w], ["NN"], f"(ROOT (NN {w}))") for w in "abc"])
    assert store.words(np.array([2, 0, 2])).to_lists() == [[2], [0], [2]]
    assert len(store.forest(np.array([1, 1]))) == 2


def test_what_there_is_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, sentence in enumerate(
        (Sentence(["a"]), Sentence(["a"], ["DT"]), Sentence(["a"], ["DT"], "(ROOT (DT a))"))
    ):
        has = open_corpus(tmp_path / str(number), monkeypatch, [sentence]).has
        assert has == {"words": True, "tags": number > 0, "labels": number > 1}
