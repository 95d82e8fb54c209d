"""The effect of positions in a model: read the tables of `positions`, and lay out the main one as text."""

from typing import Any

from ops.facts.text import interval, number
from ops.storage.store import Store
from ops.storage.tables import read_table

Rows = list[dict[str, Any]]
COLUMNS = ("default", "default_centred", "random_pair", "random_pair_centred", "gaussian")
_SHARES = ("accuracy", "low", "high", "std", "difference", "difference_low", "difference_high")  # of positions/labels
HEADINGS = ("default", "centred", "random", "centred", "gaussian")


def read_positions(store: Store) -> tuple[Rows, Rows, Rows]:
    """Return the rows of `positions/similarity`, `positions/perplexity` and `positions/labels`, [] without any."""
    similarity, perplexity, labels = (
        read_table(store, name).to_pylist() if store.table_files(name) else []
        for name in ("positions/similarity", "positions/perplexity", "positions/labels")
    )
    return similarity, perplexity, labels


def lay_out_positions(similarity: Rows, perplexity: Rows, labels: Rows, order: list[str]) -> str:
    """Return the main table as text: cosines by variant and layer, then perplexities and accuracies.

    Args:
        similarity, perplexity, labels: the rows of `positions/similarity`, `positions/perplexity` and
            `positions/labels`. `perplexity` is empty for an encoder, and `labels` if no label was requested.
        order: the variants in the order in which they are listed.
    """
    found = {(r["variant"], r["layer"], r["reference"]): r for r in similarity}
    layers = sorted({r["layer"] for r in similarity})
    there = [v for v in order if any((v, layers[-1], c) in found for c in COLUMNS)]
    width = max(len(v) for v in there) + 2
    model = similarity[0]["model"]
    lines = [
        f"{model}: mean cosine between a token's state under each variant and a reference state",
        "",
        f"{'':<{width}}{'':>6}{'same token':>20}{'token of another text':>23}{'':>10}",
        f"{'variant':<{width}}{'layer':>6}" + "".join(f"{h:>10}" for h in HEADINGS) + f"{'tokens':>12}",
    ]
    for variant in there:
        for layer in layers:
            own = [found.get((variant, layer, c)) for c in COLUMNS]
            if own[0] is None and variant != "default":
                continue
            values = "".join(f"{'-':>10}" if r is None else number(r["mean"], ".4f", 10) for r in own)
            n = own[0]["n"] if own[0] else 0
            lines.append(f"{variant:<{width}}{layer:>6}{values}{n or '-':>12{',' if n else ''}}")
    lines += [
        "",
        "default: the same token with the model's own positions. centred: after subtracting mean states, since all",
        "states of a model share a direction. gaussian: two random vectors of the model's width.",
    ]
    if perplexity:
        rows = {r["variant"]: r for r in perplexity}
        lines += ["", f"{'perplexity':<{width}}{'all tokens':>14}{'mean of texts':>16}{'mean of 1/p':>16}{'texts':>10}"]
        for variant in (v for v in order if v in rows):
            r = rows[variant]
            values = "".join(number(r[c], ",.4g", w) for c, w in (("corpus", 14), ("mean", 16), ("token_mean", 16)))
            lines.append(f"{variant:<{width}}{values}{r['n']:>10,}")
    if labels:
        held_out = f"{labels[0]['splits']} splits by document, each with about {labels[0]['n']:,} held-out texts"
        lines += ["", f"accuracy of a linear classifier of {labels[0]['label']}: {held_out} (95 % interval)"]
        lines.append(f"{'':<{width}}{'mean, %':>10}{'':<19}{'spread':>6}  minus default, points")
        for r in sorted(labels, key=lambda row: -row["accuracy"]):
            points = {name: None if value is None else value * 100 for name, value in r.items() if name in _SHARES}
            ends = interval(points["low"], points["high"], ".1f")
            cells = f"{number(points['accuracy'], '.1f', 10)} {ends:<18}{number(points['std'], '.1f', 6)}"
            if r["difference"] is not None:
                ends = interval(points["difference_low"], points["difference_high"], ".1f")
                cells += f"  {number(points['difference'], '+.1f')} {ends}"
            lines.append(f"{r['features']:<{width}}{cells}")
    return "\n".join(lines)
