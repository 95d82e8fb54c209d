"""The states around the norm before the feed-forward network, against transformers' own modules."""

from typing import Any

import pytest
import torch
from transformers import AutoModel, BertConfig, Gemma2Config, GPT2Config, GPTNeoXConfig, LlamaConfig

from ops.errors import InputError
from ops.model.sites import HookPoint, HookPointReader

SIZES: dict[str, Any] = {
    "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6,
    "intermediate_size": 30, "vocab_size": 50,
}  # fmt: skip
CONFIGS = {
    "llama": (lambda: LlamaConfig(**SIZES), "post_attention_layernorm", 0.0),
    "gemma2": (lambda: Gemma2Config(**SIZES), "pre_feedforward_layernorm", 1.0),
    "gpt2": (lambda: GPT2Config(n_embd=24, n_layer=2, n_head=4, vocab_size=50), "ln_2", 0.0),
}
IDS = torch.tensor([[3, 9, 4, 7], [8, 2, 6, 1]])


def drawn(config: Any) -> Any:
    torch.manual_seed(0)
    model = AutoModel.from_config(config).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return model


@pytest.mark.parametrize("kind", CONFIGS)
def test_the_stream_before_the_norm_and_its_result_without_weights(kind: str) -> None:
    make, name, added = CONFIGS[kind]
    model = drawn(make())
    layers = model.h if kind == "gpt2" else model.layers
    norm, seen = getattr(layers[1], name), {}
    norm.register_forward_hook(lambda module, given, found: seen.update(before=given[0], after=found))
    reader = HookPointReader(model, 2, [HookPoint(2, "before_mlp"), HookPoint(2, "mlp_normalized")])
    inputs = {"input_ids": IDS, "attention_mask": torch.ones_like(IDS)}
    with torch.no_grad():
        stream, normalized = reader.read(inputs, [lambda states: states] * 2)
    torch.testing.assert_close(stream, seen["before"])
    bias = getattr(norm, "bias", None)
    weighted = normalized * (norm.weight + added) + (0 if bias is None else bias)
    torch.testing.assert_close(weighted, seen["after"], atol=1e-5, rtol=1e-5)
    assert not torch.allclose(normalized, seen["after"], atol=0.1)


@pytest.mark.parametrize("config", [BertConfig(**SIZES), GPTNeoXConfig(**SIZES)], ids=["bert", "neox"])
def test_a_layer_without_such_a_norm_is_refused(config: Any) -> None:
    with pytest.raises(InputError, match="no norm before its feed-forward network"):
        HookPointReader(drawn(config), 2, [HookPoint(1, "before_mlp")])


def test_a_norm_that_computes_something_else_is_refused() -> None:
    model = drawn(LlamaConfig(**SIZES))
    norm = model.layers[0].post_attention_layernorm
    norm.forward = lambda states: states * norm.weight
    with pytest.raises(InputError, match="LlamaRMSNorm is no norm of a known kind"):
        HookPointReader(model, 2, [HookPoint(1, "mlp_normalized")])
