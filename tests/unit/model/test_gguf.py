"""A GGUF file with weights of eight bits, against the model with the numbers that the file stands for."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, Qwen2Config

from ops.errors import InputError
from ops.model.direction import is_decoder
from ops.model.load import load_model, read_facts
from ops.model.tokenizer import Tokenizer

CONFIG = Qwen2Config(
    hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=96,
    vocab_size=270, max_position_embeddings=48,
)  # fmt: skip
NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
}  # fmt: skip
MERGES = ["t h", "th e", "a n", "o u"]


def name_of(tensor: str) -> str:
    if not tensor.startswith("model.layers."):
        own = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
        return f"{own[tensor.removesuffix('.weight')]}.weight"
    _, _, layer, within = tensor.split(".", 3)
    module, _, kind = within.rpartition(".")
    return f"blk.{layer}.{NAMES[module]}.{kind}"


def write(path: Path) -> Any:
    """Write a model with a byte-level tokenizer, and return the model whose numbers the file has."""
    import gguf

    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(CONFIG).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    file, eight = gguf.GGUFWriter(str(path), "qwen2"), gguf.GGMLQuantizationType.Q8_0
    file.add_context_length(48)
    file.add_embedding_length(64)
    file.add_block_count(2)
    file.add_feed_forward_length(96)
    file.add_head_count(4)
    file.add_head_count_kv(2)
    file.add_layer_norm_rms_eps(CONFIG.rms_norm_eps)
    file.add_rope_freq_base(10000.0)
    file.add_vocab_size(270)
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    tokens = [chr(byte) for byte in printable] + [chr(256 + i) for i in range(256 - len(printable))]
    tokens += [merge.replace(" ", "") for merge in MERGES]
    tokens += [f"<{i}>" for i in range(270 - len(tokens) - 1)] + ["<|end|>"]
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("qwen2")
    file.add_token_list(tokens)
    file.add_token_types([1] * 269 + [3])
    file.add_token_merges(MERGES)
    file.add_eos_token_id(269)
    file.add_bos_token_id(269)
    file.add_pad_token_id(269)
    meant = model.state_dict()
    for tensor, value in meant.items():
        if "proj.weight" in tensor:
            packed = gguf.quants.quantize(value.numpy(), eight)
            file.add_tensor(name_of(tensor), packed, raw_dtype=eight)
            meant[tensor] = torch.from_numpy(gguf.quants.dequantize(packed, eight))
        else:
            file.add_tensor(name_of(tensor), value.numpy())
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    model.load_state_dict(meant)
    return model.model


@pytest.mark.interop
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(importlib.util.find_spec("gguf") is None, reason="gguf is not installed")
def test_a_gguf_file_has_the_states_of_its_numbers_and_its_own_tokenizer(tmp_path: Path) -> None:
    right = write(tmp_path / "own.gguf")
    facts = read_facts(str(tmp_path / "own.gguf"))
    assert (facts.model_type, facts.layers, facts.width, facts.position_limit) == ("qwen2", 2, 64, 48)
    found = load_model(facts, "cpu", "float32")
    (tokens,) = Tokenizer(facts).encode(["then an ant"])
    assert [Tokenizer(facts).vocabulary()[i] for i in tokens.ids] == ["the", "n", "Ġ", "an", "Ġ", "an", "t"]
    with torch.inference_mode():
        ids = torch.tensor([tokens.ids])
        expected = right(ids, output_hidden_states=True).hidden_states
        for own, theirs in zip(found(ids, output_hidden_states=True).hidden_states, expected, strict=True):
            torch.testing.assert_close(own, theirs, rtol=1e-5, atol=1e-5)
    assert is_decoder(facts)
    assert read_facts(f"random:{tmp_path / 'own.gguf'}").layers == 2
    cut = (tmp_path / "own.gguf").read_bytes()[:3000]
    (tmp_path / "cut.gguf").write_bytes(cut)
    with pytest.raises(InputError, match=r"--model .*cut\.gguf: cannot be loaded"):
        read_facts(str(tmp_path / "cut.gguf"))


def test_a_gguf_file_without_the_package_or_without_the_file_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="there is no such directory"):
        read_facts(str(tmp_path / "none.gguf"))
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr("ops.model.locate.importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match="is a GGUF file, which the package gguf reads; pip install gguf"):
        read_facts(str(tmp_path / "own.gguf"))
