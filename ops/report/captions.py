"""The captions of figures."""

from pathlib import Path

_CAPTIONS = {
    "transfer": "How far a rule learned in one data set holds in another, next to halves of one and permuted data sets",
    "illusion": "How much less cards from other data sets gain than a data set's own card, by layer, next to controls",
    "areas": "How well units separate the groups by layer, next to rotated axes and permuted labels",
    "probes": "How well the best units of a layer tell the groups apart, next to rotated axes, the layer and words",
    "controls": "How much of an activation is explained beyond length and source, next to random axes",
    "peaked": "How peaked the outputs of units are by layer, next to those of random directions",
    "psi_by_cluster": "How far each head stretches the vectors of each cluster of tokens",
    "top_cluster_types": "The types of the clusters that each head stretches most",
    "embedding_plane": "Word embeddings and their clusters in the plane",
    "word_position_cosines": "Cosines between word embeddings and position embeddings",
    "position_attention": "How attention depends on positions alone",
    "static_contextual": "psi of a token by itself and in context",
    "ratios": "How much of a token's new vector comes from other tokens, by layer",
    "lengths": "How the mixing ratio changes with the length of a sentence",
    "norms_attention": "The norms that attention mixes and preserves, by layer",
    "norms_residual": "The norms of the residual and of what is added to it, by layer",
    "maps": "Neurons in the plane by their activations, in groups",
    "quality": "How distinct and how stable groups are, next to shuffled activations",
    "units": "Properties of the same units in every layer",
    "distances": "How similar layers are, by the distance between them",
    "nearest": "How similar the nearest neuron is, next to chance",
    "curves": "How diverse the winners of neurons are, next to uniform sentences",
    "distributions": "How scores are distributed in this run and in its control, by layer",
    "universal": "Share of units that have a match in the other run, next to rotated layers",
    "shares": "Share above the 95 % quantile of the control, by layer",
    "shift": "The distance between the two models, by text set",
    "effects": "How far neurons move others when they are set to their mean",
    "training": "Loss and accuracy by epoch",
    "cosine_by_layer": "How similar states remain without positions, by layer",
    "cosine_by_position": "How similar states remain without positions, by position",
    "norms": "Norms of states by layer",
    "perplexity": "Perplexity of each variant of the positions",
    "perplexity_by_position": "Perplexity by position",
    "labels": "How well a label is predicted from states of each variant",
    "analogy_accuracy": "Share of analogies answered, by space",
    "next_sentence_auc": "How often the next sentence is nearer than another, by layer",
    "masked_word_rank": "How the model ranks the word at a masked position",
    "translation_rank": "How high a sentence's translation ranks, by layer",
    "code_plane": "Short codes of sentences in the plane",
    "confusion_accuracy": "How often the right one of confused words is chosen",
}


def caption(name: str) -> str:
    """Return the caption of a figure; for a figure that is not known here, it is derived from the file name.

    >>> caption("mixing/figures/lengths.svg"), caption("compare/figures/groups/of_mine.svg")
    ('How the mixing ratio changes with the length of a sentence', 'Of mine')
    """
    stem = Path(name).stem
    if stem in _CAPTIONS:
        return _CAPTIONS[stem]
    if stem.startswith("offsets_"):
        return f"Offsets between the words of a pair: {stem.removeprefix('offsets_').replace('_', ' ')}"
    words = stem.replace("_", " ")
    return words[:1].upper() + words[1:]
