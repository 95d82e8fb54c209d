from ops.dictionaries.saelens import hook_point

POINTS = {
    "blocks.11.hook_resid_post": (12, "residual"),
    "blocks.11.hook_resid_pre": (11, "residual"),
    "model.layers.3.output": (4, "residual"),
    "layers.3": (4, "residual"),
    "transformer.h.0": (1, "residual"),
    "blocks.1.hook_mlp_out": (2, "mlp_output"),
    "blocks.1.hook_attn_out": (2, "attention"),
    "blocks.1.attn.hook_z": (2, "heads"),
    "layers.3.mlp": (4, "mlp_output"),
    "blocks.3.ln2.hook_normalized": (4, "mlp_normalized"),
    "model.layers.3.self_attn.o_proj.input": (4, "heads"),
    "embed_tokens": (0, "residual"),
    "hook_embed": (0, "residual"),
    "": None,
    "blocks.x.hook_resid_post": None,
    "unembed": None,
    "blocks.1.hook_resid_mid": (2, "before_mlp"),
    # The stream before the feed-forward network's normalisation, not its input.
    "blocks.1.hook_mlp_in": None,
}


def test_a_name_is_a_layer_and_a_place_or_none() -> None:
    assert {name: hook_point(name) for name in POINTS} == POINTS
