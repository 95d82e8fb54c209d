"""States and losses under each variant equal a plain transformers computation, and what must be equal is."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import AutoModelForCausalLM

from ops.model.load import ModelFacts
from ops.positions import masks
from ops.positions.position_table import TABLES, check_positions, find_table
from ops.positions.reader import Batch, VariantReader
from ops.positions.variants import VARIANTS
from tests.unit import small_models
from tests.unit.small_models import CONFIGS, facts, make

TOKENS = 11
SHIFT = 4


def decoder() -> tuple[Any, ModelFacts]:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(CONFIGS["gpt2"]()).eval()
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.3)
    return model, facts("gpt2")


def batch(lengths: tuple[int, ...] = (TOKENS, 6, 1)) -> Batch:
    torch.manual_seed(1)
    ids = torch.randint(4, small_models.VOCABULARY, (len(lengths), max(lengths)))
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return Batch(np.arange(10, 10 + len(lengths)), ids.masked_fill(~real, 1), real)


def reader(model: Any, known: ModelFacts) -> VariantReader:
    return VariantReader(model, known, SHIFT, 3)


def last(found: VariantReader, texts: Batch, variant: str) -> torch.Tensor:
    return found.read(texts, variant).layers[-1]


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert"])
def test_an_encoder_equals_one_whose_table_is_zero(kind: str) -> None:
    model, known = make(kind)
    texts = batch()
    found = reader(model, known).read(texts, "none")
    table = find_table(model, known).table
    with torch.no_grad():
        table.weight.zero_()
        states = model(input_ids=texts.ids, attention_mask=texts.real.long(), output_hidden_states=True).hidden_states
    for ours, theirs in zip(found.layers, states[1:], strict=True):
        torch.testing.assert_close(ours, theirs[texts.real], rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2"])
def test_moved_positions_equal_those_given_to_the_model(kind: str) -> None:
    model, known = decoder() if kind == "gpt2" else make(kind)
    plain = model.base_model if kind == "gpt2" else model
    texts = batch((TOKENS,))
    first = 2 if kind == "roberta" else 0
    order = np.random.default_rng([3, 9, 10]).permutation(TOKENS)
    places = {
        "default": np.arange(TOKENS),
        "shifted": np.arange(TOKENS) + SHIFT,
        "constant": np.zeros(TOKENS),
        "shuffled": order,
    }
    own = reader(model, known)
    for variant, place in places.items():
        given = torch.from_numpy(place + first).long()[None]
        with torch.no_grad():
            theirs = plain(input_ids=texts.ids, position_ids=given).last_hidden_state[0]
        torch.testing.assert_close(last(own, texts, variant), theirs, rtol=0, atol=1e-5)
    assert (order != np.arange(TOKENS)).any()


def test_losses_equal_those_of_transformers() -> None:
    model, known = decoder()
    texts = batch((TOKENS,))
    with torch.no_grad():
        theirs = model(input_ids=texts.ids, labels=texts.ids).loss
    loss = reader(model, known).read(texts, "default").loss
    assert loss is not None
    assert len(loss) == TOKENS - 1
    assert float(loss.mean()) == pytest.approx(float(theirs), abs=1e-5)


def test_padding_changes_nothing() -> None:
    model, known = decoder()
    own, texts = reader(model, known), batch()
    for variant in VARIANTS:
        together = own.read(texts, variant)
        for row in range(len(texts.ids)):
            length = int(texts.real[row].sum())
            alone = Batch(
                texts.sent_ids[row : row + 1], texts.ids[row : row + 1, :length], texts.real[row : row + 1, :length]
            )
            expected = own.read(alone, variant).layers[-1]
            torch.testing.assert_close(together.layers[-1][texts.owner == row], expected, rtol=0, atol=1e-4)


def test_the_old_reading_of_the_linear_mask_is_that_each_token_sees_itself() -> None:
    model, known = decoder()
    own, texts = reader(model, known), batch()
    additive, alone = own.read(texts, "none_additive_linear"), own.read(texts, "none_self_only")
    for ours, theirs in zip(additive.layers, alone.layers, strict=True):
        assert torch.equal(ours, theirs)
    assert torch.equal(additive.loss, alone.loss)  # type: ignore[arg-type]
    # A token that sees itself alone is what it would be as a text of its own.
    for variant in ("none_self_only", "none_additive_linear"):
        one = Batch(texts.sent_ids[:1], texts.ids[:1, 4:5], texts.real[:1, 4:5])
        torch.testing.assert_close(last(own, texts, variant)[4:5], last(own, one, variant), rtol=0, atol=1e-5)


def test_masks_equal_attention_written_out() -> None:
    model, known = decoder()
    texts = batch((TOKENS,))
    own = reader(model, known)
    block, wte = model.base_model.h[0], model.base_model.wte
    with torch.no_grad():
        x = wte(texts.ids)[0]
        q, k, v = (
            t.view(TOKENS, small_models.HEADS, -1).transpose(0, 1)
            for t in block.attn.c_attn(block.ln_1(x)).split(small_models.WIDTH, 1)
        )
        scores = (q @ k.transpose(1, 2)) * q.shape[-1] ** -0.5
        seen = torch.ones(TOKENS, TOKENS).tril().bool()
        alpha = scores.masked_fill(~seen, -torch.inf).softmax(-1)
        m = torch.zeros(TOKENS, TOKENS)
        for t in range(TOKENS):
            for i in range(t + 1):
                m[t, i] = 1 - 0.9 * (t - i) / max(t, 1)
        away = torch.arange(TOKENS)[:, None] - torch.arange(TOKENS)
        slopes = torch.tensor([2.0 ** (-2 * (h + 1)) for h in range(small_models.HEADS)])[:, None, None]
        weighted = alpha * m
        expected = {
            "none": alpha,
            "none_multiplicative_linear_raw": weighted,
            "none_multiplicative_linear": weighted / weighted.sum(-1, keepdim=True),
            "none_self_only": torch.eye(TOKENS).expand_as(alpha),
            "none_alibi": (scores - slopes * away).masked_fill(~seen, -torch.inf).softmax(-1),
        }
        for variant, weights in expected.items():
            context = (weights @ v).transpose(0, 1).flatten(1)
            y = x + block.attn.c_proj(context)
            y = y + block.mlp(block.ln_2(y))
            torch.testing.assert_close(own.read(texts, variant).layers[0], y, rtol=0, atol=1e-4)


def test_the_input_is_measured_before_the_norm() -> None:
    model, known = make("roberta")
    own, texts = reader(model, known), batch((TOKENS,))
    values = own.read(texts, "default", joined=True).joined
    embeddings = model.embeddings
    with torch.no_grad():
        added = embeddings.position_embeddings.weight[2 : 2 + TOKENS]
        whole = embeddings.word_embeddings(texts.ids)[0] + embeddings.token_type_embeddings.weight[0] + added
    expected = torch.stack(
        [whole.norm(dim=1), added.norm(dim=1) / whole.norm(dim=1), (added * whole).sum(1) / whole.norm(dim=1) ** 2], 1
    )
    assert values is not None
    torch.testing.assert_close(values, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(own.positions.norms()[:TOKENS], added.norm(dim=1))


def test_slopes_of_heads_that_are_no_power_of_two() -> None:
    assert masks.alibi_slopes(6) == [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]


def test_models_without_a_table_are_refused() -> None:
    for kind in ("llama", "deberta-v2"):
        with pytest.raises(
            ValueError, match=f"which is not known to add learned position .* give one of {', '.join(TABLES)}"
        ):
            check_positions(facts(kind))
    with pytest.raises(ValueError, match="is a bert set up as a decoder"):
        check_positions(facts("bert", decoder=True))
    model, known = make("bert")
    model.config.position_embedding_type = "relative_key"
    with pytest.raises(ValueError, match="its positions are relative_key"):
        find_table(model, known)
