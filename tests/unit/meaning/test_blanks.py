from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer, ConvBertConfig, GPT2Config

from ops.meaning.readers import Blank, BlankReader
from ops.model.direction import is_decoder
from ops.model.load import ModelFacts, read_facts
from ops.model.tokenizer import Tokenizer

TEXTS = ["He wants to eat.", "To go or not", "It was two late, too."]
SPANS = [(9, 11), (0, 2), (7, 10)]


def reader(facts: ModelFacts, budget: int = 2_048) -> BlankReader:
    return BlankReader(facts, Tokenizer(facts), "cpu", "float32", 1, budget)


@pytest.fixture(scope="module")
def encoder(make_model: Callable[..., Path], small_bert: Any) -> ModelFacts:
    return read_facts(str(make_model(small_bert)))


def there(blanks: list[Blank | None]) -> list[Blank]:
    return [blank for blank in blanks if blank is not None]


@torch.inference_mode()
def test_states_are_those_of_the_mask_in_every_layer(encoder: ModelFacts) -> None:
    tokenizer, model = (
        AutoTokenizer.from_pretrained(encoder.location.path),
        AutoModel.from_pretrained(encoder.location.path).eval(),
    )
    own = reader(encoder, 8)
    blanks = own.blanks(TEXTS, SPANS)
    found = own.read(there(blanks))
    assert found.shape == (3, 2, 12)
    blanked = ("He wants [MASK] eat.", "[MASK] go or not", "It was [MASK] late, too.")
    for states, text in zip(found, blanked, strict=True):
        given = tokenizer(text, return_tensors="pt")
        at = given["input_ids"][0].tolist().index(tokenizer.mask_token_id)
        expected = [layer[0, at].numpy() for layer in model(**given, output_hidden_states=True).hidden_states[1:]]
        np.testing.assert_allclose(states, expected, atol=2e-6)
    # A mask of the text itself is text, and a blank that is cut off is none.
    (blank,) = there(own.blanks(["A [MASK] is unbelievably late."], [(12, 24)]))
    assert own.tokenizer.decode(blank.tokens.ids)[1:-1] == ["a", "[", "mask", "]", "is", "[MASK]", "late", "."]
    assert (blank.place, len(blank.tokens.added)) == (6, 10)
    assert own.blanks(["dog " * 60 + "to"], [(240, 242)]) == [None]


@torch.inference_mode()
def test_a_decoder_is_read_before_the_blank(make_model: Callable[..., Path]) -> None:
    config = GPT2Config(vocab_size=30522, n_embd=12, n_layer=2, n_head=2, n_positions=40)
    facts = read_facts(str(make_model(config)))
    assert is_decoder(facts)
    own = reader(facts)
    blanks = own.blanks(TEXTS, SPANS)
    assert blanks[1] is None
    (first, _) = there(blanks)
    assert len(first.tokens.ids) == len(own.tokenizer.encode(["He wants"])[0].ids)
    other = there(own.blanks(["He wants too much."], [(9, 12)]))
    np.testing.assert_allclose(own.read([first])[0], own.read(other)[0], atol=1e-6)


def test_where_padding_leaks_a_blank_has_the_state_that_it_has_in_its_sentence_alone(
    make_model: Callable[..., Path],
) -> None:
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}
    own = reader(read_facts(str(make_model(ConvBertConfig(**sizes, embedding_size=16, head_ratio=1)))))
    blanks = there(own.blanks(TEXTS, SPANS))
    alone = np.concatenate([own.read([blank]) for blank in blanks])
    np.testing.assert_allclose(own.read(blanks), alone, rtol=1e-4, atol=1e-5)
