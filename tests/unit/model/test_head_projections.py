import pytest
import torch
from transformers import AlbertConfig, AutoModel, ElectraConfig

from ops.errors import InputError
from ops.model.head_projections import head_projections, word_embeddings
from tests.unit.small_models import CONFIGS, HEADS, LAYERS, VOCABULARY, WIDTH, facts, make

SIZE = WIDTH // HEADS


@pytest.mark.parametrize("kind", CONFIGS)
@torch.inference_mode()
def test_a_projection_gives_what_its_module_gives(kind: str) -> None:
    layers = head_projections(*make(kind))
    assert len(layers) == LAYERS
    x = torch.randn(5, WIDTH)
    for layer in layers:
        assert layer.heads == HEADS
        assert layer.weight.shape == (3, HEADS, SIZE, WIDTH)
        expected = torch.cat([module(x[None])[0] for module in layer.modules], -1).view(5, 3, HEADS, SIZE)
        found = torch.einsum("phsw,tw->tphs", layer.weight, x) + layer.bias
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert not torch.equal(layers[0].weight, layers[1].weight)


def test_the_modules_are_query_key_and_value_in_turn() -> None:
    model, known = make("distilbert")
    modules = head_projections(model, known)[1].modules
    own = dict(model.named_modules())
    assert [own[f"transformer.layer.1.attention.{n}_lin"] for n in "qkv"] == list(modules)


@pytest.mark.parametrize("kind", CONFIGS)
def test_word_embeddings_are_the_table_alone(kind: str) -> None:
    model, known = make(kind)
    found = word_embeddings(model, known)
    assert found.shape == (VOCABULARY, WIDTH)
    assert torch.equal(
        found, dict(model.named_parameters())["wte.weight" if kind == "gpt2" else "embeddings.word_embeddings.weight"]
    )


def test_other_architectures_are_refused_by_name() -> None:
    model = AutoModel.from_config(AlbertConfig(vocab_size=20, hidden_size=16, embedding_size=16, num_attention_heads=2))
    with pytest.raises(InputError, match=r"--model m: is an albert, .*; give one of bert, .*gpt2"):
        head_projections(model, facts("albert"))
    with pytest.raises(InputError, match="0 query projections were found in 3 layers"):
        head_projections(model, facts("bert"))


def test_a_factorised_or_broken_table_is_refused() -> None:
    small = {"num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 20}
    model = AutoModel.from_config(ElectraConfig(hidden_size=16, embedding_size=8, **small))
    with pytest.raises(InputError, match="are 8 wide and its layers 16"):
        word_embeddings(model, facts("electra", width=16))
    model, known = make("bert")
    torch.nn.init.constant_(model.embeddings.word_embeddings.weight, torch.inf)  # type: ignore[union-attr, arg-type]
    with pytest.raises(InputError, match="not all finite"):
        word_embeddings(model, known)


def test_a_table_of_zeros_is_refused() -> None:
    model, known = make("bert")
    torch.nn.init.zeros_(model.embeddings.word_embeddings.weight)  # type: ignore[union-attr, arg-type]
    with pytest.raises(InputError, match="its word embeddings are all zero"):
        word_embeddings(model, known)
