"""A configuration that does not fit the weights is refused by their headers; all that can be loaded is taken."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AlbertConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertConfig,
    GPT2Config,
    LlamaConfig,
    PreTrainedConfig,
    XLMConfig,
)

from ops.errors import InputError
from ops.model.load import load_model, read_facts
from ops.model.weights import saved_shapes

SIZE = {"hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 12, "vocab_size": 30}
BERT = BertConfig(**SIZE)
GPT2 = GPT2Config(n_embd=8, n_layer=3, n_head=2, n_positions=16, vocab_size=30)
LLAMA = LlamaConfig(**SIZE)


def save(folder: Path, config: PreTrainedConfig, kind: Any = AutoModel, **how: Any) -> str:
    kind.from_config(config).save_pretrained(folder, **how)
    return str(folder)


def change(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize("how", [{}, {"max_shard_size": 2000}], ids=["one", "shards"])
def test_another_number_of_layers_is_refused(tmp_path: Path, how: dict[str, Any]) -> None:
    name = save(tmp_path, BERT, AutoModelForMaskedLM, **how)
    assert (tmp_path / "model.safetensors").is_file() == (not how)
    read_facts(name)
    for layers, said in (
        (2, r"says 2 layers, but its weights have 3 \(encoder\.layer\.2\."),
        (5, r"says 5 layers, but its weights have only 3 \(encoder\.layer\.3\."),
        (1_000_000, "says 1,000,000 layers; give a model of 1 to 1,000"),
    ):
        change(tmp_path, num_hidden_layers=layers)
        with pytest.raises(InputError, match=f"^--model {name}: .*{said}"):
            read_facts(name)


@pytest.mark.parametrize(
    ("config", "kind", "layers", "tensor"),
    [
        (GPT2, AutoModelForCausalLM, "n_layer", r"h\.2\."),
        (LLAMA, AutoModelForCausalLM, "num_hidden_layers", r"layers\.2\."),
        (XLMConfig(vocab_size=30, emb_dim=8, n_layers=3, n_heads=2), AutoModel, "n_layers", r"attentions\.2\."),
    ],
    ids=lambda value: getattr(value, "model_type", ""),
)
def test_layers_are_known_in_every_architecture(
    tmp_path: Path, config: PreTrainedConfig, kind: Any, layers: str, tensor: str
) -> None:
    name = save(tmp_path, config, kind)
    read_facts(name)
    change(tmp_path, **{layers: 2})
    with pytest.raises(InputError, match=rf"says 2 layers, but its weights have 3 \(.*{tensor}"):
        read_facts(name)


def test_another_size_is_refused_and_the_tensor_is_named(tmp_path: Path) -> None:
    name = save(tmp_path, BERT, AutoModelForMaskedLM)
    for size, value, tensor in (
        ("hidden_size", 16, r"embeddings\.LayerNorm\.bias has the shape \[8\] in the weights and \[16\] in the"),
        ("intermediate_size", 16, r"encoder\.layer\.0\.intermediate\.dense\.bias has the shape \[12\] .* and \[16\]"),
        ("vocab_size", 31, r"word_embeddings\.weight has the shape \[30, 8\] .* and \[31, 8\] in the configuration; "),
    ):
        before = (tmp_path / "config.json").read_text()
        change(tmp_path, **{size: value})
        with pytest.raises(InputError, match=tensor):
            read_facts(name)
        (tmp_path / "config.json").write_text(before)


def test_what_can_be_loaded_is_taken(tmp_path: Path) -> None:
    """Shared layers, tied weights, no pooler, heads, layers that are not loaded, and weights without a header."""
    albert = AlbertConfig(**{**SIZE, "num_hidden_layers": 250}, embedding_size=8)
    tied = GPT2Config(**{**GPT2.to_dict(), "tie_word_embeddings": True})
    names = [save(tmp_path / "albert", albert), save(tmp_path / "tied", tied, AutoModelForCausalLM)]
    bert = save(tmp_path / "bert", BERT, AutoModelForMaskedLM)
    weights = load_file(tmp_path / "bert" / "model.safetensors")
    assert not any("pooler" in key for key in weights)
    legacy = {key.replace("LayerNorm.weight", "LayerNorm.gamma"): tensor for key, tensor in weights.items()}
    legacy["bert.embeddings.position_ids"] = torch.arange(7)[None]
    legacy["other.encoder.layer.9.weight"] = torch.zeros(3)
    save_file(legacy, tmp_path / "bert" / "model.safetensors", {"format": "pt"})
    binary = tmp_path / "binary"
    save(binary, BERT)
    torch.save(load_file(binary / "model.safetensors"), binary / "pytorch_model.bin")
    (binary / "model.safetensors").unlink()
    assert saved_shapes(binary) == {}
    save(tmp_path / "llama", LLAMA, AutoModelForCausalLM)
    more = load_file(tmp_path / "llama" / "model.safetensors")
    more |= {key.replace("layers.2.", "layers.3."): t.clone() for key, t in more.items() if "layers.2." in key}
    save_file(more, tmp_path / "llama" / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match="says 3 layers, but its weights have 4"):
        read_facts(str(tmp_path / "llama"))
    change(tmp_path / "llama", num_nextn_predict_layers=1)
    for name in (*names, bert, str(binary), str(tmp_path / "llama")):
        load_model(read_facts(name), "cpu", "float32")


def test_sizes_that_differ_in_weights_without_a_header_are_named_when_they_are_loaded(tmp_path: Path) -> None:
    name = save(tmp_path, BERT)
    torch.save(load_file(tmp_path / "model.safetensors"), tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    change(tmp_path, vocab_size=31)
    with pytest.raises(InputError, match=r"word_embeddings\.weight has the shape \[30, 8\] .* and \[31, 8\]"):
        load_model(read_facts(name), "cpu", "float32")


def test_a_header_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    name = save(tmp_path, BERT)
    (tmp_path / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(InputError, match=f"--model {name}: cannot be loaded") as error:
        read_facts(name)
    assert "\n" not in str(error.value)
