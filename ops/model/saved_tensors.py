"""The tensors listed in the headers of a model's safetensors files, and checks that they fit its configuration."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from ops.errors import InputError, counted

Shape = tuple[int, ...]
# A configuration with at most this many layers is always built, even if there are fewer saved tensors: some
# architectures share the tensors of one layer among many.
FEW_LAYERS = 1000
_REMEDY = "restore the config.json that was saved with these weights"


def saved_shapes(folder: Path | None) -> dict[str, Shape]:
    """Return the name and shape of each tensor in a folder's safetensors files, without reading the tensors.

    The result is empty if transformers would load other files, or if some files are missing.
    """
    from safetensors import safe_open

    if folder is None:
        return {}
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.is_file():
        files = {single}
    elif index.is_file():
        files = {folder / name for name in json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()}
    else:
        return {}
    if not all(file.is_file() for file in files):
        return {}
    shapes: dict[str, Shape] = {}
    for file in sorted(files):
        with safe_open(file, "pt") as header:
            shapes |= {name: tuple(header.get_slice(name).get_shape()) for name in header.keys()}  # noqa: SIM118
    return shapes


def check_layer_count(name: str, config: Any, saved: dict[str, Shape] | None) -> None:
    """Refuse a configuration with more layers than there are saved tensors, before so many layers are built.

    Args:
        name: the name that the user gave, for the error message.
        config: the model's configuration.
        saved: the tensors, as `saved_shapes` returns them; None if random weights are drawn.

    Raises:
        InputError: there are more layers than tensors, or too many for random weights.
    """
    layers = getattr(config, "num_hidden_layers", None)
    if saved is None and isinstance(layers, int) and layers > FEW_LAYERS:
        raise InputError(
            f"--model {name}: its config.json says {counted(layers, 'layer')}; random weights are drawn for at most "
            f"{FEW_LAYERS:,}"
        )
    if saved and isinstance(layers, int) and layers > max(len(saved), FEW_LAYERS):
        raise InputError(
            f"--model {name}: its config.json says {counted(layers, 'layer')}, but its weights are only "
            f"{counted(len(saved), 'tensor')}; {_REMEDY}"
        )


def check_saved(name: str, model: torch.nn.Module, saved: dict[str, Shape]) -> None:
    """Refuse weights that cannot fit the configuration: a tensor of another shape, or another number of layers.

    Tensors that are only missing or unused (heads, a pooler, tied weights) are checked when the model is loaded.

    Args:
        name: the name that the user gave, for the error message.
        model: the model as its configuration describes it, on torch's meta device.
        saved: the tensors, as `saved_shapes` returns them.

    Raises:
        InputError: a tensor has another shape, or the weights have more or fewer layers.
    """
    if not saved or not _loaded_as_saved(model):
        return
    own = {key: tuple(tensor.shape) for key, tensor in model.state_dict().items()}
    found = _by_own_names(model, own, saved)
    _check_layers(name, model, own, found)
    wrong = [(key, shape, own[key]) for key, shape in found.items() if own.get(key, shape) != shape]
    if wrong:
        raise misfit(name, wrong)


def misfit(name: str, wrong: list[tuple[str, Shape, Shape]]) -> InputError:
    """Return the error for tensors whose shapes differ from the shapes that the configuration describes.

    Args:
        name: the name that the user gave.
        wrong: each tensor's name, its shape in the weights, and its shape according to the configuration.
    """
    tensor, saved, own = wrong[0]
    more = f" (and so {counted(len(wrong) - 1, 'other tensor')})" if len(wrong) > 1 else ""
    return InputError(
        f"--model {name}: its config.json does not fit its weights: {tensor} has the shape {list(saved)} in the "
        f"weights and {list(own)} in the configuration{more}; {_REMEDY}"
    )


def _loaded_as_saved(model: Any) -> bool:
    """Return whether transformers loads tensors with the same names and shapes as in the file."""
    from transformers.conversion_mapping import get_model_conversion_mapping

    quantized = getattr(model.config, "quantization_config", None) is not None
    return not quantized and not get_model_conversion_mapping(model, add_legacy=False)


def _by_own_names(model: Any, own: dict[str, Shape], saved: dict[str, Shape]) -> dict[str, Shape]:
    """Return the shapes of the saved tensors under the model's own names.

    The names of a model that was saved with a head begin with a prefix, which is removed.
    """
    prefix = f"{model.base_model_prefix}."
    ignored = [re.compile(pattern) for pattern in model._keys_to_ignore_on_load_unexpected or ()]
    found = {}
    for key, shape in saved.items():
        if key not in own and any(pattern.search(key) for pattern in ignored):
            continue
        if key not in own and prefix + key in own:
            key = prefix + key
        found[key if key in own else key.removeprefix(prefix)] = shape
    return found


def _check_layers(name: str, model: Any, own: Iterable[str], found: Iterable[str]) -> None:
    """Refuse weights that have more or fewer layers than the configuration."""
    layers = getattr(model.config, "num_hidden_layers", None)
    # Some decoders are saved with layers that predict the tokens after the next one, which are not loaded.
    unused = getattr(model.config, "num_nextn_predict_layers", None) or 0
    saved = _numbered(found)
    for place, numbers in _numbered(own).items():
        there = saved.get(place)
        if not there or not isinstance(layers, int) or set(numbers) != set(range(layers)):
            continue
        last = max(there)
        if last >= layers + unused:
            raise InputError(
                f"--model {name}: its config.json says {counted(layers, 'layer')}, but its weights have "
                f"{last + 1:,} ({there[last]}); {_REMEDY}"
            )
        missing = sorted(set(numbers) - set(there))
        if missing:
            raise InputError(
                f"--model {name}: its config.json says {counted(layers, 'layer')}, but its weights have only "
                f"{len(there):,} ({numbers[missing[0]]} is missing); {_REMEDY}"
            )


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
