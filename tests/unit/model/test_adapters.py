"""Adapters that are merged into their base model, against base model and adapter together in peft."""

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM, BertConfig, LlamaConfig

from ops.errors import InputError
from ops.model.load import load_model, read_facts
from ops.model.tokenizer import Tokenizer
from ops.outputs.token_head import load_token_head
from tests.unit.small_models import save_tokenizer

SIZE: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20, "vocab_size": 60
}  # fmt: skip
IDS = torch.tensor([[9, 3, 17, 41, 8, 5]])
with_peft = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="peft is not installed"),
]


def save_base(folder: Path, config: Any, kind: Any = AutoModelForCausalLM) -> Path:
    torch.manual_seed(0)
    model = kind.from_config(config)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    model.save_pretrained(folder)
    save_tokenizer(folder, 60)
    return folder


def save_adapter(folder: Path, base: Path, kind: str, targets: list[str], **more: Any) -> Any:
    """Save an adapter of a base model, and return the two together."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(1)
    model = getattr(transformers, kind).from_pretrained(base)
    adapted = get_peft_model(model, LoraConfig(r=4, target_modules=targets, init_lora_weights=False, **more))
    adapted.save_pretrained(folder)
    return adapted.eval()


KINDS = {
    "causal": (LlamaConfig(**SIZE), "AutoModelForCausalLM", ["q_proj", "up_proj"], {"task_type": "CAUSAL_LM"}),
    "features": (LlamaConfig(**SIZE), "AutoModel", ["v_proj"], {"task_type": "FEATURE_EXTRACTION"}),
    "no task": (LlamaConfig(**SIZE), "LlamaForCausalLM", ["o_proj"], {}),
    "classes": (BertConfig(**SIZE), "AutoModelForSequenceClassification", ["query"], {"task_type": "SEQ_CLS"}),
    "dora": (LlamaConfig(**SIZE), "AutoModelForCausalLM", ["k_proj"], {"task_type": "CAUSAL_LM", "use_dora": True}),
}


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=with_peft) for kind in KINDS])
@torch.inference_mode()
def test_the_merged_model_has_the_states_of_base_model_and_adapter(kind: str, tmp_path: Path) -> None:
    config, loader, targets, more = KINDS[kind]
    whole = transformers.AutoModelForMaskedLM if kind == "classes" else AutoModelForCausalLM
    base = save_base(tmp_path / "base", config, whole)
    with torch.inference_mode(False):
        adapted = save_adapter(tmp_path / "own", base, loader, targets, **more)
    facts = read_facts(str(tmp_path / "own"))
    assert facts.fingerprint != read_facts(str(base)).fingerprint
    found = load_model(facts, "cpu", "float32")(IDS, output_hidden_states=True).hidden_states
    right = adapted.base_model.model.base_model(IDS, output_hidden_states=True).hidden_states
    plain = load_model(read_facts(str(base)), "cpu", "float32")(IDS).last_hidden_state
    for own, theirs in zip(found, right, strict=True):
        torch.testing.assert_close(own, theirs, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(found[-1], plain, rtol=1e-4, atol=1e-5)
    assert load_model(facts, "cpu", "bfloat16").dtype == torch.bfloat16
    assert Tokenizer(facts).encode(["w3 w9"])[0].ids == [3, 9]
    if kind == "causal":
        torch.testing.assert_close(load_token_head(facts, "cpu")(IDS).logits, adapted(IDS).logits, rtol=1e-4, atol=1e-4)


def written(folder: Path, **said: Any) -> str:
    folder.mkdir()
    (folder / "adapter_model.safetensors").write_bytes(b"x")
    (folder / "adapter_config.json").write_text(json.dumps(said))
    return str(folder)


def test_what_is_wrong_with_an_adapter_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = save_base(tmp_path / "base", LlamaConfig(**SIZE))
    missing = written(tmp_path / "missing", base_model_name_or_path=str(tmp_path / "none"), peft_type="LORA")
    nameless = written(tmp_path / "nameless", peft_type="LORA")
    chain = written(tmp_path / "chain", base_model_name_or_path=missing, peft_type="LORA")
    there = written(tmp_path / "there", base_model_name_or_path=str(base), peft_type="LORA")
    empty = written(tmp_path / "empty", base_model_name_or_path=str(base), peft_type="LORA")
    (tmp_path / "empty" / "adapter_model.safetensors").unlink()
    monkeypatch.setattr("ops.model.adapters.importlib.util.find_spec", lambda name: None)
    for name, said in (
        (missing, "is an adapter whose base model cannot be found"), (nameless, "names no base model"),
        (chain, "is an adapter of another adapter"), (empty, "is an adapter without weights"),
        (there, "pip install peft, or give the merged model"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            read_facts(name)
    assert read_facts(f"random:{there}").layers == 2


@pytest.mark.parametrize("wrong", [pytest.param(wrong, marks=with_peft) for wrong in ("width", "layers", "targets")])
def test_an_adapter_of_another_model_is_refused_before_weights_are_read(wrong: str, tmp_path: Path) -> None:
    base = save_base(tmp_path / "base", LlamaConfig(**SIZE))
    save_adapter(tmp_path / "own", base, "AutoModelForCausalLM", ["q_proj"], task_type="CAUSAL_LM")
    change = {"width": {"hidden_size": 24}, "layers": {"num_hidden_layers": 3}, "targets": {}}[wrong]
    shutil.rmtree(base)
    save_base(
        base, BertConfig(**SIZE) if wrong == "targets" else LlamaConfig(**(SIZE | change)), transformers.AutoModel
    )
    with pytest.raises(InputError, match=f"--model {tmp_path / 'own'}: .*its (adapter|base model)"):
        read_facts(str(tmp_path / "own"))


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=with_peft) for kind in ("prompt", "quantised")])
def test_what_cannot_be_merged_exactly_is_refused(kind: str, tmp_path: Path) -> None:
    from peft import PromptTuningConfig, get_peft_model

    base = save_base(tmp_path / "base", LlamaConfig(**SIZE))
    if kind == "prompt":
        model = AutoModelForCausalLM.from_pretrained(base)
        get_peft_model(model, PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM")).save_pretrained(
            tmp_path / "own"
        )
        with pytest.raises(InputError, match=r"is an adapter \(PROMPT_TUNING\) that cannot be merged into weights"):
            read_facts(str(tmp_path / "own"))
        return
    save_adapter(tmp_path / "own", base, "AutoModelForCausalLM", ["q_proj"], task_type="CAUSAL_LM")
    config = json.loads((base / "config.json").read_text())
    said = {"quant_method": "fp8", "weight_block_size": [4, 4]}
    (base / "config.json").write_text(json.dumps(config | {"quantization_config": said}))
    with pytest.raises(InputError, match=r"is an adapter of a quantised model \(fp8\), and merging would round it"):
        read_facts(str(tmp_path / "own"))
