from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from transformers import (
    AlbertConfig,
    AutoModel,
    BertConfig,
    DistilBertConfig,
    GPT2Config,
    LlamaConfig,
    OPTConfig,
    PreTrainedConfig,
)

from ops.errors import InputError
from ops.model.sites import SITES, SiteReader

LAYERS = 3
SMALL = {"hidden_size": 16, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "vocab_size": 40}
ALBERT = {**SMALL, "intermediate_size": 24, "embedding_size": 8}
CONFIGS: dict[str, Callable[[], PreTrainedConfig]] = {
    "bert": lambda: BertConfig(**SMALL, intermediate_size=24),
    "gpt2": lambda: GPT2Config(vocab_size=40, n_embd=16, n_layer=LAYERS, n_head=2, n_inner=24, n_positions=32),
    "llama": lambda: LlamaConfig(**SMALL, intermediate_size=24),
    "distilbert": lambda: DistilBertConfig(vocab_size=40, dim=16, n_layers=LAYERS, n_heads=2, hidden_dim=24),
    "albert": lambda: AlbertConfig(**ALBERT),
    "opt": lambda: OPTConfig(**SMALL, ffn_dim=24, word_embed_proj_dim=8),
}
IDS = torch.tensor([[5, 6, 7, 8], [9, 10, 1, 1]])
INPUTS = {"input_ids": IDS, "attention_mask": torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])}


def make(config: PreTrainedConfig) -> nn.Module:
    torch.manual_seed(0)
    model: nn.Module = AutoModel.from_config(config).eval()
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.3)
    return model


@torch.inference_mode()
def read(model: nn.Module, site: str) -> list[torch.Tensor]:
    return SiteReader(model, LAYERS, site).read(INPUTS, [torch.clone] * LAYERS)


@torch.inference_mode()
def hidden_states(model: nn.Module) -> tuple[torch.Tensor, ...]:
    found: tuple[torch.Tensor, ...] = model(**INPUTS, output_hidden_states=True).hidden_states
    return found


GROUPED = {"albert of as many layers in a group": lambda: AlbertConfig(**ALBERT, inner_group_num=LAYERS)}


@pytest.mark.parametrize("config", (CONFIGS | GROUPED).values(), ids=CONFIGS | GROUPED)
def test_hidden_is_what_output_hidden_states_gives(config: Callable[[], PreTrainedConfig]) -> None:
    model = make(config())
    found, expected = read(model, "hidden"), hidden_states(model)[1:]
    assert len(found) >= LAYERS
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("kind", ["distilbert", "llama", "opt"])
def test_every_site_of_the_known_architectures_has_its_shape(kind: str) -> None:
    model = make(CONFIGS[kind]())
    for site, width in (("mlp", 24), ("attention", 16)):
        found = read(model, site)
        assert [f.shape for f in found] == [(2, 4, width)] * LAYERS
        assert not torch.equal(found[0], found[1])


@torch.inference_mode()
def test_bert_from_its_own_weights() -> None:
    model = make(CONFIGS["bert"]())
    states, mlp, attention = hidden_states(model), read(model, "mlp"), read(model, "attention")
    mask = INPUTS["attention_mask"][:, None, None].bool()
    for i, layer in enumerate(model.encoder.layer):
        own = layer.attention.self
        q, k, v = (m(states[i]).view(2, 4, 2, 8).transpose(1, 2) for m in (own.query, own.key, own.value))
        share = (q @ k.mT / 8**0.5).masked_fill(~mask, -torch.inf).softmax(-1)
        out = layer.attention.output
        expected = (share @ v).transpose(1, 2).reshape(2, 4, 16) @ out.dense.weight.T + out.dense.bias
        torch.testing.assert_close(attention[i], expected, rtol=1e-4, atol=1e-4)
        middle = nn.functional.layer_norm(expected + states[i], (16,), out.LayerNorm.weight, out.LayerNorm.bias, 1e-12)
        enter = layer.intermediate.dense
        expected = nn.functional.gelu(middle @ enter.weight.T + enter.bias)
        torch.testing.assert_close(mlp[i], expected, rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_gpt2_from_its_own_weights() -> None:
    model = make(CONFIGS["gpt2"]())
    states, mlp, attention = hidden_states(model), read(model, "mlp"), read(model, "attention")
    seen = torch.ones(4, 4).tril().bool() & INPUTS["attention_mask"][:, None, None].bool()
    real = INPUTS["attention_mask"].bool()
    for i, layer in enumerate(model.h):
        norm = nn.functional.layer_norm(states[i], (16,), layer.ln_1.weight, layer.ln_1.bias)
        parts = (norm @ layer.attn.c_attn.weight + layer.attn.c_attn.bias).split(16, 2)
        q, k, v = (part.view(2, 4, 2, 8).transpose(1, 2) for part in parts)
        share = (q @ k.mT / 8**0.5).masked_fill(~seen, -torch.inf).softmax(-1)
        out = layer.attn.c_proj
        expected = (share @ v).transpose(1, 2).reshape(2, 4, 16) @ out.weight + out.bias
        torch.testing.assert_close(attention[i][real], expected[real], rtol=1e-4, atol=1e-4)
        middle = nn.functional.layer_norm(states[i] + expected, (16,), layer.ln_2.weight, layer.ln_2.bias)
        expected = nn.functional.gelu(middle @ layer.mlp.c_fc.weight + layer.mlp.c_fc.bias, approximate="tanh")
        torch.testing.assert_close(mlp[i][real], expected[real], rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_llama_mlp_is_the_product_with_the_gate() -> None:
    model = make(CONFIGS["llama"]())
    taken: list[torch.Tensor] = []
    for layer in model.layers:
        layer.mlp.register_forward_pre_hook(lambda module, args: taken.append(args[0].clone()))
    for layer, enter, found in zip(model.layers, taken, read(model, "mlp"), strict=False):
        expected = nn.functional.silu(enter @ layer.mlp.gate_proj.weight.T) * (enter @ layer.mlp.up_proj.weight.T)
        torch.testing.assert_close(found, expected)


def test_no_hook_stays_behind_even_after_a_failure() -> None:
    model = make(CONFIGS["bert"]())
    for site in SITES:
        read(model, site)
        with pytest.raises(ZeroDivisionError):
            SiteReader(model, LAYERS, site).read(INPUTS, [lambda states: states / (1 // 0)] * LAYERS)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


@pytest.mark.parametrize("site", ["mlp", "attention"])
def test_shared_layers_and_unknown_architectures_have_no_such_site(site: str) -> None:
    strange = type("Strange", (nn.Module,), {})()
    strange.config = SimpleNamespace(model_type="strange")
    strange.blocks = nn.ModuleList(nn.Linear(2, 2) for _ in range(LAYERS))
    for model, kind in ((make(CONFIGS["albert"]()), "an albert"), (strange, "a strange")):
        with pytest.raises(InputError, match=f"--site {site}: its place in {kind} is not known .*--site hidden"):
            SiteReader(model, LAYERS, site)
