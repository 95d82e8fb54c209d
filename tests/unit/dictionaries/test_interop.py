"""Our activations next to those of sae-lens on the same states: `make interop`, which installs it."""

import importlib.util
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from ops.dictionaries import saelens
from ops.dictionaries.conversion import SAELENS, convert, program_of
from ops.dictionaries.description import Asked
from ops.dictionaries.encoder import PANEL, Encoder
from ops.errors import InputError
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
    ("standard", {"normalize_activations": "constant_norm_rescale", "apply_b_dec_to_input": False}),
    ("standard", {}),
    ("gated", {"normalize_activations": "layer_norm"}),
    ("jumprelu", {"normalize_activations": "constant_norm_rescale"}),
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
    described = saelens.describe(Asked(2, str(folder)), folder, program_of(folder) or SAELENS)
    return Encoder(described, saelens.load(described, folder, program_of(folder) or SAELENS), PANEL)


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


@pytest.mark.parametrize("kind", ["standard", "gated", "jumprelu", "topk", "matryoshka_batchtopk"])
def test_a_dictionary_that_sae_lens_saves_for_inference_is_read(tmp_path: Path, kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import sae_lens

        names = {"topk": "TopK", "jumprelu": "JumpReLU", "matryoshka_batchtopk": "MatryoshkaBatchTopK"}
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


def sparsify_folder(folder: Path, **more: Any) -> tuple[Path, dict[str, torch.Tensor]]:
    """A dictionary as sparsify's `save_to_disk` writes it: `W_dec` is `[features, width]`."""
    rng = np.random.default_rng(5)
    made = {"encoder.weight": (FEATURES, WIDTH), "encoder.bias": (FEATURES,), "W_dec": (FEATURES, WIDTH)}
    tensors = {
        name: torch.from_numpy((rng.normal(size=shape) * 0.5).astype(np.float32))
        for name, shape in {**made, "b_dec": (WIDTH,)}.items()
    }
    folder.mkdir(parents=True)
    save_file(tensors, folder / "sae.safetensors")
    cfg = {"activation": "topk", "expansion_factor": 32, "normalize_decoder": True, "num_latents": FEATURES, "k": 20}
    (folder / "cfg.json").write_text(json.dumps({**cfg, "d_in": WIDTH, **more}))
    return folder, tensors


def test_a_dictionary_of_sparsify_encodes_as_its_own_code_does(tmp_path: Path) -> None:
    """Its `encode` subtracts the decoder's bias, applies relu, and takes the k largest of a token."""
    folder, own = sparsify_folder(tmp_path / "layers.1")
    found = ours(folder)
    assert (found.description.format, found.description.point) == ("sparsify", (2, "residual"))
    before = torch.relu((STATES - own["b_dec"]) @ own["encoder.weight"].T + own["encoder.bias"])
    values, places = before.topk(20, dim=-1, sorted=False)
    right = torch.zeros_like(before).scatter_(1, places, values)
    made = found.encode(STATES)
    assert float((made - right).abs().max()) <= 1e-5 * float(right.max())
    decoded = right @ own["W_dec"] + own["b_dec"]
    assert float((found.reconstruct(STATES) - decoded).abs().max()) <= 1e-5 * float(decoded.abs().max())


def test_a_folder_of_sparsify_names_what_it_reads(tmp_path: Path) -> None:
    for name, layer, place in (("layers.1.mlp", 2, "mlp_output"), ("embed_tokens", 0, "residual")):
        folder, _ = sparsify_folder(tmp_path / name)
        assert saelens.describe(Asked(layer, str(folder)), folder, program_of(folder) or SAELENS).point == (
            layer,
            place,
        )


def test_what_sae_lens_would_read_wrongly_is_refused(tmp_path: Path) -> None:
    for more in ({"transcode": True}, {"activation": "groupmax"}, {"skip_connection": True}):
        folder, _ = sparsify_folder(tmp_path / next(iter(more)) / "layers.1", **more)
        with pytest.raises(InputError, match="sparsify"):
            saelens.describe(Asked(2, str(folder)), folder, program_of(folder) or SAELENS)


def right_by_sae_lens(described: Any, folder: Path) -> Any:
    """The dictionary as sae-lens makes it of the configuration and the tensors that it was given."""
    from sae_lens import SAE

    program = program_of(folder)
    assert program is not None
    found = convert(described.asked, folder, program)
    made = SAE.from_dict(found.cfg)
    made.load_state_dict({name: found.tensors.read(name) for name in found.tensors.shapes})
    return made


def test_a_folder_of_gemma_scope_is_a_jumprelu_at_the_place_of_its_path(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    folder = tmp_path / "gemma-scope-2b-pt-mlp" / "layer_1" / "width_16k" / "average_l0_71"
    folder.mkdir(parents=True)
    shapes = {"w_enc": (WIDTH, FEATURES), "w_dec": (FEATURES, WIDTH), "b_enc": (FEATURES,), "b_dec": (WIDTH,)}
    own = {name: (rng.normal(size=shape) * 0.5).astype(np.float32) for name, shape in shapes.items()}
    own["threshold"] = np.abs(rng.normal(size=FEATURES)).astype(np.float32)
    np.savez(folder / "params.npz", **own)
    found = ours(folder)
    assert (found.description.format, found.description.point) == ("gemma scope", (2, "mlp_output"))
    before = STATES.numpy() @ own["w_enc"] + own["b_enc"]
    right = np.where(before > own["threshold"], np.maximum(before, 0), 0)
    made = found.encode(STATES).numpy()
    assert np.abs(made - right).max() <= 1e-5 * right.max()
    theirs = right_by_sae_lens(found.description, folder).encode(STATES).detach().numpy()
    assert np.abs(made - theirs).max() <= 1e-5 * right.max()
    elsewhere = tmp_path / "mine"
    folder.rename(elsewhere)
    with pytest.raises(InputError, match="says in its path what it was trained on"):
        saelens.describe(Asked(2, str(elsewhere)), elsewhere, program_of(elsewhere) or SAELENS)


def test_a_folder_of_llama_scope_has_its_input_s_factor_in_the_weights(tmp_path: Path) -> None:
    """A state is multiplied by sqrt(d) / the norm of training; sae-lens scales the one threshold, too."""
    rng = np.random.default_rng(7)
    folder = tmp_path / "Llama3_1-8B-Base-L1R-8x"
    (folder / "checkpoints").mkdir(parents=True)
    shapes = {"encoder.weight": (FEATURES, WIDTH), "encoder.bias": (FEATURES,), "decoder.weight": (WIDTH, FEATURES)}
    tensors = {
        name: torch.from_numpy((rng.normal(size=shape) * 0.5).astype(np.float32))
        for name, shape in {**shapes, "decoder.bias": (WIDTH,)}.items()
    }
    save_file(tensors, folder / "checkpoints" / "final.safetensors")
    said = {"d_model": WIDTH, "d_sae": FEATURES, "jump_relu_threshold": 0.4, "hook_point_in": HOOK}
    norms = {"dataset_average_activation_norm": {"in": 11.0, "out": 11.0}}
    (folder / "hyperparams.json").write_text(json.dumps(said | norms))
    found = ours(folder)
    factor = WIDTH**0.5 / 11.0
    before = STATES @ tensors["encoder.weight"].T * factor + tensors["encoder.bias"]
    threshold = 0.4 * factor
    right = torch.where(before > threshold, before, torch.zeros(()))
    made = found.encode(STATES)
    assert float((made - right).abs().max()) <= 1e-5 * float(right.max())
    theirs = right_by_sae_lens(found.description, folder).encode(STATES)
    assert float((made - theirs).abs().max()) <= 1e-5 * float(right.max())
