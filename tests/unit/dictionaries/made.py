"""Dictionaries that tests write, in SAELens's format, and their features by the formulas of its documentation."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

Weights = dict[str, np.ndarray]
ARCHITECTURES = ("standard", "gated", "jumprelu", "topk")


def weights(architecture: str, width: int, features: int, out: int | None = None, seed: int = 0) -> Weights:
    """Random weights, as SAELens names them."""
    rng = np.random.default_rng(seed)

    def draw(*shape: int, scale: float = 0.5) -> np.ndarray:
        return (rng.normal(size=shape) * scale).astype(np.float32)

    found = {"W_enc": draw(width, features), "W_dec": draw(features, out or width), "b_dec": draw(out or width)}
    if architecture == "gated":
        return found | {"b_gate": draw(features), "b_mag": draw(features), "r_mag": draw(features)}
    if architecture.startswith("jumprelu"):
        found["threshold"] = np.abs(draw(features, scale=1.0))
    return found | {"b_enc": draw(features)}


def configuration(architecture: str, found: Weights, hook: str, **more: Any) -> dict[str, Any]:
    """`cfg.json` as SAELens 6 writes it."""
    width, features = found["W_enc"].shape
    said = {"model_name": "m", "hook_name": hook, "sae_lens_version": "6.54.12", **more.pop("metadata", {})}
    own: dict[str, Any] = {"k": 5} if architecture == "topk" else {}
    if architecture.endswith("transcoder"):
        own = {"d_out": found["b_dec"].shape[0], "apply_b_dec_to_input": False}
    return {
        "architecture": architecture, "d_in": width, "d_sae": features, "dtype": "float32", "device": "cpu",
        "apply_b_dec_to_input": True, "normalize_activations": "none", "reshape_activations": "none",
        **own, **more, "metadata": said,
    }  # fmt: skip


def write(folder: Path, architecture: str, found: Weights, hook: str, **more: Any) -> Path:
    """Write a dictionary and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(found, folder / "sae_weights.safetensors")
    (folder / "cfg.json").write_text(json.dumps(configuration(architecture, found, hook, **more)))
    return folder


def normalised(x: np.ndarray, how: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States as the encoder takes them, and by what they are multiplied and moved to be put back."""
    if how == "constant_norm_rescale":
        scale = np.linalg.norm(x, axis=1, keepdims=True) / np.sqrt(x.shape[1])
        return x / scale, scale, np.zeros(1)
    if how == "layer_norm":
        mean, std = x.mean(1, keepdims=True), x.std(1, ddof=1, keepdims=True)
        return (x - mean) / (std + 1e-5), std, mean
    return x, np.ones(1), np.zeros(1)


def encode(architecture: str, found: Weights, states: np.ndarray, cfg: dict[str, Any]) -> np.ndarray:
    """Activations of all features in float64, `[tokens, features]`, one token and one feature like another."""
    w = {name: values.astype(np.float64) for name, values in found.items()}
    x, _, _ = normalised(states.astype(np.float64), cfg["normalize_activations"])
    if cfg["apply_b_dec_to_input"]:
        x = x - w["b_dec"]
    products = x @ w["W_enc"]
    if architecture == "gated":
        magnitude = np.maximum(x @ (w["W_enc"] * np.exp(w["r_mag"])) + w["b_mag"], 0)
        return np.where(products + w["b_gate"] > 0, magnitude, 0.0)
    products = products + w["b_enc"]
    if architecture.startswith("jumprelu"):
        return np.where(products > w["threshold"], np.maximum(products, 0), 0.0)
    if architecture == "topk":
        if cfg.get("rescale_acts_by_decoder_norm"):
            products = products * np.linalg.norm(w["W_dec"], axis=1)
        kept = np.zeros_like(products)
        for token, row in enumerate(products):
            for feature in sorted(range(len(row)), key=lambda f: -row[f])[: cfg["k"]]:
                kept[token, feature] = row[feature]
        products = kept
    return np.maximum(products, 0)


def decode(found: Weights, activations: np.ndarray, states: np.ndarray, cfg: dict[str, Any]) -> np.ndarray:
    """The reconstruction of an autoencoder's states, `[tokens, width]`."""
    rows = found["W_dec"].astype(np.float64)
    if cfg.get("rescale_acts_by_decoder_norm"):
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    _, scale, shift = normalised(states.astype(np.float64), cfg["normalize_activations"])
    return (activations @ rows + found["b_dec"]) * scale + shift
