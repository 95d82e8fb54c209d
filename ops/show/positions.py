"""The effect of positions in a model: read the tables of `positions`, and lay out the main one as text."""

from typing import Any

from ops.facts.listing import Listing
from ops.facts.text import interval, number
from ops.storage.store import Store
from ops.storage.tables import read_table

Row = dict[str, Any]
Rows = list[Row]
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


def read_positions(store: Store) -> tuple[Rows, Rows, Rows]:
    """Return the rows of `positions/similarity`, `positions/perplexity` and `positions/labels`, [] without any."""
    similarity, perplexity, labels = (
        read_table(store, name).to_pylist() if store.table_files(name) else []
        for name in ("positions/similarity", "positions/perplexity", "positions/labels")
    )
    return similarity, perplexity, labels


def position_listings(similarity: Rows, perplexity: Rows, labels: Rows, order: list[str]) -> list[Listing]:
    """Return the main findings as lists: cosines by variant and layer, then perplexities and accuracies.

    Args:
        similarity, perplexity, labels: the rows of `positions/similarity`, `positions/perplexity` and
            `positions/labels`. `perplexity` is empty for an encoder, and `labels` if no label was requested.
        order: the variants in the order in which they are listed.
    """
    found = {(r["variant"], r["layer"], r["reference"]): r for r in similarity}
    layers = sorted({r["layer"] for r in similarity})
    rows = []
    for variant in (v for v in order if any((v, layers[-1], reference) in found for reference in REFERENCES)):
        for layer in layers:
            own = [found.get((variant, layer, reference)) for reference in REFERENCES]
            if own[0] is not None or variant == "default":
                cosines = [number(r["mean"] if r else None, ".4f") for r in own]
                rows.append((variant, str(layer), *cosines, number(own[0]["n"] if own[0] else None, ",")))
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
