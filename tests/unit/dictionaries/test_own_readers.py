import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import save_file

from ops.dictionaries.description import Asked, Description
from ops.dictionaries.encoder import PANEL, Encoder
from ops.dictionaries.read import describe, load
from ops.dictionaries.reconstruction import Explained
from ops.errors import InputError
from tests.unit.small_models import WIDTH, facts

MODEL = facts("gpt2")
FOLDER = "SAE-Res-Qwen3-1.7B-Base-W32K-L0_3"


def made(path: Path, layer: int = 2) -> tuple[Description, Encoder]:
    described = describe(Asked(layer, str(path)), MODEL)
    return described, Encoder(described, load(described), PANEL)


def qwen_scope(folder: Path, features: int) -> tuple[Path, dict[str, torch.Tensor]]:
    """A file as Qwen-Scope saves it, whose features are orthonormal axes as far as there are enough."""
    rng = np.random.default_rng(3)
    axes = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0][:, : min(features, WIDTH)]
    rest = rng.normal(size=(WIDTH, max(features - WIDTH, 0))) * 1e-3
    decoder = torch.from_numpy(np.concatenate([axes, rest], 1).astype(np.float32))
    own = {
        "W_enc": decoder.T.contiguous(), "b_enc": torch.full((features,), 0.01),
        "W_dec": decoder, "b_dec": torch.from_numpy(rng.normal(size=WIDTH).astype(np.float32) * 0.01),
    }  # fmt: skip
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    torch.save(own, folder / FOLDER / "layer1.sae.pt")
    return folder / FOLDER / "layer1.sae.pt", own


@pytest.mark.parametrize("features", [WIDTH - 5, WIDTH, 3 * WIDTH])
def test_a_file_of_qwen_scope_keeps_k_features_and_reconstructs(tmp_path: Path, features: int) -> None:
    """Where width equals features, only the reconstruction shows that no matrix was transposed."""
    path, own = qwen_scope(tmp_path, features)
    described, encoder = made(path)
    assert (described.kind, described.k, described.point) == ("topk", 3, (2, "residual"))
    assert (described.format, described.model) == ("qwen-scope", "Qwen/Qwen3-1.7B-Base")
    picked = np.random.default_rng(1).integers(0, min(features, WIDTH), (200, 3))
    states = own["W_dec"][:, picked].sum(-1).T * 2
    before = states @ own["W_enc"].T + own["b_enc"]
    values, places = before.topk(3)
    right = torch.zeros_like(before).scatter_(1, places, values.relu())
    torch.testing.assert_close(encoder.encode(states), right, atol=1e-5, rtol=0)
    explained = Explained(WIDTH)
    explained.add(states, encoder.reconstruct(states))
    share = explained.share()
    assert share is not None
    assert share > 0.9


def test_the_fingerprint_is_also_of_what_the_folder_s_name_says(tmp_path: Path) -> None:
    path, _ = qwen_scope(tmp_path, 30)
    first = describe(Asked(2, str(path)), MODEL)
    path.parent.rename(tmp_path / FOLDER.replace("L0_3", "L0_5"))
    other = describe(Asked(2, str(path).replace("L0_3", "L0_5")), MODEL)
    assert (first.k, other.k) == (3, 5)
    assert first.fingerprint != other.fingerprint


class Boom:
    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('code ran')",)


def test_what_is_wrong_with_a_file_of_qwen_scope_is_one_line(tmp_path: Path) -> None:
    path, own = qwen_scope(tmp_path, 30)
    elsewhere = tmp_path / "layer1.sae.pt"
    elsewhere.write_bytes(path.read_bytes())
    with pytest.raises(InputError, match="says in its folder how many features are active"):
        describe(Asked(2, str(elsewhere)), MODEL)
    with pytest.raises(InputError, match="not layer 3; give it as 2=PATH"):
        describe(Asked(3, str(path)), MODEL)
    with pytest.raises(InputError, match="takes states of 24 values, and those of m have 25"):
        describe(Asked(2, str(path)), facts("gpt2", width=WIDTH + 1))
    random = facts("gpt2", name="random:m", seed=0)
    with pytest.raises(InputError, match="was trained on another model's states"):
        describe(Asked(2, str(path)), random)
    wrong: list[tuple[Any, str]] = [
        (own | {"W_dec": own["W_dec"].T.contiguous()}, r"expected W_enc \[features, width\]"),
        ({name: own[name] for name in ("W_enc", "W_dec", "b_dec")}, "lacks one of the tensors W_enc, b_enc"),
        (own["W_enc"], "lacks one of the tensors"),
        (own | {"b_enc": own["b_enc"] * torch.nan}, "its weights are not all finite"),
    ]
    for saved, said in wrong:
        torch.save(saved, path)
        with pytest.raises(InputError, match=said):
            describe(Asked(2, str(path)), MODEL)
    for content in (pickle.dumps(Boom()), b"cut", b""):
        path.write_bytes(content)
        with pytest.raises(InputError, match="is not a plain dictionary of tensors, or is cut off"):
            describe(Asked(2, str(path)), MODEL)


def cross_layer(folder: Path, hook: str = "hook_resid_mid") -> tuple[Path, dict[str, torch.Tensor]]:
    rng = np.random.default_rng(2)
    shapes = {"W_enc_1": (40, WIDTH), "b_enc_1": (40,), "b_dec_1": (WIDTH,)}
    own = {name: torch.from_numpy(rng.normal(size=shape).astype(np.float32)) for name, shape in shapes.items()}
    save_file(own, folder / "W_enc_1.safetensors")
    said = {"model_name": "m", "feature_input_hook": hook, "feature_output_hook": "hook_mlp_out"}
    (folder / "config.yaml").write_text(yaml.safe_dump(said))
    return folder / "W_enc_1.safetensors", own


def test_a_layer_of_a_cross_layer_transcoder_is_an_encoder_alone(tmp_path: Path) -> None:
    path, own = cross_layer(tmp_path)
    described, encoder = made(path)
    assert (described.kind, described.point, described.target) == ("standard", (2, "before_mlp"), None)
    states = torch.from_numpy(np.random.default_rng(0).normal(size=(30, WIDTH)).astype(np.float32))
    right = torch.relu(states @ own["W_enc_1"].T + own["b_enc_1"])
    torch.testing.assert_close(encoder.encode(states), right, atol=1e-5, rtol=1e-5)
    cross_layer(tmp_path, "blocks.{layer}.hook_resid_pre")
    assert made(path, 1)[0].point == (1, "residual")


def test_what_is_wrong_with_a_cross_layer_transcoder_is_one_line(tmp_path: Path) -> None:
    path, own = cross_layer(tmp_path, "hook_mlp_in")
    with pytest.raises(InputError, match=r"reads blocks\.1\.hook_mlp_in, which is not read here"):
        describe(Asked(2, str(path)), MODEL)
    (tmp_path / "config.yaml").unlink()
    with pytest.raises(InputError, match="a cross-layer transcoder needs config"):
        describe(Asked(2, str(path)), MODEL)
    cross_layer(tmp_path)
    for changed, said in (
        ({"W_enc_1": own["W_enc_1"]}, r"lacks W_enc_1 \[features, width\] or b_enc_1"),
        (own | {"threshold_1": torch.ones(40)}, "has a threshold, which is not computed"),
    ):
        save_file(changed, path)
        with pytest.raises(InputError, match=said):
            describe(Asked(2, str(path)), MODEL)
