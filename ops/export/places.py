"""The names that other programs use for the place at which a run's units are read; they count blocks from 0."""

from collections.abc import Iterable
from typing import Any

from ops.model.names import SAMPLE_NAME, model_title, original_name

# For each site or place of ours: its name in a set of sources, and the suffix after the block in a module's name.
_PLACES = {
    "hidden": ("hidden", ""),
    "residual": ("res", ""),
    "mlp": ("mlp", ".mlp.neurons"),
    "attention": ("att", ".attention"),
    "heads": ("att-heads", ".attention.heads"),
    "before_mlp": ("res-mid", ".attention.residual"),
    "mlp_normalized": ("mlp-norm", ".mlp.normalized"),
    "mlp_input": ("mlp-in", ".mlp.input"),
    "mlp_output": ("mlp-out", ".mlp"),
}


def places_of(topk: dict[str, Any], layers: Iterable[int]) -> dict[int, str]:
    """Return for each layer the site, or the place of a dictionary, at which its units are read.

    `topk` is its entry in run.json. Layers count from 1; 0 is the embeddings.
    """
    dictionaries = {row["layer"]: row["place"] for row in topk["counts"].get("dictionaries") or []}
    return {layer: dictionaries.get(layer, topk["identity"]["site"]) for layer in layers}


def source_name(name: str, place: str, layer: int, pole: str) -> tuple[str, str]:
    """Return the names of a source and of its set in Neuronpedia.

    >>> source_name("atlas", "hidden", 4, "bottom")
    ('3-atlas-hidden-bottom', 'atlas-hidden-bottom')
    >>> source_name("atlas", "residual", 0, "top")
    ('e-atlas-res', 'atlas-res')
    """
    group = "-".join([name, _PLACES[place][0], *(["bottom"] if pole == "bottom" else [])])
    return f"{layer - 1 if layer else 'e'}-{group}", group


def module_name(place: str, layer: int, pole: str) -> str:
    """Return the name of the folder for a layer and pole in a cache of delphi.

    >>> module_name("hidden", 4, "top"), module_name("mlp", 1, "bottom"), module_name("residual", 0, "top")
    ('layers.3', 'layers.0.mlp.neurons.bottom', 'embed_tokens')
    """
    block = f"layers.{layer - 1}" if layer else "embed_tokens"
    return f"{block}{_PLACES[place][1]}{'.bottom' if pole == 'bottom' else ''}"


def hub_name(model: dict[str, Any]) -> str:
    """Return a model's name for a program that loads its tokenizer from the hub, without a path of this machine.

    >>> hub_name({"name": "sample", "fingerprint": "9a4b"}), hub_name({"name": "/home/me/small", "fingerprint": "7d"})
    ('sentence-transformers/all-MiniLM-L6-v2', 'small')
    """
    title = model_title(original_name(model["name"]), model["fingerprint"])
    return f"sentence-transformers/{title}" if title == SAMPLE_NAME else title
