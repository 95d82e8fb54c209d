from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ops.dictionaries import directions, saelens
from ops.dictionaries.conversion import SAELENS, program_of
from ops.dictionaries.description import Asked
from ops.dictionaries.encoder import PANEL, Encoder, merge_largest, take_largest
from tests.unit.dictionaries.made import ARCHITECTURES, configuration, decode, encode, weights, write

WIDTH, FEATURES, TOKENS = 12, 2 * PANEL + 77, 9
HOOK = "blocks.1.hook_resid_post"
STATES = (np.random.default_rng(1).normal(size=(TOKENS, WIDTH)) * 3).astype(np.float32)


def encoder(folder: Path, block: int = PANEL) -> Encoder:
    found = saelens.describe(Asked(2, str(folder)), folder, program_of(folder) or SAELENS)
    return Encoder(found, saelens.load(found, folder, program_of(folder) or SAELENS), block)


@pytest.mark.parametrize(
    ("architecture", "more"),
    [
        *((architecture, {}) for architecture in ARCHITECTURES),
        ("standard", {"apply_b_dec_to_input": False}),
        ("jumprelu", {"normalize_activations": "constant_norm_rescale"}),
        ("gated", {"normalize_activations": "layer_norm"}),
        ("topk", {"k": 30, "rescale_acts_by_decoder_norm": True}),
    ],
    ids=str,
)
def test_activations_and_reconstructions_are_what_the_formulas_give(
    tmp_path: Path, architecture: str, more: dict[str, Any]
) -> None:
    own = weights(architecture, WIDTH, FEATURES)
    made = encoder(write(tmp_path, architecture, own, HOOK, **more))
    cfg = configuration(architecture, own, HOOK, **more)
    expected = encode(architecture, own, STATES, cfg)
    found = made.encode(torch.from_numpy(STATES)).numpy()
    assert 0 < (expected > 0).mean() < 0.9
    assert np.abs(found - expected).max() <= 1e-5 * expected.max()
    again, right = made.reconstruct(torch.from_numpy(STATES)).numpy(), decode(own, expected, STATES, cfg)
    np.testing.assert_allclose(again, right, atol=1e-5 * np.abs(right).max())
    states = torch.from_numpy(STATES).clone()
    states[3, 5] = torch.nan
    bad = torch.isnan(made.encode(states)).any(1)
    assert bad.tolist() == [token == 3 for token in range(TOKENS)], "a token that is no number stays none"


@given(
    arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 30)), elements=st.integers(-2, 3)),
    st.integers(1, 30),
    st.data(),
)
def test_of_equal_products_the_earlier_features_are_kept_on_every_device(
    products: np.ndarray, k: int, data: st.DataObject
) -> None:
    tokens, features = products.shape
    k, cut = min(k, features), data.draw(st.integers(0, features))
    values, places = np.full((tokens, k), -np.inf, np.float32), np.zeros((tokens, k), np.int32)
    merged = torch.from_numpy(values.copy()), torch.from_numpy(places.astype(np.int64))
    for first, panel in ((0, products[:, :cut]), (cut, products[:, cut:])):
        take_largest(np.ascontiguousarray(panel), first, values, places)
        merged = merge_largest(torch.from_numpy(panel), first, *merged)
    expected = np.sort(np.argsort(-products, axis=1, kind="stable")[:, :k], axis=1)
    for kept, found in ((values, places), (each.numpy() for each in merged)):
        np.testing.assert_array_equal(np.sort(found, axis=1), expected)
        np.testing.assert_array_equal(np.take_along_axis(products, found.astype(np.int64), 1), kept)


@pytest.mark.parametrize("architecture", ["standard", "topk"])
def test_the_size_of_a_block_changes_no_bit(tmp_path: Path, architecture: str) -> None:
    folder = write(tmp_path, architecture, weights(architecture, WIDTH, FEATURES), HOOK)
    states = torch.from_numpy(STATES)
    one, *others = (encoder(folder, block) for block in (1, PANEL + 1, 1 << 20))
    assert [len(list(e.blocks(states))) for e in (one, *others)] == [3, 2, 1]
    for other in others:
        assert torch.equal(one.encode(states), other.encode(states))


def test_a_transcoder_predicts_its_target_and_skips(tmp_path: Path) -> None:
    own = weights("jumprelu_transcoder", WIDTH, 50, out=7)
    own["W_skip"] = np.random.default_rng(2).normal(size=(7, WIDTH)).astype(np.float32)
    more = {"metadata": {"hook_name_out": "blocks.1.hook_mlp_out"}}
    folder = write(tmp_path, "jumprelu_skip_transcoder", own, "blocks.1.ln2.hook_normalized", **more)
    made = encoder(folder)
    assert (made.description.point.place, made.description.target) == ("mlp_normalized", (2, "mlp_output"))
    cfg = {"normalize_activations": "none", "apply_b_dec_to_input": False}
    expected = encode("jumprelu_transcoder", own, STATES, cfg)
    np.testing.assert_allclose(made.encode(torch.from_numpy(STATES)), expected, atol=1e-5 * expected.max())
    right = expected @ own["W_dec"] + own["b_dec"] + STATES @ own["W_skip"].T
    found = made.reconstruct(torch.from_numpy(STATES)).numpy()
    np.testing.assert_allclose(found, right, atol=1e-5 * np.abs(right).max())


def test_centred_states_lose_their_mean(tmp_path: Path) -> None:
    own = weights("standard", WIDTH, 40)
    plain = encoder(write(tmp_path / "plain", "standard", own, HOOK))
    kwargs = {"metadata": {"model_from_pretrained_kwargs": {"center_writing_weights": True}}}
    centred = encoder(write(tmp_path / "centred", "standard", own, HOOK, **kwargs))
    less = torch.from_numpy(STATES - STATES.mean(1, keepdims=True))
    torch.testing.assert_close(centred.encode(torch.from_numpy(STATES)), plain.encode(less))
    torch.testing.assert_close(centred.target(torch.from_numpy(STATES)), less)


def test_directions_are_products_and_a_rotation_keeps_lengths(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(5, WIDTH)).astype(np.float16)
    np.save(tmp_path / "mine.npy", rows)
    described = directions.describe_file(Asked(0, "mine"), tmp_path / "mine.npy")
    made = Encoder(described, directions.load_file(described, tmp_path / "mine.npy"), PANEL)
    np.testing.assert_allclose(made.encode(torch.from_numpy(STATES)), STATES @ rows.astype(np.float32).T, atol=1e-5)
    turns = []
    for layer, seed in ((1, 0), (1, 0), (2, 0), (1, 7)):
        described = directions.describe_rotation(Asked(layer, f"rotated:{seed}"), WIDTH)
        turned = Encoder(described, directions.load_rotation(described), PANEL).encode(torch.from_numpy(STATES))
        np.testing.assert_allclose(turned.norm(dim=1), np.linalg.norm(STATES, axis=1), rtol=1e-5)
        turns.append(turned)
    assert torch.equal(turns[0], turns[1])
    assert not any(torch.allclose(turns[0], other) for other in turns[2:])
