"""What is written by hand about side jobs: titles, what they measure, captions, and a finding next to its control.

The rest of a side job's page follows from its tables and their schema (`ops.report.side_pages`).
"""

from collections.abc import Callable, Container, Mapping
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import NamedTuple

import pyarrow.compute as pc

from ops.facts.rows import Row, grouped
from ops.facts.text import short_percent
from ops.facts.verdicts import said_of_explanations
from ops.outputs.control_rows import said_peaked
from ops.storage.store import Store
from ops.storage.tables import read_rows, read_table
from ops.topk.silent import read_heard

Finding = Callable[[Store], str]


def _explain(store: Store) -> str:
    rows = read_heard(store, "explanations", None, ["layer", "unit", "verdict"])
    return said_of_explanations(rows["verdict"].to_pylist())


def _psi(store: Store) -> str:
    rows = read_rows(store, "psi/clusters", (pc.field("rank") == 1) & pc.field("z_qkv").is_valid())
    if not rows:
        return ""
    best = max(rows, key=lambda row: row["z_qkv"])
    tokens = ", ".join(f"“{token}”" for token in best["tokens"][:4])
    return (
        f"Head {best['head']} of layer {best['layer']} picks out one group of tokens most clearly: {tokens} "
        f"({best['type']}), {best['z_qkv']:.1f} standard deviations from random groups of as many tokens."
    )


def _mixing(store: Store) -> str:
    rows = read_rows(store, "mixing/ratios", pc.field("token_class") == "all")
    shares = {
        stage: short_percent(fmean(row["mean"] for row in of_stage))
        for (stage,), of_stage in grouped(rows, ("stage",)).items()
    }
    # A model with LayerNorm before attention has no stage after it.
    said = {"attn_res_ln": "after the residual and LayerNorm", "attn_res": "with the residual alone"}
    parts = [f"{shares[stage]} {words}" for stage, words in said.items() if stage in shares]
    return (
        f"Of a token's new vector, attention takes from other tokens {', '.join(parts)}, and {shares['attn']} without "
        "it (means over layers)."
    )


def _positions(store: Store) -> str:
    rows = read_rows(store, "positions/similarity", pc.field("variant") == "none")
    last = max((row["layer"] for row in rows), default=None)
    cosines = {row["reference"]: row["mean"] for row in rows if row["layer"] == last}
    if not {"default", "random_pair"} <= cosines.keys():
        return ""
    return (
        "Without position embeddings, a token's state in the last layer has a mean cosine of "
        f"{cosines['default']:.2f} with its usual state; two random tokens have {cosines['random_pair']:.2f}."
    )


def _analogies(store: Store) -> str:
    answered = (pc.field("category") == "all") & pc.field("excluded") & pc.field("accuracy").is_valid()
    rows = read_rows(store, "meaning/analogies", answered)
    if not rows:
        return ""
    best = max((row for row in rows if row["rule"] != "nearest_c"), key=lambda row: row["accuracy"])
    (nearest,) = (row for row in rows if (row["rule"], row["space"]) == ("nearest_c", best["space"]))
    return (
        f"The space {best['space']} answers most analogies: {short_percent(best['accuracy'])} of "
        f"{best['n_known']:,} questions whose words it knows{_interval(best)}; the word nearest to the third one is "
        f"the answer to {short_percent(nearest['accuracy'])}."
    )


def _next_sentences(store: Store) -> str:
    tested = (pc.field("against") == "same_document") & (pc.field("space") != "shuffled")
    rows = read_rows(store, "meaning/sentences", tested)
    if not rows:
        return ""
    best = max(rows, key=lambda row: row["auc"])
    return (
        f"The next sentence is nearer than another one of its document in {short_percent(best['auc'])} of pairs by "
        f"{best['space']}{_interval(best)}; by chance 50 %."
    )


def _translations(store: Store) -> str:
    rows = read_table(store, "meaning/translations").to_pylist()
    if not rows:
        return ""
    best = max(rows, key=lambda row: row["reciprocal_rank"])
    return (
        f"A sentence's translation ranks highest by {best['space']}: the mean reciprocal rank from {best['language']} "
        f"to {best['other']} is {best['reciprocal_rank']:.2f}, by chance {best['chance']:.2g}."
    )


def _outputs(store: Store) -> str:
    return next(iter(said_peaked(read_table(store, "outputs/controls").to_pylist())), "")


def _finetune(store: Store) -> str:
    last = max(read_table(store, "finetune/epochs").to_pylist(), key=lambda row: row["epoch"])
    return (
        f"After {last['epoch']} epochs the classifier is right on {short_percent(last['test_accuracy'])} of "
        f"{last['n']:,} documents that it was not trained on; always the most frequent label: "
        f"{short_percent(last['majority_accuracy'])}."
    )


def _interval(row: Row) -> str:
    return "" if row["low"] is None else f" (95 %: {short_percent(row['low'])} to {short_percent(row['high'])})"


class SideJob(NamedTuple):
    """The title of a side job's page, what it measures, and for a table what it shows in one sentence.

    `about` has the source, the main caveats, and how to read more. The first finding that a run has is shown.
    """

    title: str
    about: str
    findings: Mapping[str, Finding] = MappingProxyType({})


SIDE_JOBS = {
    "explain": SideJob(
        "How well neurons are explained: explain",
        "R2 is the share of an activation's variance that a few literals explain on held-out documents; r2_beyond is "
        "R2 minus that of length, data set and metadata alone. F1 says how well they separate winners from other "
        "sentences there. Controls: randomly rotated axes, shuffled activations. atlas show --neuron prints a neuron's "
        "explanation; docs/explanations.md says how it is made.",
        {"explanations": _explain},
    ),
    "audit": SideJob(
        "Whether explanations hold in other data sets: audit",
        "A rule, the score card, is learned for each neuron and pole in each data set and tested on the winners in all "
        "others. Transfer is its gain there divided by the gain of the data set's own card, both over the card of a "
        "random set. Controls: two halves of one data set, and data sets permuted over documents (Bolukbasi 2021). "
        "Tables show what is global or follows the data set. atlas show --audit prints the findings; docs/audit.md "
        "says how it is measured.",
    ),
    "psi": SideJob(
        "What attention heads stretch: psi",
        "psi is the factor by which a head's projection stretches a token's vector, corrected for dimensions. psi_qkv "
        "is the product for query, key and value (Maeda 2024). Tokens are clustered by their word embeddings, and the "
        "three clusters that a head stretches most are shown. Clusters of one or two tokens lead by chance. atlas show "
        "--psi LAYER:HEAD prints a head.",
        {"psi/clusters": _psi},
    ),
    "mixing": SideJob(
        "What a token's vector takes from others: mixing",
        "The mixing ratio is the share of a token's new vector that comes from the other tokens, for attention alone, "
        "with the residual, and after LayerNorm (Kobayashi 2021). docs/mixing.md says how it is measured.",
        {"mixing/ratios": _mixing},
    ),
    "positions": SideJob(
        "The model without its position embeddings: positions",
        "Cosine of each token's state with its state under the model's own positions, next to random references that "
        "show what chance gives. Decoders also have perplexities (Hirata 2024). With --label, a classifier predicts it "
        "from mean states; compare its accuracy with that of default on the same splits. atlas show --positions prints "
        "the main table.",
        {"positions/similarity": _positions},
    ),
    "meaning": SideJob(
        "What words and sentences mean: meaning",
        "Vectors of words come from their contexts (PPMI, truncated SVD), the model's token table and its layers. They "
        "are tested on analogies and confused words. Vectors of sentences are tested on next sentences (chance: 0.5), "
        "masked words, translations, and neighbours by short codes. majority and shuffled show chance. If 0 is between "
        "the ends of a difference's interval, no difference is shown. atlas show --word WORD prints a word's "
        "neighbours in every space.",
        {"meaning/analogies": _analogies, "meaning/sentences": _next_sentences, "meaning/translations": _translations},
    ),
    "compare": SideJob(
        "Layers, neurons and models compared with each other: compare",
        "Each finding is next to its null: permuted units, rotated bases, shuffled activations. If a run and its "
        "control were alike, 5 % of its scores would be above the control's 95 % quantile. atlas show --compare prints "
        "the findings.",
    ),
    "outputs": SideJob(
        "Which tokens units promote: outputs",
        "What each unit writes, computed with the model's own head, linearised at the corpus's mean state, without the "
        "layers in between. Control: random directions of the same layer, of which 5 % are beyond their 95 % point by "
        "chance. The checks raise units by one standard deviation in real sentences; their control is the effect of "
        "another unit. atlas show --neuron prints which tokens a neuron promotes and suppresses.",
        {"outputs/controls": _outputs},
    ),
    "contrast": SideJob(
        "Which units separate your groups: contrast",
        "AUC is how often a sentence of group a has a higher activation than one of b; 0.5 is chance. matched_auc "
        "compares only sentences of the same length and data set. Probes choose the best units on some documents and "
        "are measured on others. They are next to as many axes of random rotations, the complete layer, and words. If "
        "rotated axes do as well, the finding belongs to the layer and not to its units. atlas show --contrast prints "
        "the findings; docs/contrast.md says how they are measured.",
    ),
    "finetune": SideJob(
        "The model as a classifier of documents: finetune",
        "Its accuracy on documents that it was not trained on, next to always choosing the most frequent label. atlas "
        "compare --against with this run shows how far the model moved.",
        {"finetune/epochs": _finetune},
    ),
}
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


def finding(store: Store, tables: Container[str], job: str) -> str:
    """Return a side job's finding in one sentence; an empty text if none of the run's tables shows it."""
    said = (tell(store) for table, tell in SIDE_JOBS[job].findings.items() if table in tables)
    return next(filter(None, said), "")


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
