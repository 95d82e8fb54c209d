"""Checks that the weights with which a loaded model computes are the weights that were saved, and are complete."""

import copy
import re
from collections.abc import Iterable
from typing import Any

import torch

from ops.errors import InputError, counted
from ops.model.parts import Part, outside
from ops.model.saved_tensors import misfit

# Buffers that older versions of transformers saved and that are computed today. DeBERTa saves a second table of words,
# the part of the sum that its discriminator learned.
_STALE = re.compile(
    r"(^|\.)(position_ids|token_type_ids|(original_)?inv_freq|(cos|sin)_cached|version|_float_tensor"
    r"|(self_)?(attn|attention)\.(bias|masked_bias|causal_mask|embed_positions)|embed_positions\.weights"
    r"|word_embeddings\._weight)$"
)
# Matrices of biases may be zero, and RoBERTa, which knows no types of tokens, is saved with a table of zeros for them.
_MAY_BE_ZERO = re.compile(r"bias|token_type|(^|\.)pooler\.")
_POOLER = "pooler."
_COMPLETE = "give a model whose weights are complete"


def check_report(name: str, model: Any, report: dict[str, Any], part: Part | None = None) -> None:
    """Refuse a model that would compute with other weights than those that were saved.

    Welcome are a pooler, tied weights, and unused weights outside the modules of the base model (heads), stale buffers,
    and layers that predict the tokens after the next one.

    Args:
        name: the name that the user gave, for the error message.
        model: the model, with or without a head.
        report: transformers' report on the loading: `missing_keys`, `mismatched_keys`, `unexpected_keys`.
        part: the part of the model that is read; the weights of other parts may be missing.

    Raises:
        InputError: a tensor has another shape, is missing, or belongs to a module of the base model and is not used.
    """
    if report["mismatched_keys"]:
        raise misfit(name, sorted(report["mismatched_keys"]))
    ignored = (_POOLER, *(outside(model, part) if part is not None else ()))
    missing = [key for key in report["missing_keys"] if not key.startswith(ignored) and not _STALE.search(key)]
    if missing:
        raise InputError(
            f"--model {name}: its weights lack {counted(len(missing), 'tensor')} of the model ({_some(missing)}); "
            f"{_COMPLETE}"
        )
    unused = [key for key in report["unexpected_keys"] if _belongs(model, key)]
    if unused:
        raise InputError(
            f"--model {name}: {counted(len(unused), 'tensor')} of its weights would not be used ({_some(unused)}); "
            "restore the config.json that was saved with these weights, or merge what was added to the model"
        )


def _belongs(model: Any, key: str) -> bool:
    """Return whether an unused tensor belongs to a module of the base model, which would compute without it."""
    key = key.removeprefix(f"{model.base_model_prefix}.")
    config = model.config.get_text_config()
    layers, more = config.num_hidden_layers, getattr(config, "num_nextn_predict_layers", None) or 0
    number = re.search(r"\.(\d+)\.", key)
    if key.startswith(_POOLER) or _STALE.search(key) or (number and layers <= int(number[1]) < layers + more):
        return False
    return key.partition(".")[0] in dict(model.base_model.named_children())


def _some(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)[:3])


def not_finite(model: torch.nn.Module) -> str | None:
    """Return the name of a weight tensor that contains a NaN or an infinity; None if all weights are finite."""
    for name, weights in model.named_parameters():
        values = weights.detach()
        # A finite sum proves that every number is finite. A sum of finite numbers may overflow, so if the sum is not
        # finite, each number is checked.
        if not bool(values.sum(dtype=torch.float32).isfinite()) and not bool(values.isfinite().all()):
            return name
    return None


def require_finite(name: str, model: torch.nn.Module) -> None:
    """Refuse a model whose weights contain a NaN or an infinity: everything computed from them would be wrong.

    Args:
        name: the name that the user gave, for the error message.
        model: the model, on any device.

    Raises:
        InputError: one of the weight tensors is not finite.
    """
    tensor = not_finite(model)
    if tensor is not None:
        kind = str(model.get_parameter(tensor).dtype).removeprefix("torch.")
        raise InputError(
            f"--model {name}: its weights are not all finite ({tensor} holds a NaN or an infinity in {kind}); "
            f"{_COMPLETE}"
        )


def require_filled(name: str, model: torch.nn.Module) -> None:
    """Refuse a model with a weight matrix of zeros, as files have after a download that was cut off.

    Vectors may be zero: biases, and the weights of a normalisation that adds 1 to them, start so. So may a matrix that
    the architecture itself starts at zero, because an untrained model has it.

    Args:
        name: the name that the user gave, for the error message.
        model: the model with trained weights, on any device.

    Raises:
        InputError: one of the weight matrices holds only zeros.
    """
    for tensor, weights in model.named_parameters():
        values = weights.detach()
        if values.dim() < 2 or not values.numel() or _MAY_BE_ZERO.search(tensor):
            continue
        # The first number decides almost always, so that matrices are not read again.
        if not bool(values[(0,) * values.dim()]) and not bool(values.any()) and not _starts_at_zero(model, tensor):
            raise InputError(
                f"--model {name}: {tensor} holds only zeros, as after a download that was cut off; "
                "copy the weights again"
            )


def _starts_at_zero(model: Any, tensor: str) -> bool:
    """Return whether the architecture initialises a weight with zeros, as some do with the routers of experts."""
    place, _, name = tensor.rpartition(".")
    while True:
        module = model.get_submodule(place)
        lists = [part for part in module.modules() if isinstance(part, torch.nn.ModuleList)]
        layers = [part for part in lists if len(part) == model.config.num_hidden_layers]
        if module in layers:
            return False
        # The layers are left out of the copy, because a module outside them initialises no weight of theirs.
        drawn = copy.deepcopy(module, {id(part): torch.nn.ModuleList() for part in layers})
        with torch.no_grad(), torch.random.fork_rng():
            for weights in drawn.parameters():
                weights.fill_(1)
            drawn.apply(model._init_weights)
        if not bool(drawn.get_parameter(name).any()):
            return True
        if not place:
            return False
        place, _, last = place.rpartition(".")
        name = f"{last}.{name}"
