import numpy as np
import pytest
import torch

from ops.model.head_projections import head_projections
from ops.model.tokenizer import Tokens
from ops.psi.psi import ContextualPsi
from ops.reducers.grouped_moments import GroupedSums
from tests.unit.small_models import CONFIGS, HEADS, LAYERS, VOCABULARY, WIDTH, make

SIZE = WIDTH // HEADS
LENGTHS = (9, 1, 4)


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.randint(3, VOCABULARY, (len(LENGTHS), max(LENGTHS)), generator=torch.Generator().manual_seed(5))
    real = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    return ids.where(real, torch.tensor(1)), real


@torch.inference_mode()
def plain(kind: str, ids: torch.Tensor) -> torch.Tensor:
    """From the hidden states of one sentence without padding, with the raw weights: `[tokens, layers, 4, heads]`."""
    model, _ = make(kind)
    states = model(input_ids=ids[None], output_hidden_states=True).hidden_states
    own = {name: weight.double() for name, weight in model.named_parameters()}
    layers = []
    for i in range(LAYERS):
        x = states[i][0].double()
        if kind == "gpt2":
            x = torch.nn.functional.layer_norm(x, (WIDTH,), own[f"h.{i}.ln_1.weight"], own[f"h.{i}.ln_1.bias"])
            matrices = own[f"h.{i}.attn.c_attn.weight"].split(WIDTH, 1)
        elif kind == "distilbert":
            matrices = tuple(own[f"transformer.layer.{i}.attention.{n}_lin.weight"].T for n in "qkv")
        else:
            names = ("query", "key", "value")
            matrices = tuple(own[f"encoder.layer.{i}.attention.self.{n}.weight"].T for n in names)
        norm = x.norm(dim=1, keepdim=True) / WIDTH**0.5
        ratios = [(x @ m).view(-1, HEADS, SIZE).norm(dim=2) / SIZE**0.5 / norm for m in matrices]
        layers.append(torch.stack([*ratios, ratios[0] * ratios[1] * ratios[2]], 1))
    return torch.stack(layers, 1)


@pytest.mark.parametrize("kind", CONFIGS)
@torch.inference_mode()
def test_it_is_a_plain_recomputation_from_hidden_states(kind: str) -> None:
    model, known = make(kind)
    ids, real = batch()
    reader = ContextualPsi(model, head_projections(model, known))
    found = reader.read({"input_ids": ids, "attention_mask": real.long()}, real)
    expected = torch.cat([plain(kind, row[:length]) for row, length in zip(ids, LENGTHS, strict=True)])
    assert found.shape == (sum(LENGTHS), LAYERS, 4, HEADS)
    assert found.dtype == torch.float32
    assert ((found - expected) / expected).abs().max() < 1e-4
    assert not torch.allclose(found[:, 0], found[:, 1], rtol=0.01)


@torch.inference_mode()
def test_the_model_is_left_as_it_was() -> None:
    model, known = make("bert")
    ids, real = batch()
    inputs = {"input_ids": ids, "attention_mask": real.long()}
    before = model(**inputs).last_hidden_state
    reader = ContextualPsi(model, head_projections(model, known))
    first = reader.read(inputs, real)
    assert torch.equal(reader.read(inputs, real), first)
    assert torch.equal(model(**inputs).last_hidden_state, before)
    with pytest.raises(IndexError):
        reader.read({"input_ids": ids + VOCABULARY, "attention_mask": real.long()}, real)
    assert not any(module._forward_hooks for module in model.modules())


def test_sentences_with_a_value_that_is_not_finite_are_named_and_left_out() -> None:
    model, known = make("bert")
    words = model.get_input_embeddings().weight  # type: ignore[operator]
    ids, real = batch()
    tokens = [Tokens(row[own].tolist(), [0] * int(own.sum()), False) for row, own in zip(ids, real, strict=True)]
    lost = int(ids[2, 0])
    before = words.data[lost].clone()
    reader = ContextualPsi(model, head_projections(model, known))
    numbers = np.array([10, 11, 12])
    unscored, counts = [], []
    for value in (before, torch.full_like(before, torch.nan)):
        words.data[lost] = value
        sums = GroupedSums(VOCABULARY, LAYERS * 4 * HEADS)
        unscored.append(reader.add(numbers, tokens, 1, sums))
        counts.append(int(sums.count.sum()))
    words.data[lost] = before
    spared = [i for i, own in enumerate(tokens) if lost not in own.ids]
    assert unscored == [[], [10 + i for i in range(len(tokens)) if i not in spared]]
    assert counts == [sum(LENGTHS), sum(LENGTHS[i] for i in spared)]
    assert 0 < counts[1] < counts[0]
