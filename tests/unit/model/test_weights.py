"""A model computes with the weights that were saved: all of them, and no others."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    BertConfig,
    DebertaV2Config,
    Gemma2Config,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    PreTrainedConfig,
    Qwen3Config,
    RobertaConfig,
)

from ops.errors import InputError
from ops.model.heads import MASKED_WORD, load_head
from ops.model.load import load_model, read_facts
from tests.unit.small_models import save_tokenizer

SIZE = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12, "vocab_size": 30}
LLAMA = LlamaConfig(**SIZE)
QUERY = "layers.1.self_attn.q_proj"
Tensors = dict[str, torch.Tensor]


def save(folder: Path, config: PreTrainedConfig, kind: Any = AutoModel, **how: Any) -> str:
    torch.manual_seed(0)
    kind.from_config(config).save_pretrained(folder, **how)
    return str(folder)


def change(folder: Path, changed: Callable[[Tensors], Tensors]) -> None:
    path = folder / "model.safetensors"
    save_file({key: tensor.contiguous() for key, tensor in changed(load_file(path)).items()}, path, {"format": "pt"})


def load(name: str, **how: Any) -> Any:
    return load_model(read_facts(name), "cpu", "float32", **how)


def refused(name: str, **how: Any) -> str:
    with pytest.raises(InputError) as error:
        load(name, **how)
    assert str(error.value).startswith(f"--model {name}: ")
    assert "\n" not in str(error.value)
    return str(error.value)


def in_float8(weights: Tensors) -> Tensors:
    scales = {f"{key}_scale": torch.tensor(3.0) for key in weights if "proj" in key}
    return {k: t.to(torch.float8_e4m3fn) if f"{k}_scale" in scales else t for k, t in weights.items()} | scales


@pytest.mark.parametrize(
    ("more", "tensor"),
    [
        (in_float8, "layers.0.mlp.down_proj.weight_scale"),
        (lambda old: old | {f"{QUERY}.lora_A.default.weight": torch.ones(4, 8)}, "lora_A.default.weight"),
        (lambda old: old | {f"{QUERY}.bias": torch.ones(8)}, f"{QUERY}.bias"),
        (lambda old: old | {"layers.1.self_attn.sinks": torch.ones(2)}, "layers.1.self_attn.sinks"),
        (lambda old: old | {"layers.0.adapter.down.weight": torch.ones(4, 8)}, "layers.0.adapter.down.weight"),
    ],
    ids=["float8", "lora", "bias", "sinks", "adapter"],
)
@pytest.mark.parametrize("head", [False, True])
def test_weights_that_would_not_be_used_are_refused_by_name(
    tmp_path: Path, more: Callable[[Tensors], Tensors], tensor: str, head: bool
) -> None:
    name = save(tmp_path, LLAMA, AutoModelForCausalLM if head else AutoModel)
    prefix = "model." if head else ""
    change(
        tmp_path,
        lambda old: {
            prefix + k if k != "lm_head.weight" else k: t
            for k, t in more({k.removeprefix(prefix): t for k, t in old.items()}).items()
        },
    )
    for predicts in {False, head}:
        said = refused(name, predicts=predicts)
        assert "of its weights would not be used" in said
        assert tensor in said


def test_weights_of_norms_that_the_configuration_lacks_are_refused(tmp_path: Path) -> None:
    name = save(tmp_path, Qwen3Config(**SIZE, head_dim=4, num_key_value_heads=2))
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": "llama"}))
    assert "(layers.0.self_attn.k_norm.weight, layers.0.self_attn.q_norm.weight, layers.1" in refused(name)


def test_a_layer_too_many_in_weights_without_a_header_is_refused(tmp_path: Path) -> None:
    name = save(tmp_path, LLAMA)
    old = load_file(tmp_path / "model.safetensors")
    more = {key.replace("layers.1.", "layers.2."): tensor for key, tensor in old.items() if "layers.1." in key}
    (tmp_path / "model.safetensors").unlink()
    torch.save(old | more, tmp_path / "pytorch_model.bin")
    assert "9 tensors of its weights would not be used (layers.2." in refused(name)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"num_nextn_predict_layers": 1}))
    load(name)


def test_an_adapter_beside_the_weights_is_refused(tmp_path: Path) -> None:
    name = save(tmp_path, LLAMA)
    (tmp_path / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "base_model_name_or_path": "x"}))
    with pytest.raises(InputError, match=rf"--model {name}: holds an adapter .* merge it into the weights"):
        read_facts(name)
    read_facts(f"random:{name}")


NO_POOLER = BertConfig(**SIZE)
STALE: dict[str, tuple[PreTrainedConfig, list[str]]] = {
    "bert": (NO_POOLER, ["bert.embeddings.position_ids"]),
    "gpt2": (
        GPT2Config(n_embd=8, n_layer=2, n_head=2, vocab_size=30, bos_token_id=0, eos_token_id=0),
        ["transformer.h.0.attn.bias", "transformer.h.1.attn.masked_bias"],
    ),
    "gpt_neox": (
        GPTNeoXConfig(**SIZE),
        ["gpt_neox.layers.0.attention.bias", "gpt_neox.layers.0.attention.rotary_emb.inv_freq"],
    ),
    "llama": (LLAMA, ["model.layers.0.self_attn.rotary_emb.inv_freq"]),
    "deberta-v2": (DebertaV2Config(**SIZE), ["deberta.embeddings.word_embeddings._weight"]),
}


@pytest.mark.parametrize("kind", STALE)
def test_heads_poolers_tied_weights_and_stale_buffers_stay_welcome(tmp_path: Path, kind: str) -> None:
    config, stale = STALE[kind]
    heads = [AutoModelForSequenceClassification]
    heads.append(AutoModelForCausalLM if kind in ("gpt2", "gpt_neox", "llama") else AutoModelForMaskedLM)
    for head in heads:
        if head is not AutoModelForMaskedLM:
            config.pad_token_id = 0
        folder = tmp_path / head.__name__
        name = save(folder, config, head)
        prefix = stale[0].partition(".")[0]
        more = {key: torch.ones(2) for key in stale}
        more |= {f"{prefix}.pooler.dense.weight": torch.ones(8, 8), "sentence_head.weight": torch.ones(2, 8)}
        change(folder, lambda old, more=more: old | more)
        model, saved = load(name), load_file(folder / "model.safetensors")
        for key, tensor in model.state_dict().items():
            if key.startswith("pooler."):
                continue
            assert torch.equal(tensor, saved[f"{prefix}.{key}"]), key
        if head is AutoModelForCausalLM:
            load(name, predicts=True)


def test_the_masked_word_head_is_loaded_with_the_same_checks(tmp_path: Path) -> None:
    name = save(tmp_path, BertConfig(**SIZE), AutoModelForMaskedLM)
    save_tokenizer(tmp_path, SIZE["vocab_size"])
    facts = read_facts(name)
    assert load_head(facts, MASKED_WORD, "cpu", "float32") is not None
    scale = "bert.encoder.layer.0.output.dense.weight_scale"
    change(tmp_path, lambda old: old | {scale: torch.ones(1)})
    with pytest.raises(InputError, match=rf"1 tensor of its weights would not be used \({scale}\)"):
        load_head(facts, MASKED_WORD, "cpu", "float32")


def test_a_matrix_of_zeros_is_refused_by_name(tmp_path: Path) -> None:
    name = save(tmp_path, LLAMA, AutoModelForCausalLM, max_shard_size="2KB")
    shards = sorted(tmp_path.glob("*.safetensors"))
    assert len(shards) > 2
    content = shards[1].read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    shards[1].write_bytes(content[:header] + bytes(len(content) - header))
    zero = {key for key, tensor in load_file(shards[1]).items() if tensor.dim() > 1}
    found = refused(name).removeprefix(f"--model {name}: ").partition(" holds only zeros")[0]
    assert f"model.{found}" in zero


def test_a_head_of_zeros_is_refused_where_it_is_used(tmp_path: Path) -> None:
    name = save(tmp_path, LLAMA, AutoModelForCausalLM)
    change(tmp_path, lambda old: old | {"lm_head.weight": torch.zeros(30, 8)})
    load(name)
    assert "lm_head.weight holds only zeros" in refused(name, predicts=True)


def test_vectors_and_tables_that_may_be_zero_are_taken(tmp_path: Path) -> None:
    def fill(weights: Tensors) -> Tensors:
        may = ("bias", "norm", "LayerNorm", "token_type")
        return {k: torch.zeros_like(t) if any(word in k for word in may) else t for k, t in weights.items()}

    for config in (RobertaConfig(**SIZE, type_vocab_size=1), Gemma2Config(**SIZE, head_dim=4, num_key_value_heads=2)):
        name = save(tmp_path / config.model_type, config)
        change(tmp_path / config.model_type, fill)
        model = load(name)
        assert any(bool((tensor == 0).all()) for tensor in model.parameters())


def test_a_matrix_that_the_architecture_starts_at_zero_is_taken(tmp_path: Path) -> None:
    sizes = {"num_experts": 4, "num_experts_per_tok": 2, "num_dense_layers": 1, "moe_intermediate_size": 8}
    name = save(tmp_path, AutoConfig.for_model("afmoe", **SIZE, **sizes, head_dim=4, num_key_value_heads=2))
    router = "layers.1.mlp.router.gate.weight"
    assert not load(name).get_parameter(router).any()
    change(tmp_path, lambda old: old | {(key := router.replace("router.gate", "shared_experts.up_proj")): 0 * old[key]})
    assert "shared_experts.up_proj.weight holds only zeros" in refused(name)


def test_a_table_that_the_complete_model_starts_at_zero_is_taken(tmp_path: Path) -> None:
    name = save(tmp_path, AutoConfig.for_model("neomme", **SIZE, embedding_rank=4, head_dim=16, num_key_value_heads=2))
    assert not load(name).value_embeddings.weight.any()
    change(tmp_path, lambda old: old | {(key := "embed_tokens.embedding_projection.weight"): 0 * old[key]})
    assert "embed_tokens.embedding_projection.weight holds only zeros" in refused(name)


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
@pytest.mark.parametrize("kernel", ["flash_attention_2", "flash_attention_3", "kernels-community/flash-attn", "own"])
def test_a_kernel_named_in_the_configuration_does_not_decide(tmp_path: Path, key: str, kernel: str) -> None:
    name = save(tmp_path, LLAMA)
    ids = torch.arange(6)[None]
    with torch.inference_mode():
        expected = load(name)(ids).last_hidden_state
        config = json.loads((tmp_path / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps(config | {key: kernel, "experts_implementation": "own"}))
        assert torch.equal(load(name)(ids).last_hidden_state, expected)
        load(f"random:{name}")


def test_eager_attention_which_every_model_has_stays(tmp_path: Path) -> None:
    name = save(tmp_path, BertConfig(**SIZE))
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"attn_implementation": "eager"}))
    assert load(name).config._attn_implementation == "eager"
