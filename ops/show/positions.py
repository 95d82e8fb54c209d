"""The effect of positions in a model: read the tables of `positions`, and lay out the main one as text."""

from typing import Any

from ops.facts.listing import Listing, numbers
from ops.facts.text import interval, number
from ops.storage.store import Store
from ops.storage.tables import read_table

Rows = list[dict[str, Any]]
# The references that states are compared with, and their titles.
REFERENCES = {
    "default": "same",
    "default_centred": "same, centred",
    "random_pair": "another",
    "random_pair_centred": "another, centred",
    "gaussian": "gaussian",
}
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
        by_variant = {r["variant"]: r for r in perplexity}
        rows = [
            (variant, *numbers(row, ("corpus", "mean", "token_mean"), ",.4g"), f"{row['n']:,}")
            for variant in order
            if (row := by_variant.get(variant))
        ]
        listings.append(Listing("Perplexity", ("variant", "all tokens", "mean of texts", "mean of 1/p", "texts"), rows))
    if labels:
        about = (
            f"Accuracy of a linear classifier of {labels[0]['label']}: {labels[0]['splits']} splits by document, each "
            f"with about {labels[0]['n']:,} held-out texts (95 % interval)"
        )
        titles = ("features", "mean, %", "interval", "spread", "minus default", "its interval")
        rows = [_accuracy(row) for row in sorted(labels, key=lambda row: -row["accuracy"])]
        listings.append(Listing(about, titles, rows))
    return listings


def _accuracy(row: dict[str, Any]) -> tuple[str, ...]:
    points = {name: None if row[name] is None else row[name] * 100 for name in _SHARES}
    ends, of_difference = (
        interval(points[low], points[high], ".1f").strip() or "-"
        for low, high in (("low", "high"), ("difference_low", "difference_high"))
    )
    mean, spread = numbers(points, ("accuracy", "std"), ".1f")
    return row["features"], mean, ends, spread, number(points["difference"], "+.1f"), of_difference
