import pytest

from ops.dictionaries.hook_names import hook_point


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("blocks.11.hook_resid_post", (12, "residual")),
        ("blocks.11.hook_resid_pre", (11, "residual")),
        ("model.layers.3.output", (4, "residual")),
        ("layers.3", (4, "residual")),
        ("transformer.h.0", (1, "residual")),
        ("layers.3.mlp", (4, "mlp_output")),
        ("blocks.3.ln2.hook_normalized", (4, "mlp_input")),
        ("model.layers.3.self_attn.o_proj.input", (4, "heads")),
        ("embed_tokens", (0, "residual")),
        ("hook_embed", (0, "residual")),
    ],
)
def test_a_name_is_a_layer_and_a_place(name: str, expected: tuple[int, str]) -> None:
    assert hook_point(name) == expected


@pytest.mark.parametrize(
    "name",
    # The last one is the stream before the feed-forward network's normalisation, not its input.
    ["", "blocks.x.hook_resid_post", "unembed", "blocks.1.hook_resid_mid", "blocks.1.hook_mlp_in"],
)
def test_other_names_are_none(name: str) -> None:
    assert hook_point(name) is None
