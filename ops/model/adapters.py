"""Adapters of the package peft (LoRA and similar), which are merged into the weights of their base model."""

import importlib.util
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from ops.errors import counted, one_line
from ops.model.names import Location
from ops.model.parts import moved, trial_tokens
from ops.model.quantised import method_of
from ops.model.transformers_calls import ModelError, refusing

CONFIG = "adapter_config.json"
_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
_ROUNDING = 1e-4  # of a vector's length: what merging in float32 may move a state
# The class of transformers for which an adapter was trained, by the task that its configuration names.
_CLASSES = {
    "CAUSAL_LM": "AutoModelForCausalLM",
    "SEQ_2_SEQ_LM": "AutoModelForSeq2SeqLM",
    "SEQ_CLS": "AutoModelForSequenceClassification",
    "TOKEN_CLS": "AutoModelForTokenClassification",
    "QUESTION_ANS": "AutoModelForQuestionAnswering",
    "FEATURE_EXTRACTION": "AutoModel",
}


def read_adapter(location: Location) -> dict[str, Any] | None:
    """Return the content of a model's adapter_config.json; None if the model is complete or there is no such file.

    Raises:
        ModelError: the file is invalid or names no base model, or the adapter has no weights.
    """
    file = _config_file(location)
    if file is None or (file.parent / "config.json").is_file():
        return None
    with refusing(f"its {CONFIG} cannot be read"):
        adapter = json.loads(file.read_text(encoding="utf-8"))
    if not location.revision and len(adapter_files(Path(location.path))) < 2:
        raise ModelError(f"is an adapter without weights ({_WEIGHTS[0]}); copy it again")
    if not isinstance(adapter, dict) or not isinstance(adapter.get("base_model_name_or_path"), str):
        raise ModelError(f"its {CONFIG} names no base model (base_model_name_or_path)")
    return adapter


def adapter_files(folder: Path) -> list[Path]:
    """Return the files of an adapter's directory that determine it."""
    return [file for name in (CONFIG, *_WEIGHTS) if (file := folder / name).is_file()]


def _config_file(location: Location) -> Path | None:
    if location.revision:
        return _config_file_of_hub(location)
    file = Path(location.path, CONFIG)
    return file if file.is_file() else None


@lru_cache
def _config_file_of_hub(location: Location) -> Path | None:
    from transformers.utils.peft_utils import find_adapter_config_file

    file = find_adapter_config_file(location.path, revision=location.revision)
    return None if file is None else Path(file)


def refuse_beside(location: Location) -> None:
    """Refuse a complete model with an adapter next to it, because it is not clear which of them is meant."""
    file = _config_file(location)
    if file is not None and (file.parent / "config.json").is_file():
        raise ModelError(
            f"holds an adapter ({CONFIG}) next to a complete model; merge it into the weights (merge_and_unload of the "
            "package peft), or move it into a directory of its own"
        )


def require_mergeable(config: Any) -> None:
    """Refuse an adapter if the package peft is not installed, or if its base model's configuration is quantised."""
    if importlib.util.find_spec("peft") is None:
        raise ModelError(
            "is an adapter, which the package peft merges into its base model; pip install peft, or give the merged "
            "model (merge_and_unload of peft)"
        )
    if method := method_of(config):
        raise ModelError(
            f"is an adapter of a quantised model ({method}), and merging would round it; name the model "
            f"before quantisation as base_model_name_or_path in {CONFIG}"
        )


def loader_of(adapter: dict[str, Any]) -> Any:
    """Return the class of transformers with which the adapter's base model is loaded.

    Raises:
        ModelError: the adapter was trained for another kind of model.
    """
    import transformers

    task, mapping = adapter.get("task_type"), adapter.get("auto_mapping") or {}
    name = _CLASSES.get(task) if task else mapping.get("base_model_class") or "AutoModel"
    loader = getattr(transformers, name or "", None)
    if loader is None:
        raise ModelError(f"is an adapter for {one_line(str(task or name), 40)}, which is not merged")
    return loader


def check_adapter(location: Location, adapter: dict[str, Any], config: Any) -> None:
    """Refuse an adapter that does not fit its base model, before any weights of the latter are read.

    Args:
        config: the configuration of the base model, which is built on torch's default device.

    Raises:
        ModelError: the kind of adapter cannot be merged, its file is missing, or a tensor does not fit.
    """
    from peft import PeftConfig, get_peft_model
    from peft.mapping import PEFT_TYPE_TO_TUNER_MAPPING
    from peft.utils import get_peft_model_state_dict, load_peft_weights

    kind, revision = loader_of(adapter), location.revision or None
    base = (kind.from_config if hasattr(kind, "from_config") else kind._from_config)(config)
    with refusing("its adapter cannot be added to its base model"):
        settings: Any = PeftConfig.from_pretrained(location.path, revision=revision)
        if not hasattr(PEFT_TYPE_TO_TUNER_MAPPING.get(settings.peft_type), "merge_and_unload"):
            named = getattr(settings.peft_type, "value", settings.peft_type)
            raise ModelError(f"is an adapter ({named}) that cannot be merged into weights")
        settings.inference_mode = True
        saved = load_peft_weights(location.path, device="cpu", revision=revision)
        expected = get_peft_model_state_dict(get_peft_model(base, settings, low_cpu_mem_usage=True))
    wrong = {key for key in saved.keys() & expected.keys() if saved[key].shape != expected[key].shape}
    wrong |= saved.keys() ^ expected.keys()
    if wrong:
        raise ModelError(
            f"{counted(len(wrong), 'tensor')} of its adapter are not those that its base model takes "
            f"({', '.join(sorted(wrong)[:2])}); give the base model that the adapter was trained on"
        )


@torch.inference_mode()
def merge(location: Location, base: Any) -> Any:
    """Return a base model with an adapter merged into its weights.

    Args:
        base: the base model with its weights, in float32 and on the CPU, which is changed.

    Raises:
        ModelError: the merged model has other states than base model and adapter together.
    """
    from peft import PeftModel

    adapted = PeftModel.from_pretrained(base.eval(), location.path, revision=location.revision or None).eval()
    backbone = base.base_model
    inputs = trial_tokens(backbone) | {"output_hidden_states": True}
    if backbone.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = inputs["input_ids"]
    right = [states.clone() for states in _states(backbone(**inputs))]
    merged = adapted.merge_and_unload()
    hidden = _states(merged.base_model(**inputs))
    if len(hidden) != len(right) or any(moved(*pair) > _ROUNDING for pair in zip(hidden, right, strict=True)):
        raise ModelError(
            "merging its adapter changes what the model computes; merge it with the program that trained it, and give "
            "the merged model"
        )
    return merged


def _states(output: Any) -> Any:
    states = getattr(output, "encoder_hidden_states", None)
    return output.hidden_states if states is None else states
