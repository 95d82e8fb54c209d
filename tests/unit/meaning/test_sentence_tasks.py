from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from transformers import BertForPreTraining

from ops.meaning.readers import SentenceReader, own_ids
from ops.meaning.sentence_tasks import cosines, masked_word_rows, next_rows, read_masked, read_pairs, translation_rows
from ops.model.heads import MASKED_WORD, NEXT_SENTENCE, load_head
from ops.model.load import ModelFacts, read_facts
from ops.model.tokenizer import Tokenizer, Tokens

TEXTS = ["The cat sat.", "It purred at the dog.", "The dog left.", "Rain fell on the cat."]


@pytest.fixture(scope="module")
def facts(make_model: Callable[..., Path], small_bert: Any) -> ModelFacts:
    folder = make_model(small_bert)
    torch.manual_seed(0)
    BertForPreTraining(small_bert).save_pretrained(folder)
    return read_facts(str(folder))


@pytest.fixture(scope="module")
def reader(facts: ModelFacts) -> SentenceReader:
    return SentenceReader(facts, Tokenizer(facts), "cpu", "float32", 1, 256)


def test_pairs_are_compared_with_three_others_in_every_layer(facts: ModelFacts, reader: SentenceReader) -> None:
    given = [TEXTS, [*TEXTS[:3], None], [*TEXTS[:2], None, TEXTS[3]]]
    found = read_pairs(reader, load_head(facts, NEXT_SENTENCE, "cpu", "float32"), given)
    near, shared, head = (found[name] for name in ("cosine", "tokens", "head"))
    assert (near.shape, shared.shape, head.shape) == ((3, 3, 2), (3, 3), (3, 3))
    states = reader.read(reader.tokenizer.encode(TEXTS))
    np.testing.assert_allclose(near[0], cosines(states[1:], states[:1]), atol=1e-5)
    assert shared[0, 1] > shared[0, 0] > 0  # `the` and the full stop, and in the third sentence a word less
    for own in (near, shared, head):
        assert np.isfinite(own[0]).all()
        assert np.isfinite(own[1, :2]).all()
        assert np.isnan(own[1, 2]).all()
        assert np.isnan(own[2, 1]).all()
        assert np.isfinite(own[2, ::2]).all()
    np.testing.assert_array_equal(near[0, :2], near[1, :2])
    assert "head" not in read_pairs(reader, None, given)


class BareTokenizer(Tokenizer):
    """Adds no token of its own, as those of decoders."""

    def encode(self, texts: list[str]) -> list[Tokens]:
        """Return the tokens of the texts alone."""
        own = [own_ids(tokens) for tokens in super().encode(texts)]
        return [Tokens(ids, [0] * len(ids), False) for ids in own]


def test_pairs_without_a_sentence_are_read_where_an_empty_text_has_no_token(facts: ModelFacts) -> None:
    reader = SentenceReader(facts, BareTokenizer(facts), "cpu", "float32", 1, 2)  # each text is a batch of its own
    near = read_pairs(reader, None, [[*TEXTS[:3], None], [*TEXTS[:2], None, TEXTS[3]]])["cosine"]
    assert np.isnan(near[0, 2]).all()
    assert np.isnan(near[1, 1]).all()
    assert np.isfinite(near[0, :2]).all()


def test_masked_places_have_a_rank_and_the_tag_of_their_word(facts: ModelFacts, reader: SentenceReader) -> None:
    head, tokenizer = load_head(facts, MASKED_WORD, "cpu", "float32"), reader.tokenizer
    assert head is not None

    def tag(texts: list[str], placed: list[Any]) -> list[list[str]]:
        return [[f"{row} {i}" for i in range(len(own.tokens.ids))] for row, own in enumerate(placed)]

    found = read_masked(reader, head, TEXTS, [4, 5, 6, 7], 0.4, 0, tag)
    assert len(found["rank"]) >= len(TEXTS)
    tokens = tokenizer.encode(TEXTS)
    for found_there in pa.table(found).to_pylist():
        row, place = map(int, found_there["tag"].split())
        assert found_there["token"] == tokens[row].ids[place]
        assert not tokens[row].added[place]
        assert 1 <= found_there["rank"] <= facts.vocabulary
        assert 0 < found_there["probability"] < 1
    assert set(found["sent_id"].tolist()) == {4, 5, 6, 7}
    documents = {4: "a", 5: "b", 6: "b", 7: "c"}
    rows = masked_word_rows(found, documents, TEXTS, facts)
    assert {row["property"] for row in rows} == {"all", "tag", "frequency"}
    assert next(row["n"] for row in rows if row["property"] == "all") == len(found["rank"])
    none = {name: values[:0] for name, values in found.items()}
    assert masked_word_rows(none, documents, TEXTS, facts) == []


def test_pairs_with_a_state_that_is_not_finite_are_counted_and_left_out() -> None:
    rng, n = np.random.default_rng(0), 80
    near = rng.random((n, 3, 2)).astype(np.float32)
    near[:30, 2] = np.nan  # no sentence of another document
    near[50:57, 0, 1] = np.nan
    scores = rng.random((n, 3)).astype(np.float32)
    near[60:75, 1] = scores[60:75, 1] = np.nan  # no distant sentence of the document
    found, documents = {"cosine": near, "tokens": scores}, [f"d{i // 2}" for i in range(n)]
    rows, lost = next_rows(found, documents, 0)
    assert lost == 7
    assert {row["space"] for row in rows} == {"tokens", "layer:1", "layer:2", "shuffled"}
    by_layer = {row["against"]: row["n"] for row in rows if row["space"] == "layer:1"}
    assert by_layer == {"same_document": n - 15 - 7, "other_document": n - 30 - 7}
    with_head, _ = next_rows({**found, "head": scores}, documents, 0)
    assert "head" in {row["space"] for row in with_head}


def test_translations_are_found_by_their_states(reader: SentenceReader) -> None:
    texts = [f"number {n} is here" for n in range(10)]
    states = reader.read(reader.tokenizer.encode([*texts, *texts]))
    keys, languages = [str(i % 10) for i in range(20)], ["en"] * 10 + ["xx"] * 10
    rows = translation_rows(states, keys, languages, keys, 0)
    assert {row["reciprocal_rank"] for row in rows if row["space"] != "shuffled"} == {1.0}
    states[3, 0] = np.nan
    # One of the ten is lost, and nine are too few.
    assert translation_rows(states, keys, languages, keys, 0) == []
