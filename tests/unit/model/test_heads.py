"""Heads from a model's own weights are loaded if complete, and give the same values as transformers."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, BertForPreTraining, BertModel, GPT2Config

from ops.meaning.readers import Masked, SentenceReader
from ops.model.heads import MASKED_WORD, NEXT_SENTENCE, heads_of, load_head
from ops.model.load import read_facts
from ops.model.random_model import save_random
from ops.model.tokenizer import Tokenizer

CONFIG = BertConfig(
    vocab_size=30522, hidden_size=12, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20,
    max_position_embeddings=40,
)  # fmt: skip
FIRST = ["The cat sat on the mat.", "It rains.", "One two three " * 20, "Why?"]
SECOND = ["Then it slept.", "So we stay at home, all of us, for the day.", "Four five six " * 20, "Because."]


def saved(folder: Path, kind: type) -> Path:
    save_random(folder, CONFIG)
    torch.manual_seed(1)
    model = kind(CONFIG).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("whole"), BertForPreTraining)


def test_heads_are_those_of_the_weights(tmp_path: Path, whole: Path) -> None:
    assert heads_of(read_facts(str(whole))) == (NEXT_SENTENCE, MASKED_WORD)
    assert heads_of(read_facts(str(saved(tmp_path / "masked", BertForMaskedLM)))) == (MASKED_WORD,)
    assert heads_of(read_facts(str(saved(tmp_path / "bare", BertModel)))) == ()
    assert heads_of(read_facts("sample")) == ()
    assert heads_of(read_facts(f"random:{whole}")) == (), "they were trained with other weights"
    decoder = save_random(tmp_path / "gpt2", GPT2Config(n_embd=12, n_layer=1, n_head=2, n_positions=40))
    assert heads_of(read_facts(str(decoder))) == ()


def test_the_next_sentence_head_says_what_transformers_says_pair_by_pair(whole: Path) -> None:
    facts = read_facts(str(whole))
    tokenizer, model = Tokenizer(facts), load_head(facts, NEXT_SENTENCE, "cpu", "float32")
    assert model is not None
    before = tokenizer.encode(FIRST)
    found = SentenceReader(facts, tokenizer, "cpu", "float32", 1, 64).next_scores(model, FIRST, SECOND)
    plain = AutoTokenizer.from_pretrained(whole)
    own = BertForPreTraining.from_pretrained(whole).eval()
    for i, (a, b) in enumerate(zip(FIRST, SECOND, strict=True)):
        inputs = plain(a, b, return_tensors="pt", truncation="longest_first", max_length=40)
        with torch.no_grad():
            logits = own(**inputs).seq_relationship_logits[0]
        assert found[i] == pytest.approx(float(logits[0] - logits[1]), abs=1e-5)
    assert np.ptp(found) > 1e-4
    assert tokenizer.encode(FIRST) == before


def test_ranks_of_masked_tokens_are_those_of_sorting_all(whole: Path) -> None:
    facts = read_facts(str(whole))
    tokenizer, model = Tokenizer(facts), load_head(facts, MASKED_WORD, "cpu", "float32")
    assert model is not None
    assert tokenizer.mask_id is not None
    masked = []
    for i, tokens in enumerate(tokenizer.encode(FIRST)):
        places = [1, 2 + i % 2]
        ids = [tokenizer.mask_id if j in places else n for j, n in enumerate(tokens.ids)]
        masked.append(Masked(tokens._replace(ids=ids), places, [tokens.ids[j] for j in places]))
    ranks, probability = SentenceReader(facts, tokenizer, "cpu", "float32", 1, 64).masked_ranks(model, masked)
    own = BertForPreTraining.from_pretrained(whole).eval()
    at = 0
    for found in masked:
        with torch.no_grad():
            shares = own(input_ids=torch.tensor([found.tokens.ids])).prediction_logits[0].softmax(1)
        for place, truth in zip(found.places, found.truth, strict=True):
            rank = shares[place].argsort(descending=True).tolist().index(truth) + 1
            assert abs(ranks[at] - rank) <= 2  # rounding, among 30,522
            assert probability[at] == pytest.approx(float(shares[place, truth]), rel=1e-3)
            at += 1
    assert at == len(ranks)
