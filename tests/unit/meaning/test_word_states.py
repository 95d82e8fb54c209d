from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer, ConvBertConfig

from ops.meaning.readers import WordReader, WordSums, embedded
from ops.meaning.words import word_spans
from ops.model.load import ModelFacts, read_facts
from ops.model.tokenizer import Tokenizer

TEXTS = [
    "The unfathomable cat didn't purr.",
    "A cat, a well-known cat!",
    "Purr, said the antidisestablishmentarian cat.",
    "Nothing here.",
]
WORDS = ["cat", "unfathomable", "didn't", "well-known", "purr", "absent", "antidisestablishmentarian"]


@pytest.fixture(scope="module")
def facts(make_model: Callable[..., Path], small_bert: Any) -> ModelFacts:
    return read_facts(str(make_model(small_bert)))


@pytest.fixture(scope="module")
def leaking(make_model: Callable[..., Path]) -> ModelFacts:
    """A model in which padding changes the states."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}
    return read_facts(str(make_model(ConvBertConfig(**sizes, embedding_size=16, head_ratio=1))))


def reader(facts: ModelFacts, budget: int = 2_048) -> WordReader:
    return WordReader(facts, Tokenizer(facts), "cpu", "float32", 1, budget, WORDS, "lower")


def read(facts: ModelFacts, texts: list[str], budget: int = 2_048) -> WordSums:
    own = reader(facts, budget)
    sums = WordSums(len(own.numbers), own.layers * own.width)
    lengths = np.array([len(t.ids) for t in own.tokenizer.encode(texts)])
    assert own.read(np.arange(len(texts)), texts, lengths, sums) == []
    return sums


@torch.inference_mode()
def test_means_are_those_of_the_states_of_the_words_tokens(facts: ModelFacts) -> None:
    tokenizer, model = (
        AutoTokenizer.from_pretrained(facts.location.path),
        AutoModel.from_pretrained(facts.location.path).eval(),
    )
    expected: dict[str, list[np.ndarray]] = {word: [] for word in WORDS}
    for text in TEXTS:
        encoded = tokenizer(text, return_offsets_mapping=True, return_tensors="pt")
        spans = encoded.pop("offset_mapping")[0].tolist()
        states = torch.cat(model(**encoded, output_hidden_states=True).hidden_states[1:], 2)[0].numpy()
        for start, stop in word_spans(text):
            inside = [i for i, (a, b) in enumerate(spans) if b > a and a >= start and b <= stop]
            if text[start:stop].lower() in expected:
                expected[text[start:stop].lower()].append(states[inside].mean(0))
    sums = read(facts, TEXTS)
    assert sums.count.tolist() == [len(expected[word]) for word in WORDS] == [4, 1, 1, 1, 2, 0, 1]
    for number, word in enumerate(WORDS):
        if expected[word]:
            found = sums.total[number] / sums.count[number]
            np.testing.assert_allclose(found, np.mean(expected[word], 0), atol=2e-6)


def test_any_batches_and_shards_give_the_same_to_rounding(facts: ModelFacts) -> None:
    whole = read(facts, TEXTS)
    merged = whole.__class__(len(WORDS), whole.total.shape[1])
    for text in TEXTS:
        merged.merge_table(read(facts, [text], 16).to_table())
    np.testing.assert_array_equal(merged.count, whole.count)
    np.testing.assert_allclose(merged.total, whole.total, atol=1e-5)
    cut_off = " ".join(["dog"] * (facts.position_limit - 3)) + " unfathomable cat"
    assert Tokenizer(facts).encode([cut_off])[0].cut
    assert read(facts, [cut_off]).count.tolist() == [0] * len(WORDS)


def test_a_sentence_whose_states_are_not_finite_is_named(facts: ModelFacts) -> None:
    own = reader(facts)
    table = own.scorer.reader.model.get_input_embeddings().weight  # type: ignore[operator]
    (cat,) = own.tokenizer.encode(["cat"])[0].ids[1:-1]
    with torch.no_grad():
        table[cat] = torch.nan
    sums = WordSums(len(own.numbers), own.layers * own.width)
    lengths = np.array([len(t.ids) for t in own.tokenizer.encode(TEXTS)])
    lost = own.read(np.arange(10, 14), [*TEXTS[:3], "We purr."], lengths, sums)
    assert sorted(lost) == [10, 11, 12]
    assert sums.count.tolist() == [0, 0, 0, 0, 1, 0, 0]


def test_a_word_s_vector_is_the_mean_of_its_tokens(facts: ModelFacts) -> None:
    tokenizer = Tokenizer(facts)
    table = torch.randn(30522, 4, generator=torch.Generator().manual_seed(0))
    found = embedded(["cat", "unfathomable", "a"], table, tokenizer)
    for vector, word in zip(found, ["cat", "unfathomable", "a"], strict=True):
        ids = tokenizer.encode([word])[0].ids[1:-1]
        np.testing.assert_allclose(vector, table[ids].mean(0).numpy(), atol=1e-6)


def test_where_padding_leaks_a_word_has_the_state_that_it_has_in_its_sentence_alone(leaking: ModelFacts) -> None:
    together, alone = read(leaking, TEXTS), read(leaking, TEXTS, budget=1)
    assert together.count.tolist() == alone.count.tolist()
    np.testing.assert_allclose(together.total, alone.total, rtol=1e-4, atol=1e-5)
