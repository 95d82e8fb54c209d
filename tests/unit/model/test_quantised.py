"""Models whose weights were saved quantised, against the same model with the weights that the file stands for."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, LlamaConfig

from ops.errors import InputError
from ops.model.activations import ScoreOptions, Scorer
from ops.model.check_states import check_layers
from ops.model.direction import is_decoder
from ops.model.load import load_model, read_facts
from ops.model.tokenizer import Tokenizer
from tests.unit.small_models import save_tokenizer

CONFIG = LlamaConfig(
    hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=128,
    vocab_size=60, pad_token_id=0,
)  # fmt: skip
IDS = torch.tensor([[9, 3, 17, 41, 8, 5]])
Tensors = dict[str, torch.Tensor]
interop = pytest.mark.interop


def without(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"{package} is not installed")


def save(folder: Path, said: dict[str, Any], pack: Callable[[str, torch.Tensor], tuple[Tensors, torch.Tensor]]) -> Any:
    """Save a model whose projections are packed, and return one with the weights that they stand for."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(CONFIG).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    model.save_pretrained(folder)
    save_tokenizer(folder, 60)
    packed, meant = Tensors(), Tensors()
    for name, weight in load_file(folder / "model.safetensors").items():
        own, meant[name] = pack(name, weight) if "proj" in name else ({name: weight}, weight)
        packed |= own
    save_file(
        {name: value.contiguous() for name, value in packed.items()}, folder / "model.safetensors", {"format": "pt"}
    )
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"quantization_config": said}))
    model.load_state_dict(meant)
    return model.model


def blocks_of_fp8(name: str, weight: torch.Tensor) -> tuple[Tensors, torch.Tensor]:
    rows, columns = (size // 32 for size in weight.shape)
    blocks = weight.reshape(rows, 32, columns, 32)
    scale = blocks.abs().amax((1, 3)) / 448
    packed = (blocks / scale[:, None, :, None]).to(torch.float8_e4m3fn)
    meant = (packed.float() * scale[:, None, :, None]).reshape(weight.shape)
    return {name: packed.reshape(weight.shape), f"{name}_scale_inv": scale}, meant


def rows_of_fp8(name: str, weight: torch.Tensor) -> tuple[Tensors, torch.Tensor]:
    scale = weight.abs().amax(1, keepdim=True) / 448
    packed = (weight / scale).to(torch.float8_e4m3fn)
    return {name: packed, f"{name}_scale": scale}, packed.float() * scale


def rows_of_int8(name: str, weight: torch.Tensor) -> tuple[Tensors, torch.Tensor]:
    scale = weight.abs().amax(1, keepdim=True) / 127
    packed = (weight / scale).round().clamp(-128, 127)
    return {name: packed.to(torch.int8), f"{name}_scale": scale}, packed * scale


def groups_of_int4(name: str, weight: torch.Tensor) -> tuple[Tensors, torch.Tensor]:
    """Eight numbers of four bits, 8 added, in each int32, the first in the lowest bits."""
    groups = weight.reshape(len(weight), -1, 32)
    scale = groups.abs().amax(2, keepdim=True) / 7
    whole = (groups / scale).round().clamp(-8, 7)
    bits = (whole.reshape(len(weight), -1, 8).long() + 8) << (4 * torch.arange(8))
    packed = bits.sum(2)
    packed = torch.where(packed >= 1 << 31, packed - (1 << 32), packed).to(torch.int32)
    own = {f"{name}_packed": packed, f"{name}_scale": scale[..., 0], f"{name}_shape": torch.tensor(weight.shape)}
    return own, (whole * scale).reshape(weight.shape)


def compressed(form: str, kind: str, bits: int) -> dict[str, Any]:
    """The configuration of compressed-tensors; activations of 8 bits would be quantised for each token."""
    own = {"num_bits": bits, "type": kind, "symmetric": True}
    weights = own | ({"strategy": "group", "group_size": 32} if bits == 4 else {"strategy": "channel"})
    inputs = None if bits == 4 else own | {"dynamic": True, "strategy": "token"}
    group = {"targets": ["Linear"], "weights": weights, "input_activations": inputs}
    return {
        "quant_method": "compressed-tensors", "format": form, "quantization_status": "compressed",
        "ignore": ["lm_head"], "config_groups": {"group_0": group},
    }  # fmt: skip


FP8 = {"quant_method": "fp8", "weight_block_size": [32, 32], "modules_to_not_convert": ["lm_head"]}
PACKAGE = [interop, without("compressed_tensors")]
FORMATS = [
    pytest.param(FP8, blocks_of_fp8, id="fp8"),
    pytest.param(compressed("int-quantized", "int", 8), rows_of_int8, id="int8", marks=PACKAGE),
    pytest.param(compressed("float-quantized", "float", 8), rows_of_fp8, id="float8", marks=PACKAGE),
    pytest.param(compressed("pack-quantized", "int", 4), groups_of_int4, id="int4", marks=PACKAGE),
]


@pytest.mark.parametrize(("said", "pack"), FORMATS)
@pytest.mark.filterwarnings("ignore")
def test_expanded_weights_give_the_states_of_the_model_that_the_file_stands_for(
    said: dict[str, Any], pack: Any, tmp_path: Path
) -> None:
    right = save(tmp_path, said, pack)
    facts = read_facts(str(tmp_path))
    found = load_model(facts, "cpu", "float32")
    with torch.inference_mode():
        expected = right(IDS, output_hidden_states=True).hidden_states
        for own, theirs in zip(found(IDS, output_hidden_states=True).hidden_states, expected, strict=True):
            torch.testing.assert_close(own, theirs, rtol=1e-5, atol=1e-5)
    assert is_decoder(facts)
    found.save_pretrained(tmp_path / "expanded")
    assert "quantization_config" not in json.loads((tmp_path / "expanded" / "config.json").read_text())


@pytest.mark.parametrize(
    ("said", "packages"),
    [
        ({"quant_method": "gptq", "bits": 4}, "optimum gptqmodel"),
        ({"quant_method": "awq", "bits": 4}, "gptqmodel"),
        (compressed("pack-quantized", "int", 4), "compressed-tensors"),
        ({"load_in_4bit": True}, "bitsandbytes"),
    ],
    ids=["gptq", "awq", "compressed-tensors", "bitsandbytes"],
)
def test_a_missing_package_is_named_before_weights_are_read(
    said: dict[str, Any], packages: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, said, lambda name, weight: ({name: weight}, weight))
    monkeypatch.setattr("ops.model.quantised._installed", lambda package: False)
    with pytest.raises(InputError, match=rf"weights are quantised \(.*\), and reading them requires {packages}; pip"):
        read_facts(str(tmp_path))


def test_outliers_of_a_batch_are_refused_by_name(tmp_path: Path) -> None:
    said = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    save(tmp_path, said, lambda name, weight: ({name: weight}, weight))
    with pytest.raises(InputError, match=r"quantised \(bitsandbytes, 8 bits, llm_int8_threshold above 0\)"):
        read_facts(str(tmp_path))


@pytest.mark.parametrize("share", ["tensor", "token"])
def test_a_scale_that_sentences_share_is_found_by_trying(share: str, tmp_path: Path) -> None:
    save(tmp_path, FP8, blocks_of_fp8)
    facts = read_facts(str(tmp_path))
    scorer, batch = Scorer(facts, ScoreOptions("hidden")), Tokenizer(facts).encode(["w9 w3 w17", "w8 w40 w41 w5 w6"])
    model: Any = scorer.reader.model
    check_layers(scorer, batch)
    for layer in model.layers:
        project = layer.mlp.up_proj
        plain = project.forward

        def rounded(states: torch.Tensor, plain: Any = plain) -> Any:
            scale = states.abs().max() if share == "tensor" else states.abs().amax(-1, keepdim=True)
            return plain((states / scale * 7).round() / 7 * scale)

        project.forward = rounded
    model.config.quantization_config = {"quant_method": "own"}
    if share == "token":
        check_layers(scorer, batch)
        return
    with pytest.raises(InputError, match=r"quantised \(own\) in a way that makes a sentence's states depend on the"):
        check_layers(scorer, batch)


@interop
@without("bitsandbytes")
@pytest.mark.filterwarnings("ignore")
def test_four_bits_of_bitsandbytes_are_read_as_transformers_reads_them(tmp_path: Path) -> None:
    from transformers import AutoModel, BitsAndBytesConfig

    save(tmp_path / "plain", {}, lambda name, weight: ({name: weight}, weight))
    config = json.loads((tmp_path / "plain" / "config.json").read_text())
    del config["quantization_config"]
    (tmp_path / "plain" / "config.json").write_text(json.dumps(config))
    own = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
    AutoModelForCausalLM.from_pretrained(tmp_path / "plain", quantization_config=own).save_pretrained(tmp_path / "four")
    save_tokenizer(tmp_path / "four", 60)
    facts = read_facts(str(tmp_path / "four"))
    scorer = Scorer(facts, ScoreOptions("hidden"))
    check_layers(scorer, Tokenizer(facts).encode(["w9 w3 w17", "w8 w40 w41 w5 w6"]))
    right = AutoModel.from_pretrained(tmp_path / "four", dtype=torch.float32).eval()
    with torch.inference_mode():
        torch.testing.assert_close(scorer.reader.model(IDS).last_hidden_state, right(IDS).last_hidden_state)
