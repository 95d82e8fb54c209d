"""Adapters of the package peft (LoRA and similar), which are merged into the weights of their base model."""

import importlib.util
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from ops.errors import InputError, counted, one_line
from ops.model.trial import moved, trial_tokens

_ROUNDING = 1e-4  # of a vector's length: what merging in float32 may move a state
_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
# The class of transformers for which an adapter was trained, by the task that its configuration names.
_CLASSES = {
    "CAUSAL_LM": "AutoModelForCausalLM",
    "SEQ_2_SEQ_LM": "AutoModelForSeq2SeqLM",
    "SEQ_CLS": "AutoModelForSequenceClassification",
    "TOKEN_CLS": "AutoModelForTokenClassification",
    "QUESTION_ANS": "AutoModelForQuestionAnswering",
    "FEATURE_EXTRACTION": "AutoModel",
}


def read_adapter(name: str, path: str, revision: str) -> dict[str, Any] | None:
    """Return the content of a model's adapter_config.json; None if the model is complete or there is no such file.

    Args:
        name: the name that the user gave, for error messages.
        path, revision: as `locate_model` returns them.

    Raises:
        InputError: the file is invalid or names no base model, or the adapter has no weights.
    """
    file = _config_file(path, revision)
    if file is None or (file.parent / "config.json").is_file():
        return None
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"--model {name}: its adapter_config.json cannot be read ({one_line(error, 100)})") from error
    if not revision and len(adapter_files(Path(path))) < 2:
        raise InputError(f"--model {name}: is an adapter without weights ({_WEIGHTS[0]}); copy it again")
    if not isinstance(found, dict) or not isinstance(found.get("base_model_name_or_path"), str):
        raise InputError(f"--model {name}: its adapter_config.json names no base model (base_model_name_or_path)")
    return found


def _config_file(path: str, revision: str) -> Path | None:
    if revision:
        return _config_file_of_hub(path, revision)
    file = Path(path) / "adapter_config.json"
    return file if file.is_file() else None


@lru_cache
def _config_file_of_hub(path: str, revision: str) -> Path | None:
    from transformers.utils.peft_utils import find_adapter_config_file

    file = find_adapter_config_file(path, revision=revision)
    return None if file is None else Path(file)


def refuse_beside(name: str, path: str, revision: str) -> None:
    """Refuse a complete model with an adapter next to it, because it is not clear which of them is meant.

    Raises:
        InputError: there is an adapter.
    """
    file = _config_file(path, revision)
    if file is not None and (file.parent / "config.json").is_file():
        raise InputError(
            f"--model {name}: holds an adapter (adapter_config.json) next to a complete model; merge it into "
            "the weights (merge_and_unload of the package peft), or move it into a directory of its own"
        )


def require_peft(name: str) -> None:
    """Refuse an adapter if the package peft is not installed.

    Raises:
        InputError: peft is not installed; the message has the command that merges the adapter elsewhere.
    """
    if importlib.util.find_spec("peft") is None:
        merge = f"AutoPeftModelForCausalLM.from_pretrained('{name}').merge_and_unload().save_pretrained('merged')"
        raise InputError(
            f"--model {name}: is an adapter, which the package peft merges into its base model; pip install peft, or "
            f'merge it elsewhere: python -c "from peft import AutoPeftModelForCausalLM; {merge}"'
        )


def loader_of(name: str, adapter: dict[str, Any]) -> Any:
    """Return the class of transformers with which the adapter's base model is loaded.

    Raises:
        InputError: the adapter was trained for another kind of model.
    """
    import transformers

    task, mapping = adapter.get("task_type"), adapter.get("auto_mapping") or {}
    own = mapping.get("base_model_class") if not task else _CLASSES.get(task)
    found = getattr(transformers, own or "AutoModel", None)
    if found is None or (task and own is None):
        raise InputError(f"--model {name}: is an adapter for {one_line(str(task or own), 40)}, which is not merged")
    return found


def build_for(name: str, adapter: dict[str, Any], config: Any) -> Any:
    """Return a model without trained weights of the class for which an adapter was trained."""
    kind = loader_of(name, adapter)
    return (kind.from_config if hasattr(kind, "from_config") else kind._from_config)(config)


def check_adapter(name: str, path: str, revision: str, skeleton: Any) -> None:
    """Refuse an adapter that does not fit its base model, before any weights of either are read.

    Args:
        name: the name that the user gave, for error messages.
        path, revision: as `locate_model` returns them.
        skeleton: the base model on torch's meta device, which is changed.

    Raises:
        InputError: the kind of adapter cannot be merged, its file is missing, or a tensor does not fit.
    """
    from peft import PeftConfig, get_peft_model
    from peft.mapping import PEFT_TYPE_TO_TUNER_MAPPING
    from peft.utils import get_peft_model_state_dict, load_peft_weights

    try:
        config: Any = PeftConfig.from_pretrained(path, revision=revision or None)
        kind = str(getattr(config.peft_type, "value", config.peft_type))
        if not hasattr(PEFT_TYPE_TO_TUNER_MAPPING.get(config.peft_type), "merge_and_unload"):
            raise InputError(f"--model {name}: is an adapter ({kind}) that cannot be merged into weights")
        config.inference_mode = True
        saved = load_peft_weights(path, device="cpu", revision=revision or None)
        own = get_peft_model_state_dict(get_peft_model(skeleton, config, low_cpu_mem_usage=True))
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"--model {name}: its adapter cannot be added to its base model ({one_line(error, 160)})"
        ) from error
    wrong = {key for key in saved.keys() & own.keys() if saved[key].shape != own[key].shape}
    wrong |= saved.keys() ^ own.keys()
    if wrong:
        raise InputError(
            f"--model {name}: {counted(len(wrong), 'tensor')} of its adapter are not those that its base model takes "
            f"({', '.join(sorted(wrong)[:2])}); give the base model that the adapter was trained on"
        )


@torch.inference_mode()
def merge(name: str, path: str, revision: str, base: Any) -> Any:
    """Return a base model with an adapter merged into its weights.

    Args:
        name: the name that the user gave, for error messages.
        path, revision: as `locate_model` returns them.
        base: the base model with its weights, in float32 and on the CPU, which is changed.

    Raises:
        InputError: the merged model has other states than base model and adapter together.
    """
    from peft import PeftModel

    adapted = PeftModel.from_pretrained(base.eval(), path, revision=revision or None).eval()
    own = base.base_model
    inputs = trial_tokens(own)
    options = {"output_hidden_states": True} | (
        {"decoder_input_ids": inputs["input_ids"]} if own.config.is_encoder_decoder else {}
    )
    right = [states.clone() for states in _states(own(**inputs, **options))]
    merged = adapted.merge_and_unload()
    found = _states(merged.base_model(**inputs, **options))
    if len(found) != len(right) or any(moved(*pair) > _ROUNDING for pair in zip(found, right, strict=True)):
        raise InputError(
            f"--model {name}: merging its adapter changes what the model computes; merge it with the program that "
            "trained it, and give the merged model"
        )
    return merged


def _states(output: Any) -> Any:
    states = getattr(output, "encoder_hidden_states", None)
    return output.hidden_states if states is None else states


def adapter_files(folder: Path) -> list[Path]:
    """Return the files of an adapter's directory that determine it."""
    return [file for name in ("adapter_config.json", *_WEIGHTS) if (file := folder / name).is_file()]
