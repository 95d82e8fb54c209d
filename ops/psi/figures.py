"""The figures of a run's psi tables, in `psi/figures/`."""

import numpy as np
import pyarrow.compute as pc
from matplotlib.figure import Figure
from torch import nn

from ops.arrays import Float32s
from ops.model.direction import is_decoder
from ops.model.head_projections import head_projections, word_embeddings
from ops.model.load import ModelFacts
from ops.psi.position_geometry import cosine, cosine_histogram, position_attention, position_table, principal_plane
from ops.psi.psi_plots import (
    draw_by_cluster,
    draw_cosines,
    draw_plane,
    draw_position_attention,
    draw_static_contextual,
    draw_top_types,
)
from ops.psi.token_types import TYPES
from ops.storage.store import Store
from ops.storage.tables import read_table

FOLDER = "psi/figures"
TOP_CLUSTERS, COSINE_BINS, POSITIONS, LEAST_OCCURRENCES = 3, 1_000, 64, 10
_FIRST_TOKENS = ("[CLS]", "<s>")


def static_figures(store: Store, model: nn.Module, facts: ModelFacts) -> dict[str, Figure]:
    """Return the figures of what the word and position embeddings alone show; a model may lack the latter."""
    clusters = read_table(store, "psi/clusters", columns=["psi_qkv", "type"])
    heads, name = head_projections(model, facts), facts.title
    shape = (facts.layers, heads[0].heads, -1)
    psi = clusters["psi_qkv"].to_numpy().astype(np.float64).reshape(shape)
    types = np.array([TYPES.index(t) for t in clusters["type"].to_pylist()]).reshape(shape)
    figures = {
        "psi_by_cluster": draw_by_cluster(psi, name),
        "top_cluster_types": draw_top_types(types[:, :, :TOP_CLUSTERS], name),
    }
    vocabulary = read_table(store, "psi/vocabulary", columns=["token", "type"])
    words, positions = word_embeddings(model, facts).numpy(), position_table(model)
    if positions is not None:
        order, names, causal = positions.numpy(), vocabulary["token"].to_pylist(), is_decoder(facts)
        plane = principal_plane(np.concatenate([words, order]))
        first = {f"{t} with position 0": cosine(words[names.index(t)], order[0]) for t in _FIRST_TOKENS if t in names}
        marked = {name: value for name, value in first.items() if np.isfinite(value)}
        attention = position_attention(model, heads[0], positions[:POSITIONS], causal)
        figures |= {
            "embedding_plane": draw_plane(plane, vocabulary["type"].to_pylist(), name),
            "word_position_cosines": draw_cosines(cosine_histogram(words, order, COSINE_BINS), marked, name),
            "position_attention": draw_position_attention(attention, causal, name),
        }
    return figures


def contextual_figure(store: Store, layers: int, model: str) -> Figure:
    """Draw psi of the word embeddings against that of real inputs."""
    pairs = [_layer_pairs(store, layer) for layer in range(1, layers + 1)]
    return draw_static_contextual(pairs, LEAST_OCCURRENCES, model)


def _layer_pairs(store: Store, layer: int) -> tuple[Float32s, Float32s]:
    """Return static and contextual psi_qkv for every head of a layer and every token that occurs often enough."""
    here = pc.field("layer") == layer
    often = here & (pc.field("n") >= LEAST_OCCURRENCES)
    own = read_table(store, "psi/contextual", often, ["head", "token_id", "psi_qkv_mean"])
    alone = read_table(store, "psi/tokens", here, ["head", "token_id", "psi_qkv"])
    tokens = int(pc.max(alone["token_id"]).as_py()) + 1
    static = alone["psi_qkv"].to_numpy()[own["head"].to_numpy().astype(np.int64) * tokens + own["token_id"].to_numpy()]
    contextual = own["psi_qkv_mean"].to_numpy()
    known = np.isfinite(static) & (static > 0) & (contextual > 0)
    return static[known], contextual[known]
