"""What `show` prints of side jobs, read from their tables: an audit, a head, mixing ratios, positions, a word."""

from typing import Any

import pyarrow.compute as pc

from ops.errors import InputError, one_line
from ops.facts.listing import Listing, lay_out_listings
from ops.facts.rows import Row, Rows
from ops.facts.text import interval, number, plain, wrap
from ops.facts.verdicts import AUDITED, HALVES, NEURONS, PERMUTED
from ops.meaning.words import fold, split_words
from ops.storage.store import Store
from ops.storage.tables import read_rows, read_table

_NAMES = {NEURONS: "neurons", PERMUTED: "data sets permuted over documents", HALVES: "two halves of each data set"}
LEAST_OCCURRENCES = 10  # a token's mean psi is shown if it occurs at least this often
_CLUSTERS = [
    ("rank", "{rank}"), ("psi_qkv", "{psi_qkv:.2f}"), ("z", "{z_qkv:.1f}"), ("relative", "{relative_qkv:.2f}"),
    ("psi_q", "{psi_q:.2f}"), ("psi_k", "{psi_k:.2f}"), ("psi_v", "{psi_v:.2f}"), ("n", "{n:,}"), ("type", "{type}"),
    ("tokens nearest to the centroid", "{tokens:words}"),
]  # fmt: skip
_TOKENS = [("psi_qkv", "{psi_qkv_mean:.2f}"), ("std", "{psi_qkv_std:.2f}"), ("n", "{n:,}"), ("token", "{token}")]
STAGES = {"attn": "attention alone", "attn_res": "with the residual", "attn_res_ln": "after LayerNorm"}
CLASSES = ("all", "cls", "sep", "mask", "punct", "other")
# The references that states are compared with, and their titles.
REFERENCES = {
    "default": "same",
    "default_centred": "same, centred",
    "random_pair": "another",
    "random_pair_centred": "another, centred",
    "gaussian": "gaussian",
}
_PERPLEXITY = [
    ("variant", "{variant}"), ("all tokens", "{corpus:,.4g}"), ("mean of texts", "{mean:,.4g}"),
    ("mean of 1/p", "{token_mean:,.4g}"), ("texts", "{n:,}"),
]  # fmt: skip
_ACCURACY = [
    ("features", "{features}"), ("mean, %", "{accuracy:.1f}"), ("interval", "{ends}"), ("spread", "{std:.1f}"),
    ("minus default", "{difference:+.1f}"), ("its interval", "{its_ends}"),
]  # fmt: skip
_SHARES = ("accuracy", "low", "high", "std", "difference", "difference_low", "difference_high")  # of positions/labels
_CONTEXTS = [("ppmi", "{ppmi:.2f}"), ("count", "{count:,}"), ("context word", "{context}")]
_NEIGHBOURS = [("cosine", "{cosine:.3f}"), ("inner", "{inner:.3g}"), ("word", "{other}")]


def lay_out_audit(facts: Row, width: int) -> str:
    """Return what an audit found as text: the sentences, then a table of verdicts with the controls."""
    lines = [wrap(sentence, width) for sentence in facts["sentences"]]
    if facts["explained"]:
        rows = [counts | {"name": _NAMES[name]} for name, counts in facts["verdicts"].items()]
        verdicts = [(plain(verdict), f"{{{verdict}:,}}") for verdict in AUDITED]
        lines += ["", *Listing.of("", [("Verdicts", "{name}"), *verdicts], rows).lines(width)]
    return "\n".join(lines)


def lay_out_contrasts(facts: Row, width: int) -> str:
    """Return what a contrast found as text: the sentences about probes, then the lists."""
    sentences = "\n".join(wrap(sentence, width) for sentence in facts["sentences"])
    return "\n\n".join(filter(None, [sentences, lay_out_listings(facts["lists"], width)]))


def read_head(store: Store, layer: int, head: int, rows: int, has_contextual: bool) -> tuple[Rows, Rows]:
    """Return a head's rows of `psi/clusters`, and up to `rows` tokens with the highest mean psi_qkv over the corpus.

    Rare tokens are left out. Layers count from 1, heads from 0. There are no tokens unless a corpus was read.
    """
    here = (pc.field("layer") == layer) & (pc.field("head") == head)
    clusters = read_rows(store, "psi/clusters", here)
    if not has_contextual:
        return clusters, []
    columns = ["token_id", "n", "psi_qkv_mean", "psi_qkv_std"]
    tokens = read_rows(store, "psi/contextual", here & (pc.field("n") >= LEAST_OCCURRENCES), columns)
    best = sorted(tokens, key=lambda t: (-t["psi_qkv_mean"], t["token_id"]))[:rows]
    wanted = pc.field("token_id").isin([t["token_id"] for t in best])
    names = {n["token_id"]: n["token"] for n in read_rows(store, "psi/vocabulary", wanted, ["token_id", "token"])}
    return clusters, [{**t, "token": names[t["token_id"]]} for t in best]


def head_listings(layer: int, head: int, clusters: Rows, contextual: Rows, rows: int) -> list[Listing]:
    """Return what `read_head` returns of a head as lists like Table 2 of Maeda 2024, with so many rows each."""
    about = (
        f"Head {head} of layer {layer} (L{layer - 1}-H{head} where layers count from 0, as in Maeda 2024): "
        f"{len(clusters):,} clusters of the vocabulary, sorted by psi_qkv of the word embeddings alone"
    )
    notes = [
        "z: standard deviations from a random group of equal size. relative: divided by psi of a random direction.",
        "Clusters of one or two tokens lead by chance more easily than large ones, so look for a high z as well.",
    ]
    listings = [Listing.of(about, _CLUSTERS, clusters[:rows], notes)]
    if contextual:
        about = "Tokens, sorted by their mean psi_qkv over the corpus"
        listings.append(Listing.of(about, _TOKENS, contextual[:rows]))
    return listings


def mixing_ratios(ratios: list[Row]) -> Listing:
    """Return the rows of `mixing/ratios` as a list, by stage and layer, with a column for each class of tokens."""
    means = {(row["stage"], row["layer"], row["token_class"]): row["mean"] for row in ratios}
    counts = {row["token_class"]: row["n"] for row in ratios}
    classes = [name for name in CLASSES if name in counts]
    rows = dict.fromkeys((stage, layer) for stage in STAGES for by, layer, _ in means if by == stage)
    return Listing(
        "Mean mixing ratio: the share of a token's new vector that comes from the other tokens of its sequence.",
        ("stage", "layer", *classes),
        [(STAGES[s], str(layer), *(number(means.get((s, layer, c)), ".3f") for c in classes)) for s, layer in rows],
        [f"Tokens: {', '.join(f'{name} {counts[name]:,}' for name in classes)}. punct: period or comma."],
    )


def read_positions(store: Store) -> tuple[Rows, Rows, Rows]:
    """Return the rows of `positions/similarity`, `positions/perplexity` and `positions/labels`, [] without any."""
    names = ("positions/similarity", "positions/perplexity", "positions/labels")
    similarity, perplexity, labels = (
        read_table(store, name).to_pylist() if store.table_files(name) else [] for name in names
    )
    return similarity, perplexity, labels


def position_listings(similarity: Rows, perplexity: Rows, labels: Rows, order: list[str]) -> list[Listing]:
    """Return what `read_positions` returns as lists: cosines by variant and layer, then perplexities and accuracies.

    The variants are listed in the given order. There may be no perplexities and no accuracies.
    """
    similarities = {(r["variant"], r["layer"], r["reference"]): r for r in similarity}
    layers = sorted({r["layer"] for r in similarity})
    rows = []
    for variant in (v for v in order if any((v, layers[-1], reference) in similarities for reference in REFERENCES)):
        for layer in layers:
            means = [similarities.get((variant, layer, reference)) for reference in REFERENCES]
            if means[0] is not None or variant == "default":
                cosines = [number(r["mean"] if r else None, ".4f") for r in means]
                rows.append((variant, str(layer), *cosines, number(means[0]["n"] if means[0] else None, ",")))
    about = f"{similarity[0]['model']}: mean cosine between a token's state under each variant and a reference state."
    notes = [
        "same: the same token with the model's own positions. another: a token of another text. centred: after "
        "subtracting mean states, since all states of a model share a direction. gaussian: two random vectors of the "
        "model's width."
    ]
    listings = [Listing(about, ("variant", "layer", *REFERENCES.values(), "tokens"), rows, notes)]
    if perplexity:
        by_variant = {row["variant"]: row for row in perplexity}
        lines = [by_variant[variant] for variant in order if variant in by_variant]
        listings.append(Listing.of("Perplexity", _PERPLEXITY, lines))
    if labels:
        about = (
            f"Accuracy of a linear classifier of {labels[0]['label']}: {labels[0]['splits']} splits by document, each "
            f"with about {labels[0]['n']:,} held-out texts (95 % interval)"
        )
        lines = [_in_percent(row) for row in sorted(labels, key=lambda row: -row["accuracy"])]
        listings.append(Listing.of(about, _ACCURACY, lines))
    return listings


def _in_percent(row: Row) -> Row:
    """Return a row of `positions/labels` with its shares in percent and its intervals as text."""
    points = row | {name: None if row[name] is None else row[name] * 100 for name in _SHARES}
    for name, low, high in (("ends", "low", "high"), ("its_ends", "difference_low", "difference_high")):
        points[name] = interval(points[low], points[high], ".1f").strip() or "-"
    return points


def read_word(store: Store, options: dict[str, Any], spaces: list[str], word: str, rows: int) -> dict[str, Any]:
    """Return everything about a word, which is folded in the same way as the words of the run.

    Args:
        options: the options with which `meaning` counted the words.
        spaces: the spaces in which the words were compared, in order. Empty if they were not compared.
        rows: the number of its contexts, and of its neighbours in each space.

    Returns:
        `word`, `count`, `n_contexts`, `contexts` (the highest PPMI first) and `neighbours` by space (the nearest
        first).

    Raises:
        InputError: the word was not counted.
    """
    folded = fold(word, options["word_case"])
    here = pc.field("word") == folded
    counted = read_rows(store, "meaning/words", here, ["word", "count"])
    if not counted:
        shown = one_line(word, 60)
        if split_words(folded) != [folded]:
            raise InputError(f"--word {shown}: is not one word; give one word without punctuation")
        cased = read_rows(store, "meaning/words", pc.utf8_lower(pc.field("word")) == folded.lower(), ["word", "count"])
        other = f"; did you mean {max(cased, key=lambda c: c['count'])['word']}?" if cased else ""
        least = options["min_count"]
        raise InputError(
            f"--word {shown}: occurs fewer than {least} times in the corpus (--min-count of atlas meaning){other}"
            if least > 1
            else f"--word {shown}: does not occur in the corpus{other}"
        )
    contexts = read_rows(store, "meaning/contexts", here, ["context", "count", "ppmi"])
    n_contexts = len(contexts)
    contexts.sort(key=lambda c: (-c["ppmi"], -c["count"], c["context"]))
    neighbours: dict[str, Rows] = {}
    near = read_rows(store, "meaning/neighbours", here & (pc.field("rank") <= rows)) if spaces else []
    for row in sorted(near, key=lambda row: (spaces.index(row["space"]), row["rank"])):
        kept = {name: row[name] for name in ("rank", "other", "cosine", "inner")}
        neighbours.setdefault(row["space"], []).append(kept)
    return {**counted[0], "n_contexts": n_contexts, "contexts": contexts[:rows], "neighbours": neighbours}


def word_listings(facts: dict[str, Any], rows: int) -> list[Listing]:
    """Return a word's contexts and its neighbours in each space, which `read_word` returns, as lists."""
    about = f"{facts['word']}: {facts['count']:,} occurrences, {facts['n_contexts']:,} context words near it"
    contexts = facts["contexts"][:rows] or [{"ppmi": None, "count": None, "context": "none"}]
    listings = [Listing.of(about, _CONTEXTS, contexts)]
    for space, near in facts["neighbours"].items():
        listings.append(Listing.of(f"Nearest in {space}", _NEIGHBOURS, near[:rows]))
    return listings
