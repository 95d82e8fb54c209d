"""Our activations next to those of sae-lens on the same states: `make interop`, which installs it."""

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ops.dictionaries import saelens
from ops.dictionaries.description import Asked
from ops.dictionaries.encoder import PANEL, Encoder
from tests.unit.dictionaries.made import weights, write

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(importlib.util.find_spec("sae_lens") is None, reason="sae-lens is not installed"),
]
WIDTH, FEATURES = 24, 1500
STATES = torch.from_numpy((np.random.default_rng(4).normal(size=(50, WIDTH)) * 2).astype(np.float32))
HOOK = "blocks.1.hook_resid_post"
CASES: list[tuple[str, dict[str, Any]]] = [
    ("standard", {}),
    ("standard", {"normalize_activations": "constant_norm_rescale", "apply_b_dec_to_input": False}),
    ("standard", {"normalize_activations": "layer_norm"}),
    ("gated", {}),
    ("gated", {"normalize_activations": "layer_norm"}),
    ("jumprelu", {}),
    ("jumprelu", {"normalize_activations": "constant_norm_rescale"}),
    ("topk", {"k": 40}),
    ("topk", {"k": 40, "rescale_acts_by_decoder_norm": True}),
    ("topk", {"k": 40, "normalize_activations": "layer_norm", "apply_b_dec_to_input": False}),
    ("transcoder", {}),
    ("jumprelu_transcoder", {}),
]


def loaded(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sae_lens import SAE

        return SAE.load_from_disk(folder)


def ours(folder: Path) -> Encoder:
    described = saelens.describe(Asked(2, str(folder)), folder)
    return Encoder(described, saelens.load(described, folder), PANEL)


@pytest.mark.parametrize(("architecture", "more"), CASES, ids=str)
def test_a_dictionary_of_ours_encodes_as_sae_lens_does(tmp_path: Path, architecture: str, more: dict[str, Any]) -> None:
    transcodes = architecture.endswith("transcoder")
    if transcodes:
        more = more | {"metadata": {"hook_name_out": "blocks.1.hook_mlp_out"}}
    hook = "blocks.1.mlp.hook_in" if transcodes else HOOK
    folder = write(tmp_path, architecture, weights(architecture, WIDTH, FEATURES), hook, **more)
    theirs, found = loaded(folder), ours(folder)
    with torch.no_grad():
        right = theirs.encode(STATES)
        made = found.encode(STATES)
        assert float((made - right).abs().max()) <= 1e-5 * float(right.max())
        assert 0 < float((right > 0).float().mean()) < 0.9
        decoded = theirs.decode(right)
        assert float((found.reconstruct(STATES) - decoded).abs().max()) <= 1e-5 * float(decoded.abs().max())


@pytest.mark.parametrize("kind", ["standard", "gated", "jumprelu", "topk", "batchtopk", "matryoshka_batchtopk"])
def test_a_dictionary_that_sae_lens_saves_for_inference_is_read(tmp_path: Path, kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import sae_lens

        names = {
            "batchtopk": "BatchTopK",
            "topk": "TopK",
            "jumprelu": "JumpReLU",
            "matryoshka_batchtopk": "MatryoshkaBatchTopK",
        }
        name = names.get(kind, kind.title())
        sizes: dict[str, Any] = {"matryoshka_widths": [300, FEATURES]} if kind.startswith("matryoshka") else {}
        cfg = getattr(sae_lens, f"{name}TrainingSAEConfig")(d_in=WIDTH, d_sae=FEATURES, **sizes)
        cfg.metadata.hook_name, cfg.metadata.model_name = HOOK, "m"
        trained = getattr(sae_lens, f"{name}TrainingSAE")(cfg)
        for weight in trained.parameters():
            torch.nn.init.normal_(weight, std=0.3, generator=torch.Generator().manual_seed(1))
        trained.save_inference_model(tmp_path)
    found = ours(tmp_path)
    assert found.description.kind == ("jumprelu" if kind.endswith("batchtopk") else kind)
    with torch.no_grad():
        right = loaded(tmp_path).encode(STATES)
    assert float((found.encode(STATES) - right).abs().max()) <= 1e-5 * max(float(right.max()), 1e-6)
