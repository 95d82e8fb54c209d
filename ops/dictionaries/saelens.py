"""The description and the weights of a trained dictionary, in SAELens's format or converted into it."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ops.dictionaries.conversion import Program, convert
from ops.dictionaries.description import Asked, Description, Kind, Normalization
from ops.dictionaries.own_readers import CONFIG, WEIGHTS
from ops.dictionaries.tensor_files import Shape, Tensors, as_json, check_finite, check_size, setting, sha256_of
from ops.errors import one_line
from ops.model.sites import HookPoint, Place

_TRANSCODERS: dict[str, Kind] = {
    "transcoder": "standard",
    "skip_transcoder": "standard",
    "jumprelu_transcoder": "jumprelu",
    "jumprelu_skip_transcoder": "jumprelu",
}
_KINDS: dict[str, Kind] = {
    "standard": "standard", "gated": "gated", "jumprelu": "jumprelu", "topk": "topk", **_TRANSCODERS,
}  # fmt: skip
_LOADING = "model_from_pretrained_kwargs"
_NORMALIZATIONS: tuple[Normalization, ...] = ("none", "constant_norm_rescale", "layer_norm")
_DECODER = {"W_dec": "decoder", "b_dec": "decoder_bias"}
_OF_KIND: dict[Kind, dict[str, str]] = {
    "standard": {"b_enc": "bias"},
    "topk": {"b_enc": "bias"},
    "jumprelu": {"b_enc": "bias", "threshold": "threshold"},
    "gated": {"b_gate": "gate_bias", "b_mag": "bias", "r_mag": "log_scale"},
}

# Names in TransformerLens, and of modules in transformers. They count layers from 0, so their layer n is our n + 1.
_IN_LAYER: dict[Place, tuple[str, ...]] = {
    "residual": ("", "output", "hook_out", "hook_resid_post"),
    "attention": ("hook_attn_out", "attn.hook_out", "attention", "self_attn", "self_attn.output"),
    "heads": ("attn.hook_z", "self_attn.o_proj.input"),
    "before_mlp": ("hook_resid_mid",),
    "mlp_input": ("mlp.input", "mlp.hook_in", "pre_feedforward_layernorm.output"),
    "mlp_normalized": ("ln2.hook_normalized",),
    "mlp_output": ("mlp", "mlp.output", "mlp.hook_out", "hook_mlp_out", "post_feedforward_layernorm.output"),
}
_BEFORE_LAYER = ("hook_resid_pre", "hook_in", "input")
_EMBEDDINGS = ("hook_embed", "embed_tokens", "embed_tokens.output")
_NUMBERED = re.compile(r"(?:\w+\.)*?(?:blocks|layers|layer|h)\.(\d{1,4})(?:\.(.+))?")


def describe(asked: Asked, folder: Path, program: Program) -> Description:
    """Return the description of a trained dictionary of a program.

    Raises:
        InputError: the configuration or weights are invalid, or require something that is not supported here.
    """
    cfg, tensors, files, decodes, is_named = convert(asked, folder, program)
    metadata: dict[str, Any] = cfg["metadata"]
    architecture = cfg.get("architecture", "standard")
    if not isinstance(architecture, str) or architecture not in _KINDS:
        raise asked.error(
            f"its architecture is {one_line(str(architecture), 60)}, whose features are not computed; "
            f"those of {', '.join(_KINDS)} are (batchtopk is saved as jumprelu)"
        )
    kind = _KINDS[architecture]
    if cfg.get("activation_fn", "relu") not in ("relu", "topk"):
        raise asked.error(f"its activation function {one_line(str(cfg['activation_fn']), 40)} is not computed; relu is")
    normalization = cfg.get("normalize_activations") or "none"
    if normalization not in _NORMALIZATIONS:
        hint = "fold it into the weights with sae-lens, save the dictionary, and name that one"
        raise asked.error(f"normalize_activations {one_line(str(normalization), 60)} is not computed; {hint}")
    width, features = check_size(asked, cfg.get("d_in"), cfg.get("d_sae"), f"in {files[0].name}")
    transcodes = architecture in _TRANSCODERS
    out = check_size(asked, cfg.get("d_out", 768), features, f"in {files[0].name}")[0] if transcodes else width
    k = cfg.get("k", 100) if kind == "topk" else 0
    if kind == "topk" and (not isinstance(k, int) or isinstance(k, bool) or not 0 < k <= features):
        raise asked.error(f"k is {as_json(k)} in {CONFIG}; expected a number from 1 to {features:,}")
    point = _point(asked, metadata, "hook_name")
    target = None
    if decodes:
        target = _point(asked, metadata, "hook_name_out") if transcodes else point
    if point.layer != asked.layer:
        raise asked.error(
            f"reads {point} ({metadata['hook_name']}), not layer {asked.layer}; give it as {point.layer}=PATH"
        )
    _check_shapes(asked, tensors.shapes, kind, (width, features, out), decodes)
    if metadata.get("hook_head_index") is not None:
        raise asked.error("reads a single head (hook_head_index), which is not read here; all heads together are")
    # The other changes that TransformerLens makes to the weights do not affect the states that the dictionary reads.
    centred = setting(asked, setting(asked, metadata, _LOADING, {}), "center_writing_weights", False)
    if centred and point.place != "residual":
        raise asked.error(f"was trained with center_writing_weights on {point}; it is computed on the residual stream")
    fingerprint = sha256_of(files)
    if is_named:
        fingerprint = hashlib.sha256(f"{fingerprint}\n{k} {point}".encode()).hexdigest()
    description = Description(
        asked, program.name.lower(), kind, width, features, point, target, fingerprint, out, k,
        rescaled=setting(asked, cfg, "rescale_acts_by_decoder_norm", False) and kind == "topk",
        subtracts_bias=setting(asked, cfg, "apply_b_dec_to_input", True) and not transcodes,
        normalization=normalization, centred=centred, model=setting(asked, metadata, "model_name", ""),
        model_seed=setting(asked, metadata, "model_seed", 0),
    )  # fmt: skip
    for name, values in _weights(kind, tensors, decodes).items():
        check_finite(asked, name, values)
    if "scaling_factor" in tensors.shapes and not bool((tensors.read("scaling_factor") == 1).all()):
        raise asked.error("has a scaling_factor for its activations, which is not computed; save it without")
    return description


def load(description: Description, folder: Path, program: Program) -> dict[str, torch.Tensor]:
    """Return the weights as float32: `encoder` `[width, features]`, `decoder` `[features, width]`, and vectors."""
    converted = convert(description.asked, folder, program)
    return _weights(description.kind, converted.tensors, converted.decodes)


def _weights(kind: Kind, tensors: Tensors, decodes: bool) -> dict[str, torch.Tensor]:
    names = {"W_enc": "encoder"} | _OF_KIND[kind] | (_DECODER if decodes else {})
    names |= {"W_skip": "skip"} if "W_skip" in tensors.shapes else {}
    return {own: tensors.read(name) for name, own in names.items()}


def _point(asked: Asked, metadata: dict[str, Any], key: str) -> HookPoint:
    name = metadata.get(key)
    if not isinstance(name, str) or not name:
        raise asked.error(f"{CONFIG} does not say which activations the dictionary reads ({key} is missing)")
    # Gemma Scope 2 also names the module of transformers, which is more precise than `hook_mlp_in`.
    point = hook_point(name) or hook_point(str(metadata.get(f"hf_{key}") or ""))
    if point is None:
        raise asked.error(
            f"reads {one_line(str(name), 80)}, which is not read here; taken are the residual stream (hook_resid_pre, "
            "hook_resid_mid, hook_resid_post), hook_attn_out, hook_z, hook_mlp_out and the feed-forward's input"
        )
    return point


def hook_point(name: str) -> HookPoint | None:
    """Return the hook point with this name; None if it is not supported.

    >>> hook_point("blocks.5.hook_resid_post"), hook_point("blocks.0.hook_resid_pre"), hook_point("layers.3.mlp")
    (HookPoint(layer=6, place='residual'), HookPoint(layer=0, place='residual'), HookPoint(layer=4, place='mlp_output'))
    >>> hook_point("blocks.5.attn.hook_q") is None
    True
    """
    if name in _EMBEDDINGS:
        return HookPoint(0, "residual")
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return None
    number, within = int(match[1]), match[2] or ""
    if within in _BEFORE_LAYER:
        return HookPoint(number, "residual")
    return next((HookPoint(number + 1, place) for place, names in _IN_LAYER.items() if within in names), None)


def _check_shapes(
    asked: Asked, shapes: Mapping[str, Shape], kind: Kind, sizes: tuple[int, int, int], decodes: bool
) -> None:
    width, features, out = sizes
    expected: dict[str, Shape] = {"W_enc": (width, features)}
    if decodes:
        expected |= {"W_dec": (features, out), "b_dec": (out,)}
    expected |= dict.fromkeys(_OF_KIND[kind], (features,))
    if "W_skip" in shapes:
        expected["W_skip"] = (out, width)
    for name, shape in expected.items():
        if name not in shapes:
            raise asked.error(f"{WEIGHTS} lacks {name}, which a {kind} dictionary has")
        if shapes[name] != shape:
            raise asked.error(f"{name} has the shape {list(shapes[name])} in {WEIGHTS}, and {list(shape)} by {CONFIG}")
