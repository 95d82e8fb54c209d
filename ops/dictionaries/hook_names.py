"""The names that dictionaries use for the states that they read, mapped to our hook points."""

import re

from ops.model.hook_points import HookPoint, Place

# Names in TransformerLens, and of modules in transformers. They count layers from 0, so their layer n is our n + 1.
_IN_LAYER: dict[str, Place] = {
    "": "residual",
    "output": "residual",
    "hook_out": "residual",
    "hook_resid_post": "residual",
    "hook_attn_out": "attention",
    "attn.hook_out": "attention",
    "attention": "attention",
    "self_attn": "attention",
    "self_attn.output": "attention",
    "attn.hook_z": "heads",
    "self_attn.o_proj.input": "heads",
    "mlp": "mlp_output",
    "mlp.output": "mlp_output",
    "mlp.hook_out": "mlp_output",
    "hook_mlp_out": "mlp_output",
    "post_feedforward_layernorm.output": "mlp_output",
    "mlp.input": "mlp_input",
    "mlp.hook_in": "mlp_input",
    "ln2.hook_normalized": "mlp_normalized",
    "hook_resid_mid": "before_mlp",
    "pre_feedforward_layernorm.output": "mlp_input",
}
_BEFORE_LAYER = ("hook_resid_pre", "hook_in", "input")
_EMBEDDINGS = ("hook_embed", "embed_tokens", "embed_tokens.output")
_NUMBERED = re.compile(r"(?:\w+\.)*?(?:blocks|layers|layer|h)\.(\d{1,4})(?:\.(.+))?")


def hook_point(name: str) -> HookPoint | None:
    """Return the hook point with this name; None if it is not supported.

    >>> hook_point("blocks.5.hook_resid_post"), hook_point("blocks.0.hook_resid_pre"), hook_point("layers.3.mlp")
    (HookPoint(layer=6, place='residual'), HookPoint(layer=0, place='residual'), HookPoint(layer=4, place='mlp_output'))
    >>> hook_point("blocks.5.attn.hook_q") is None
    True
    """
    if name in _EMBEDDINGS:
        return HookPoint(0, "residual")
    found = _NUMBERED.fullmatch(name)
    if found is None:
        return None
    number, within = int(found[1]), found[2] or ""
    if within in _BEFORE_LAYER:
        return HookPoint(number, "residual")
    return HookPoint(number + 1, _IN_LAYER[within]) if within in _IN_LAYER else None
