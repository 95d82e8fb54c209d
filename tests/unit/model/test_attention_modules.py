import pytest
import torch
from torch import nn
from transformers import AlbertConfig, AutoModel, ElectraConfig

from ops.errors import InputError
from ops.model.attention_modules import (
    ARCHITECTURES,
    check_architecture,
    head_projections,
    position_embeddings,
    word_embeddings,
)
from ops.model.sites import layer_list
from tests.unit.small_models import CONFIGS, HEADS, LAYERS, VOCABULARY, WIDTH, facts, make

SIZE = WIDTH // HEADS


@pytest.mark.parametrize("kind", CONFIGS)
@torch.inference_mode()
def test_projections_give_what_their_modules_give_and_embeddings_are_the_table_alone(kind: str) -> None:
    model, known = make(kind)
    layers = head_projections(model, known)
    assert len(layers) == LAYERS
    x = torch.randn(5, WIDTH)
    for layer in layers:
        assert layer.heads == HEADS
        assert layer.weight.shape == (3, HEADS, SIZE, WIDTH)
        expected = torch.cat([module(x[None])[0] for module in layer.modules], -1).view(5, 3, HEADS, SIZE)
        found = torch.einsum("phsw,tw->tphs", layer.weight, x) + layer.bias
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert not torch.equal(layers[0].weight, layers[1].weight)
    table = dict(model.named_parameters())["wte.weight" if kind == "gpt2" else "embeddings.word_embeddings.weight"]
    assert table.shape == (VOCABULARY, WIDTH)
    assert torch.equal(word_embeddings(model, known), table)


def test_other_architectures_are_refused_by_name() -> None:
    model = AutoModel.from_config(AlbertConfig(vocab_size=20, hidden_size=16, embedding_size=16, num_attention_heads=2))
    with pytest.raises(InputError, match=r"--model m: is an albert, .*; give one of bert, .*gpt2"):
        head_projections(model, facts("albert"))


def test_a_factorised_or_broken_table_is_refused() -> None:
    small = {"num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 20}
    model = AutoModel.from_config(ElectraConfig(hidden_size=16, embedding_size=8, **small))
    with pytest.raises(InputError, match="are 8 wide and its layers 16"):
        word_embeddings(model, facts("electra", width=16))
    model, known = make("bert")
    for value, message in ((torch.inf, "not all finite"), (0.0, "its word embeddings are all zero")):
        torch.nn.init.constant_(model.embeddings.word_embeddings.weight, value)  # type: ignore[union-attr, arg-type]
        with pytest.raises(InputError, match=message):
            word_embeddings(model, known)


def test_position_embeddings_begin_at_the_first_position() -> None:
    for kind in CONFIGS:
        found = position_embeddings(make(kind)[0])
        assert found is not None
        table, first = found
        # RoBERTa counts positions from after the padding's row.
        assert table.weight[first:].shape == ((18 if kind == "roberta" else 20), WIDTH)
    assert position_embeddings(nn.Linear(2, 2)) is None


def test_every_layer_has_the_modules_of_its_architecture() -> None:
    assert {ARCHITECTURES[kind] for kind in CONFIGS} == set(ARCHITECTURES.values())
    for kind in CONFIGS:
        model, facts = make(kind)
        names = check_architecture(facts.model_type, facts.name)
        layers = layer_list(model, LAYERS)
        assert layers is not None
        assert len(layers) == LAYERS
        for layer in layers:
            for name in (*names.projections, names.attention, names.output):
                assert isinstance(layer.get_submodule(name), nn.Module)
            assert not names.norm or isinstance(layer.get_submodule(names.norm), nn.LayerNorm)

    with pytest.raises(InputError, match="--model deberta: is a deberta"):
        check_architecture("deberta")


def test_the_layers_are_the_outermost_list_of_so_many() -> None:
    inner = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    outer = nn.ModuleList([nn.ModuleDict({"parts": inner}), nn.Linear(1, 1)])
    found = layer_list(nn.ModuleDict({"deep": nn.ModuleDict({"parts": inner}), "layers": outer}), 2)
    assert found == list(outer)
    assert layer_list(nn.Linear(1, 1), 2) is None
