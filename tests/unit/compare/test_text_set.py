from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ops.compare.text_set import parse_text_sets, read_text_set, sample_sentences
from ops.corpus.sentences import Block, hashes
from ops.errors import InputError
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer

TEXTS = [f"sentence {i}" for i in range(300)]


def blocks(texts: list[str], size: int) -> Iterator[Any]:
    for start in range(0, len(texts), size):
        own = texts[start : start + size]
        lengths = pa.array([len(t) for t in own], pa.int32())
        sentences = pa.table({"text": own, "doc_id": [f"of {t}" for t in own], "n_tokens": lengths})
        none = np.zeros((0, 2), np.uint64)
        yield Block(sentences, pa.table({"reason": ["empty"]}), hashes(own), none, np.zeros(0, np.int64))


def test_all_distinct_sentences_are_kept_where_there_are_few() -> None:
    table, counts = sample_sentences(blocks([*TEXTS, *TEXTS[:50]], 64), 1_000, 0)
    assert counts == {"read": 356, "kept": 300, "rejected": {"empty": 6}}
    assert table["text"].to_pylist() == TEXTS
    assert table["n_tokens"].to_pylist() == [len(t) for t in TEXTS]
    assert table["doc_id"].to_pylist() == [f"of {t}" for t in TEXTS]


def test_a_sample_depends_on_the_texts_and_the_seed_alone() -> None:
    expected = sample_sentences(blocks(TEXTS, 50), 40, 0)[0]
    shuffled = list(np.random.default_rng(0).permutation([*TEXTS, *TEXTS]))
    found = sample_sentences(blocks([str(t) for t in shuffled], 7), 40, 0)[0]
    assert set(found["text"].to_pylist()) == set(expected["text"].to_pylist())
    assert len(found) == 40
    assert set(sample_sentences(blocks(TEXTS, 50), 40, 1)[0]["text"].to_pylist()) != set(expected["text"].to_pylist())


def test_a_sample_is_uniform() -> None:
    counts = np.zeros(300)
    for seed in range(300):
        table = sample_sentences(blocks(TEXTS, 300), 30, seed)[0]
        counts[[int(t.split()[1]) for t in table["text"].to_pylist()]] += 1
    # Each is drawn about 30 times of 300, with a standard deviation of 5.2.
    assert counts.mean() == 30
    assert 4.2 < counts.std() < 6.2


def test_text_sets_have_names_and_sources(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text("One sentence of words.\nAnother sentence of words.\nOne sentence of words.\n")
    ((name, source),) = parse_text_sets([f" some ={tmp_path}/some.txt"], "text").items()
    assert name == "some"
    table, _ = read_text_set(source.spec, "text", Tokenizer(read_facts("sample")), splits=False, most=10, seed=0)
    assert table["text"].to_pylist() == ["One sentence of words.", "Another sentence of words."]
    for specs, message in (
        (["nameless.txt"], "expected NAME=SOURCE"),
        (["a=none.txt"], "--text-set none.txt: no such file"),
        (["a=pydocs", "a=pydocs"], "is given twice"),
    ):
        with pytest.raises(InputError, match=message):
            parse_text_sets(specs, "text")
