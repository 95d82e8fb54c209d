"""Checks that a model computes with the weights that were saved: that they fit its configuration and are complete.

The names and shapes in the headers of safetensors files are checked before loading, everything else afterwards.
"""

import copy
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from ops.errors import counted
from ops.model.parts import Part, outside
from ops.model.transformers_calls import ModelError

Shape = tuple[int, ...]
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
_RESTORE = "restore the config.json that was saved with these weights"
_COMPLETE = "give a model whose weights are complete"


def saved_shapes(folder: Path) -> dict[str, Shape]:
    """Return the name and shape of each tensor in a folder's safetensors files, without reading the tensors.

    The result is empty if transformers would load other files, or if some files are missing.
    """
    from safetensors import safe_open

    files, index = {folder / "model.safetensors"}, folder / "model.safetensors.index.json"
    if not all(file.is_file() for file in files) and index.is_file():
        files = {folder / name for name in json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()}
    if not all(file.is_file() for file in files):
        return {}
    shapes: dict[str, Shape] = {}
    for file in sorted(files):
        with safe_open(file, "pt") as header:
            shapes |= {name: tuple(header.get_slice(name).get_shape()) for name in header.keys()}  # noqa: SIM118
    return shapes


def check_saved(model: Any, folder: Path | None) -> None:
    """Refuse weights that cannot fit the configuration: a tensor of another shape, or another number of layers.

    Tensors that are only missing or unused (heads, a pooler, tied weights) are checked when the model is loaded.

    Args:
        model: the model as its configuration describes it, on torch's meta device.
        folder: the folder of the weights; None without any.
    """
    from transformers.conversion_mapping import get_model_conversion_mapping

    saved = saved_shapes(folder) if folder is not None else {}
    quantised = getattr(model.config, "quantization_config", None) is not None
    # Where transformers changes names or shapes while loading, only the loaded model can be checked.
    if not saved or quantised or get_model_conversion_mapping(model, add_legacy=False):
        return
    expected = {key: tuple(tensor.shape) for key, tensor in model.state_dict().items()}
    shapes = _by_own_names(model, expected, saved)
    _check_layers(model.config, expected, shapes)
    wrong = [(key, shape, expected[key]) for key, shape in shapes.items() if expected.get(key, shape) != shape]
    if wrong:
        raise _misfit(wrong)


def _misfit(wrong: list[tuple[str, Shape, Shape]]) -> ModelError:
    """Return the error for tensors, given each one's name, its shape in the weights, and that in the configuration."""
    tensor, saved, expected = wrong[0]
    more = f" (and so {counted(len(wrong) - 1, 'other tensor')})" if len(wrong) > 1 else ""
    return ModelError(
        f"its config.json does not fit its weights: {tensor} has the shape {list(saved)} in the weights and "
        f"{list(expected)} in the configuration{more}; {_RESTORE}"
    )


def _by_own_names(model: Any, expected: dict[str, Shape], saved: dict[str, Shape]) -> dict[str, Shape]:
    """Return the shapes of the saved tensors under the model's own names.

    The names of a model that was saved with a head begin with a prefix, which is removed.
    """
    prefix = f"{model.base_model_prefix}."
    ignored = [re.compile(pattern) for pattern in model._keys_to_ignore_on_load_unexpected or ()]
    shapes = {}
    for key, shape in saved.items():
        if key not in expected and any(pattern.search(key) for pattern in ignored):
            continue
        if key not in expected and prefix + key in expected:
            key = prefix + key
        shapes[key if key in expected else key.removeprefix(prefix)] = shape
    return shapes


def _check_layers(config: Any, expected: Iterable[str], names: Iterable[str]) -> None:
    """Refuse weights that have more or fewer layers than the configuration."""
    layers = getattr(config, "num_hidden_layers", None)
    if not isinstance(layers, int):
        return
    beginning = f"its config.json says {counted(layers, 'layer')}, but its weights have"
    saved = _numbered(names)
    for path, numbers in _numbered(expected).items():
        present = saved.get(path)
        if not present or set(numbers) != set(range(layers)):
            continue
        last = max(present)
        if last >= layers + _unused_layers(config):
            raise ModelError(f"{beginning} {last + 1:,} ({present[last]}); {_RESTORE}")
        missing = sorted(set(numbers) - set(present))
        if missing:
            raise ModelError(f"{beginning} only {len(present):,} ({numbers[missing[0]]} is missing); {_RESTORE}")


def _unused_layers(config: Any) -> int:
    """Return how many saved layers are not loaded: those that predict the tokens after the next one."""
    return getattr(config, "num_nextn_predict_layers", None) or 0


def _numbered(keys: Iterable[str]) -> dict[str, dict[int, str]]:
    """Return the name of one tensor for each element of each list of modules, ignoring lists inside lists.

    >>> _numbered(["h.0.w", "h.0.b", "h.1.w", "norm.w"])
    {'h': {0: 'h.0.w', 1: 'h.1.w'}}
    """
    lists: dict[str, dict[int, str]] = defaultdict(dict)
    for key in keys:
        match = re.match(r"(.*?)\.(\d+)\.", key)
        if match:
            lists[match[1]].setdefault(int(match[2]), key)
    return dict(lists)


def check_loaded(model: Any, report: dict[str, Any], part: Part | None = None) -> None:
    """Refuse a loaded model that would compute with other weights than those that were saved.

    Welcome are a pooler, tied weights, and unused weights outside the modules of the base model (heads), stale buffers,
    and layers that predict the tokens after the next one.

    Args:
        model: the model, with or without a head.
        report: transformers' report on the loading: `missing_keys`, `mismatched_keys`, `unexpected_keys`.
        part: the part of the model that is read; the weights of other parts may be missing.

    Raises:
        ModelError: a tensor has another shape, is missing, or belongs to a module of the base model and is not used.
    """
    if report["mismatched_keys"]:
        raise _misfit(sorted(report["mismatched_keys"]))
    ignored = (_POOLER, *(outside(model, part) if part is not None else ()))
    missing = [key for key in report["missing_keys"] if not key.startswith(ignored) and not _STALE.search(key)]
    if missing:
        raise ModelError(
            f"its weights lack {counted(len(missing), 'tensor')} of the model ({_some(missing)}); {_COMPLETE}"
        )
    unused = [key for key in report["unexpected_keys"] if _belongs(model, key)]
    if unused:
        raise ModelError(
            f"{counted(len(unused), 'tensor')} of its weights would not be used ({_some(unused)}); {_RESTORE}, or "
            "merge what was added to the model"
        )


def _belongs(model: Any, key: str) -> bool:
    """Return whether an unused tensor belongs to a module of the base model, which would compute without it."""
    key = key.removeprefix(f"{model.base_model_prefix}.")
    config = model.config.get_text_config()
    layers, number = config.num_hidden_layers, re.search(r"\.(\d+)\.", key)
    further = number is not None and layers <= int(number[1]) < layers + _unused_layers(config)
    if key.startswith(_POOLER) or _STALE.search(key) or further:
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


def require_finite(model: torch.nn.Module) -> None:
    """Refuse a model whose weights contain a NaN or an infinity: everything computed from them would be wrong."""
    tensor = not_finite(model)
    if tensor is not None:
        kind = str(model.get_parameter(tensor).dtype).removeprefix("torch.")
        raise ModelError(f"its weights are not all finite ({tensor} holds a NaN or an infinity in {kind}); {_COMPLETE}")


def require_filled(model: torch.nn.Module) -> None:
    """Refuse a model with trained weights that has a matrix of zeros, as after a download that was cut off.

    Vectors may be zero: biases, and the weights of a normalisation that adds 1 to them, start so. So may a matrix that
    the architecture itself starts at zero, because an untrained model has it.
    """
    for tensor, weights in model.named_parameters():
        values = weights.detach()
        if values.dim() < 2 or not values.numel() or _MAY_BE_ZERO.search(tensor):
            continue
        # The first number decides almost always, so that matrices are not read again.
        if not bool(values[(0,) * values.dim()]) and not bool(values.any()) and not _starts_at_zero(model, tensor):
            raise ModelError(f"{tensor} holds only zeros, as after a download that was cut off; copy the weights again")


def _starts_at_zero(model: Any, tensor: str) -> bool:
    """Return whether the architecture initialises a weight with zeros, as some do with the routers of experts."""
    steps = tensor.split(".")
    for depth in reversed(range(len(steps))):  # from the module that holds the weight outwards
        module = model.get_submodule(".".join(steps[:depth]))
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
        if not bool(drawn.get_parameter(".".join(steps[depth:])).any()):
            return True
    return False
