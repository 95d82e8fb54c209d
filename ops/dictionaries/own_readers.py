"""Readers of dictionaries that need no other package: SAELens, Qwen-Scope, a layer of a cross-layer transcoder."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ops.dictionaries.description import Asked
from ops.dictionaries.tensor_files import Tensors, read_config, read_tensor, setting, tensor_shapes
from ops.errors import one_line

CONFIG, WEIGHTS = "cfg.json", "sae_weights.safetensors"  # the files of SAELens
# Old names of keys, from before SAELens 6, when the configuration was flat.
_RENAMED = {"hook_point": "hook_name", "activation_fn_str": "activation_fn"}
_QWEN_FILE = re.compile(r"layer(\d+)\.sae\.pt")
_QWEN_FOLDER = re.compile(r"SAE-Res-(.+)-W\d+K-L0_(\d+)(?:/snapshots/[^/]+)?/[^/]+$")
_CROSS_LAYER = re.compile(r"W_enc_(\d+)\.safetensors")


class Converted(NamedTuple):
    """A dictionary as SAELens would save it.

    Attributes:
        cfg: its configuration.
        tensors: its tensors by name.
        files: the files that were read.
        decodes: whether its decoder reconstructs states of one hook point.
        is_named: whether the name of its folder says what its files do not: k, or the hook point.
    """

    cfg: dict[str, Any]
    tensors: Tensors
    files: list[Path]
    decodes: bool = True
    is_named: bool = False


def read_saelens(asked: Asked, folder: Path) -> Converted:
    """Read a folder that SAELens has written."""
    cfg = _renewed(asked, read_config(asked, folder / CONFIG))
    return Converted(cfg, Tensors.of_file(asked, folder / WEIGHTS), [folder / CONFIG, folder / WEIGHTS])


def _renewed(asked: Asked, cfg: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration, possibly from an older file, as SAELens 6 writes it, with `metadata`."""
    if "metadata" in cfg:
        return cfg | {"metadata": setting(asked, cfg, "metadata", {})}
    old: dict[str, Any] = {_RENAMED.get(str(name), str(name)): value for name, value in cfg.items()}
    function = old.get("activation_fn") or "relu"
    settings = setting(asked, old, "activation_fn_kwargs", {})
    if function == "topk":
        old |= {"architecture": "topk", "k": settings.get("k")}
    if isinstance(old.get("normalize_activations"), bool):
        old["normalize_activations"] = "expected_average_only_in" if old["normalize_activations"] else "none"
    return old | {"metadata": old, "activation_fn": function}


def is_qwen_scope(path: Path) -> bool:
    """Return whether a file has a name of Qwen-Scope, `layerN.sae.pt`."""
    return _QWEN_FILE.fullmatch(path.name) is not None


def is_cross_layer(path: Path) -> bool:
    """Return whether a file has the name of a cross-layer transcoder's encoder, `W_enc_N.safetensors`."""
    return _CROSS_LAYER.fullmatch(path.name) is not None


def read_qwen_scope(asked: Asked, path: Path) -> Converted:
    """Read a file of Qwen-Scope, a TopK dictionary of the residual stream.

    The file is a pickle of tensors alone, which `torch.load` reads without running code. `W_enc` is
    `[features, width]` and `W_dec` `[width, features]`; both are transposed here.

    Raises:
        InputError: the file holds anything else, or its folder does not say how many features are active.
    """
    number, folder = _QWEN_FILE.fullmatch(path.name), _QWEN_FOLDER.search(path.absolute().as_posix())
    assert number is not None
    if folder is None:
        raise asked.error(
            "a file of Qwen-Scope says in its folder how many features are active; expected a folder like "
            ".../SAE-Res-Qwen3-1.7B-Base-W32K-L0_50"
        )
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a pickle can be wrong in many ways
        raise asked.error(
            f"{path.name} is not a plain dictionary of tensors, or is cut off ({one_line(error, 80)})"
        ) from error
    names = ("W_enc", "b_enc", "W_dec", "b_dec")
    tensors = {str(name): value for name, value in saved.items()} if isinstance(saved, dict) else {}
    if not all(isinstance(tensors.get(name), torch.Tensor) and tensors[name].is_floating_point() for name in names):
        raise asked.error(f"{path.name} lacks one of the tensors {', '.join(names)}")
    shapes = [tuple(tensors[name].shape) for name in names]
    features, width = shapes[0] if len(shapes[0]) == 2 else (0, 0)
    if shapes != [(features, width), (features,), (width, features), (width,)]:
        raise asked.error(
            f"{path.name} has tensors of the shapes {', '.join(map(str, map(list, shapes)))}; expected W_enc "
            "[features, width], b_enc [features], W_dec [width, features] and b_dec [width]"
        )
    hook = f"blocks.{number[1]}.hook_resid_post"
    cfg = {
        "architecture": "topk", "k": int(folder[2]), "d_in": width, "d_sae": features, "apply_b_dec_to_input": False,
        "metadata": {"hook_name": hook, "model_name": f"Qwen/{folder[1]}"},
    }  # fmt: skip
    turned = {name: tensors[name].float() for name in ("b_enc", "b_dec")}
    turned |= {name: tensors[name].float().T.contiguous() for name in ("W_enc", "W_dec")}
    return Converted(cfg, Tensors.of_memory(turned), [path], is_named=True)


def read_cross_layer(asked: Asked, path: Path) -> Converted:
    """Read the encoder of one layer of a cross-layer transcoder; its decoders, which write to many layers, are not.

    The folder's `config.yaml` names the place that the encoder reads (`feature_input_hook`).

    Raises:
        InputError: the configuration or a tensor is missing, or a shape is wrong.
    """
    import yaml

    number = _CROSS_LAYER.fullmatch(path.name)
    assert number is not None
    config = path.parent / "config.yaml"
    try:
        saved = yaml.safe_load(config.read_text(encoding="utf-8"))
        hook, model = str(saved["feature_input_hook"]).replace("{layer}", number[1]), str(saved.get("model_name", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise asked.error(
            f"a cross-layer transcoder needs config.yaml with feature_input_hook beside {path.name} "
            f"({one_line(error, 80)})"
        ) from error
    shapes = tensor_shapes(asked, path)
    encoder, bias = f"W_enc_{number[1]}", f"b_enc_{number[1]}"
    shape = shapes.get(encoder, ())
    if len(shape) != 2 or shapes.get(bias) != shape[:1]:
        raise asked.error(f"{path.name} lacks {encoder} [features, width] or {bias} [features]")
    features, width = shape
    threshold = f"threshold_{number[1]}"
    if threshold in shapes or f"activation_function.{threshold}" in shapes:
        raise asked.error(f"{path.name} has a threshold, which is not computed; relu is")
    hook = hook if hook.startswith("blocks.") else f"blocks.{number[1]}.{hook}"
    cfg = {
        "architecture": "standard", "d_in": width, "d_sae": features, "apply_b_dec_to_input": False,
        "metadata": {"hook_name": hook, "model_name": model},
    }  # fmt: skip
    tensors = {"W_enc": read_tensor(asked, path, encoder).T.contiguous(), "b_enc": read_tensor(asked, path, bias)}
    return Converted(cfg, Tensors.of_memory(tensors), [path, config], decodes=False)
