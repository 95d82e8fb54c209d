"""Small annotated corpora, laid out as `annotate` leaves them."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.corpus.meta import META_MAP, meta_structs
from ops.sentences.codes import coded, name_kinds, sentence_table
from ops.sentences.local_copy import open_sentences
from ops.sentences.pipeline import Annotation
from ops.sentences.store import SentenceStore
from ops.sentences.vocabulary import vocabulary, write_places, write_vocabulary
from ops.storage.store import Store

SEED = 0  # of the folds of the documents
# Of `random_sentences` that have everything, in their order.
PROPERTIES = (
    "dataset",
    "words_per_sentence",
    "tag",
    "tag_class",
    "noun",
    "verb",
    "adjective",
    "punctuation",
    "form",
    "first_word",
    "last_word",
    "pronoun",
    "tense",
    "prefix",
    "suffix",
    "shape",
    "author",
    "topic",
)


@dataclass(frozen=True)
class Sentence:
    """One annotated sentence."""

    words: list[str]
    tags: list[str] | None = None
    tree: str | None = None
    dataset: str = "docs"
    doc_id: str = "d"
    meta: dict[str, str] = field(default_factory=dict)
    baseline: bool = True
    wins: int = 0

    @property
    def winner(self) -> bool:
        """Whether it is a winner of any neuron."""
        return self.wins > 0

    @property
    def document(self) -> str:
        """As the codes name it: equal doc_ids of two data sets are two documents."""
        return f"{self.dataset}\x1f{self.doc_id}"


def to_table(sentences: list[Sentence], first: int = 0, keys: set[str] | None = None) -> pa.Table:
    """Return the rows of `sentences/`, ids from `first` in steps of 2; `meta` has these keys, or their own."""
    names = sorted({key for s in sentences for key in s.meta} if keys is None else keys)
    meta = pa.chunked_array([pa.array([s.meta for s in sentences], META_MAP)])
    corpus = pa.table(
        {
            "sent_id": pa.array([first + 2 * i for i in range(len(sentences))], pa.int64()),
            "text": pa.array([" ".join(s.words) for s in sentences], pa.string()),
            "dataset": pa.array([s.dataset for s in sentences], pa.string()),
            "doc_id": pa.array([s.doc_id for s in sentences], pa.string()),
            **({"meta": meta_structs(meta, names)} if names else {}),
        }
    )
    found = [Annotation(s.words, s.tags, s.tree) for s in sentences]
    baseline, wins = np.array([s.baseline for s in sentences], bool), np.array([s.wins for s in sentences], np.int32)
    return sentence_table(corpus, found, baseline, wins, SEED)


def write_store(folder: Path, shards: list[list[Sentence]]) -> Store:
    """Write the coded sentences of these shards and their vocabulary."""
    store, first, parts = Store(str(folder)), 0, []
    keys = {key for sentences in shards for s in sentences for key in s.meta}
    for i, sentences in enumerate(shards):
        codes, names = coded(to_table(sentences, first, keys))
        store.commit(f"codes/shard-{i:05d}.parquet", lambda path, t=codes: pq.write_table(t, path, row_group_size=3))  # type: ignore[misc]
        with store.parquet(f"codes/shard-{i:05d}.parquet") as file:
            assert file.schema_arrow.equals(codes.schema)
        parts.append(names)
        first += 2 * len(sentences)
    every = vocabulary(parts, name_kinds(keys))
    store.commit("codes/vocabulary-places.parquet", lambda path: write_places(parts, every, path, {}))
    store.commit("codes/vocabulary.parquet", lambda path: write_vocabulary(every, path, {}))
    return store


def open_corpus(folder: Path, monkeypatch: pytest.MonkeyPatch, *shards: list[Sentence]) -> SentenceStore:
    """Return these sentences as mining sees them."""
    monkeypatch.setenv("ATLAS_CACHE", str(folder / "cache"))
    return open_sentences(write_store(folder / "run", list(shards)), "codes", "f" * 64)


def random_sentences(seed: int, n: int) -> list[Sentence]:
    """Return short tagged and parsed sentences; some lack metadata."""
    rng = np.random.default_rng(seed)
    lexicon = {"NN": ["cat", "dog", "Dog"], "VBZ": ["runs", "sees"], "JJ": ["old"], "DT": ["the", "a"], ".": ["."]}
    found = []
    for _ in range(n):
        tags = [str(t) for t in rng.choice(list(lexicon), rng.integers(1, 8))]
        words = [str(rng.choice(lexicon[tag])) for tag in tags]
        leaves = " ".join(f"({tag} {word})" for tag, word in zip(tags, words, strict=True))
        keys = {"topic": str(rng.integers(0, 3)), "author": str(rng.choice(["ann", "bo"]))}
        meta = {key: value for key, value in keys.items() if rng.random() < 0.7}
        place = {"dataset": str(rng.choice(["docs", "news"])), "doc_id": f"d{rng.integers(0, n // 3 + 1)}"}
        marks = {"baseline": bool(rng.random() < 0.8), "wins": int(rng.random() < 0.5)}
        found.append(Sentence(words, tags, f"(ROOT (S {leaves}))", meta=meta, **place, **marks))
    return found
