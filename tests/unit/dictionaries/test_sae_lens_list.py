"""Dictionaries in the list of sae-lens, from local copies of their repositories: `make interop`."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import save_file

from ops.dictionaries.conversion import find_listed
from ops.dictionaries.description import Asked
from ops.dictionaries.encoder import PANEL, Encoder
from ops.dictionaries.read import describe, load
from ops.errors import InputError
from tests.unit.dictionaries.made import weights, write
from tests.unit.dictionaries.test_read import read_by_name
from tests.unit.small_models import facts

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(importlib.util.find_spec("sae_lens") is None, reason="sae-lens is not installed"),
]
WIDTH, FEATURES = 24, 300
STATES = torch.from_numpy((np.random.default_rng(4).normal(size=(50, WIDTH)) * 2).astype(np.float32))
MODEL = facts("gpt2", layers=40)


def drawn(**shapes: tuple[int, ...]) -> dict[str, torch.Tensor]:
    rng = np.random.default_rng(5)
    return {name: torch.from_numpy((rng.normal(size=shape) * 0.5).astype(np.float32)) for name, shape in shapes.items()}


Made = tuple[str, int, Callable[[torch.Tensor], torch.Tensor]]
BASIC = {"w_enc": (WIDTH, FEATURES), "w_dec": (FEATURES, WIDTH), "b_enc": (FEATURES,), "b_dec": (WIDTH,)}


def jump(before: torch.Tensor, threshold: torch.Tensor) -> torch.Tensor:
    return torch.relu(before) * (before > threshold)


def gemma_scope_2(root: Path) -> Made:
    path = "google/gemma-scope-2-4b-pt/resid_post/layer_17_width_16k_l0_medium"
    folder = root / path
    folder.mkdir(parents=True)
    own = drawn(**BASIC, threshold=(FEATURES,))
    own["threshold"] = own["threshold"].abs()
    save_file(own, folder / "params.safetensors")
    said = {"architecture": "jump_relu", "model_name": "gemma-3-4b-pt", "hf_hook_point_in": "model.layers.17.output"}
    (folder / "config.json").write_text(json.dumps(said))
    return path, 18, lambda x: jump(x @ own["w_enc"] + own["b_enc"], own["threshold"])


def transcoder_of_gemma_scope_2(root: Path) -> Made:
    path = "google/gemma-scope-2-4b-pt/transcoder_all/layer_0_width_16k_l0_big_affine"
    folder = root / path
    folder.mkdir(parents=True)
    own = drawn(**BASIC, threshold=(FEATURES,), affine_skip_connection=(WIDTH, WIDTH))
    save_file(own, folder / "params.safetensors")
    layer = "model.layers.0"
    said = {
        "architecture": "jump_relu", "model_name": "gemma-3-4b-pt", "affine_connection": True,
        "hf_hook_point_in": f"{layer}.pre_feedforward_layernorm.output",
        "hf_hook_point_out": f"{layer}.post_feedforward_layernorm.output",
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(said))
    return path, 1, lambda x: jump(x @ own["w_enc"] + own["b_enc"], own["threshold"])


def transcoder_of_a_layer(root: Path) -> Made:
    path = "mwhanna/qwen3-4b-transcoders/layer_3.safetensors"
    (root / path).parent.mkdir(parents=True)
    shapes: dict[str, tuple[int, ...]] = {"W_enc": (FEATURES, WIDTH), "W_dec": (FEATURES, WIDTH)}
    own = drawn(**shapes, b_enc=(FEATURES,), b_dec=(WIDTH,))
    save_file(own, root / path)
    said = {"d_model": {"value": WIDTH}, "d_feature": {"value": FEATURES}, "batch_size": {"value": 64}}
    (root / path).with_name("wandb-config.yaml").write_text(yaml.safe_dump(said))
    (root / path).with_name("config.yaml").write_text(yaml.safe_dump({"model_name": "Qwen/Qwen3-0.6B"}))
    return path, 4, lambda x: torch.relu(x @ own["W_enc"].T + own["b_enc"])


def topk_of_dictionary_learning(root: Path) -> Made:
    path = "canrager/saebench_gemma-2-2b_width-2pow12_date-1109/"
    path += "gemma-2-2b_topk_width-2pow12_date-1109/resid_post_layer_12/trainer_0"
    (root / path).mkdir(parents=True)
    own = drawn(
        **{"encoder.weight": (FEATURES, WIDTH), "decoder.weight": (WIDTH, FEATURES)},
        **{"encoder.bias": (FEATURES,), "b_dec": (WIDTH,)},
    )
    torch.save(own, root / path / "ae.pt")
    trainer = {
        "dict_class": "AutoEncoderTopK", "k": 7, "layer": 12, "activation_dim": WIDTH, "dict_size": FEATURES,
        "lm_name": "google/gemma-2-2b",
    }  # fmt: skip
    (root / path / "config.json").write_text(json.dumps({"trainer": trainer, "buffer": {"ctx_len": 128}}))

    def right(x: torch.Tensor) -> torch.Tensor:
        before = torch.relu((x - own["b_dec"]) @ own["encoder.weight"].T + own["encoder.bias"])
        values, places = before.topk(7)
        return torch.zeros_like(before).scatter_(1, places, values)

    return path, 13, right


def distilled_llama_scope(root: Path) -> Made:
    path = "fnlp/Llama-Scope-R1-Distill/800M-Slimpajama-0-OpenR1-Math-220k/L0R"
    (root / path).mkdir(parents=True)
    own = drawn(
        **{"encoder.weight": (WIDTH * 12, WIDTH), "decoder.weight": (WIDTH, WIDTH * 12)},
        **{"encoder.bias": (WIDTH * 12,), "decoder.bias": (WIDTH,), "log_jumprelu_threshold": (WIDTH * 12,)},
    )
    save_file(own, root / path / "sae_weights.safetensors")
    said = {"d_model": WIDTH, "expansion_factor": 12, "hook_point_in": "blocks.0.hook_resid_post"}
    (root / path / "config.json").write_text(json.dumps(said))
    factor = 53.52995401997436

    def right(x: torch.Tensor) -> torch.Tensor:
        before = x * factor @ own["encoder.weight"].T + own["encoder.bias"]
        return jump(before, own["log_jumprelu_threshold"].exp())

    return path, 1, right


def one_with_a_factor(root: Path) -> Made:
    """SAELens's own format, whose input is multiplied by a factor that only the list has."""
    path = "jbloom/Gemma-2b-Residual-Stream-SAEs/gemma_2b_blocks.12.hook_resid_post_16384"
    own = weights("standard", WIDTH, FEATURES)
    hook = "blocks.12.hook_resid_post"
    write(root / path, "standard", own, hook, normalize_activations="expected_average_only_in")
    factor = factor_of(path)
    w = {name: torch.from_numpy(value) for name, value in own.items()}
    return path, 13, lambda x: torch.relu((x * factor - w["b_dec"]) @ w["W_enc"] + w["b_enc"])


def factor_of(path: str) -> float:
    from sae_lens.loading.pretrained_saes_directory import get_norm_scaling_factor

    listed = find_listed(path)
    assert listed is not None
    found = get_norm_scaling_factor(listed.release, listed.identifier)
    assert found is not None
    return float(found)


KINDS = (
    gemma_scope_2, transcoder_of_gemma_scope_2, transcoder_of_a_layer, topk_of_dictionary_learning,
    distilled_llama_scope, one_with_a_factor,
)  # fmt: skip


@pytest.mark.parametrize("make", KINDS)
def test_a_local_copy_encodes_as_its_formula_and_as_sae_lens(make: Callable[[Path], Made], tmp_path: Path) -> None:
    path, layer, right = make(tmp_path)
    described = describe(Asked(layer, str(tmp_path / path)), MODEL)
    found = Encoder(described, load(described), PANEL).encode(STATES)
    expected = right(STATES)
    assert 0 < float((expected > 0).float().mean()) < 0.9
    assert float((found - expected).abs().max()) <= 1e-5 * float(expected.max())
    theirs = as_sae_lens_encodes(tmp_path / path, path)
    assert float((found - theirs).abs().max()) <= 1e-5 * float(expected.max())
    with pytest.raises(InputError, match=f"give it as {layer}=PATH"):
        describe(Asked(layer + 1, str(tmp_path / path)), MODEL)
    with pytest.raises(InputError, match="takes states of 24 values"):
        describe(Asked(layer, str(tmp_path / path)), facts("gpt2", layers=40, width=WIDTH + 1))


def as_sae_lens_encodes(place: Path, path: str) -> torch.Tensor:
    from sae_lens import SAE

    from ops.dictionaries.conversion import _files_of

    listed = find_listed(path)
    assert listed is not None
    root = place.parents[path.count("/") - 2]
    with _files_of(lambda _, name: root / name), torch.no_grad():
        found: Any = SAE.from_pretrained(listed.release, listed.identifier)
        return torch.as_tensor(found.encode(STATES))


def test_the_list_says_that_states_were_centred_and_the_file_does_not(tmp_path: Path) -> None:
    hook = "blocks.8.hook_resid_pre"
    own = weights("standard", WIDTH, FEATURES)
    listed = write(tmp_path / "GPT2-Small-SAEs-Reformatted" / hook, "standard", own, hook)
    other = write(tmp_path / "mine" / hook, "standard", own, hook)
    flat = {"d_in": WIDTH, "d_sae": FEATURES, "hook_point": hook, "model_name": "m", "dtype": "float32"}
    for folder in (listed, other):
        (folder / "cfg.json").write_text(json.dumps(flat))
    assert describe(Asked(8, str(listed)), MODEL).centred
    assert not describe(Asked(8, str(other)), MODEL).centred


def test_a_layer_of_a_listed_cross_layer_transcoder_has_no_decoder(tmp_path: Path) -> None:
    root = tmp_path / "clt-gemma-2-2b-2.5M"
    root.mkdir()
    own = drawn(W_enc_3=(FEATURES, WIDTH), b_enc_3=(FEATURES,), b_dec_3=(WIDTH,))
    save_file(own, root / "W_enc_3.safetensors")
    save_file(drawn(W_dec_3=(FEATURES, 4, WIDTH)), root / "W_dec_3.safetensors")
    said = {"model_name": "m", "feature_input_hook": "hook_resid_mid", "feature_output_hook": "hook_mlp_out"}
    (root / "config.yaml").write_text(yaml.safe_dump(said))
    for path in (root / "3", root / "W_enc_3.safetensors"):
        described = describe(Asked(4, str(path)), MODEL)
        assert (described.point, described.target) == ((4, "before_mlp"), None)
        found = Encoder(described, load(described), PANEL).encode(STATES)
        expected = torch.relu(STATES @ own["W_enc_3"].T + own["b_enc_3"])
        assert float((found - expected).abs().max()) <= 1e-5 * float(expected.max())


def test_a_layer_of_a_cross_layer_transcoder_of_gemma_scope_2_is_an_encoder_alone(tmp_path: Path) -> None:
    folder = tmp_path / "gemma-scope-2-1b-pt" / "clt" / "width_16k_l0_big"
    folder.mkdir(parents=True)
    own = drawn(**(BASIC | {"w_dec": (FEATURES, 4, WIDTH)}), threshold=(FEATURES,))
    save_file(own, folder / "params_layer_1.safetensors")
    path = folder / "params_layer_1.safetensors"
    described = describe(Asked(2, str(path)), MODEL)
    assert (described.point, described.target, described.format) == ((2, "mlp_input"), None, "gemma scope 2")
    found = Encoder(described, load(described), PANEL).encode(STATES)
    expected = jump(STATES @ own["w_enc"] + own["b_enc"], own["threshold"])
    assert float((found - expected).abs().max()) <= 1e-5 * float(expected.max())
    (folder / "config.json").write_text("{")
    elsewhere = tmp_path / "params.safetensors"
    save_file(drawn(**BASIC, threshold=(FEATURES,)), elsewhere)
    with pytest.raises(InputError, match="a folder of Gemma Scope 2 says in its path what it was trained on"):
        describe(Asked(2, str(tmp_path)), MODEL)


def test_a_listed_dictionary_is_downloaded_by_its_names(hub: tuple[dict[str, str], Path, list[str]]) -> None:
    variables, root, asked = hub
    path, layer, _ = transcoder_of_gemma_scope_2(root)
    (root / path / "huge.bin").write_bytes(b"x")
    release = "gemma-scope-2-4b-pt-transcoders-all/layer_0_width_16k_l0_big_affine"
    missing = path.replace("layer_0", "layer_12")
    found = read_by_name(variables, f"{layer}={path}", f"{layer}={release}", f"{layer}={missing}")
    assert found[:2] == [[FEATURES, [WIDTH, FEATURES]]] * 2
    assert "sae-lens cannot read it" in found[2]
    assert not any("huge.bin" in name for name in asked), "more was downloaded than the dictionary"


def test_what_is_listed_and_not_a_function_of_one_token_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "temporalSAEs" / "gemma-2-2B" / "layer_12" / "temporal"
    path.mkdir(parents=True)
    with pytest.raises(InputError, match=r"sae-lens cannot read it .*conf.yaml is missing"):
        describe(Asked(13, str(path)), MODEL)
    assert find_listed("nobody/nothing/here") is None
