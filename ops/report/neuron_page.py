"""What a neuron's page shows, from its rows of the tables."""

from typing import Any

from ops.report.drawings import draw_histogram, draw_tree
from ops.report.shading import shade
from ops.show.examples import matched_words
from ops.show.explanation import joined
from ops.show.peaks import peak_word
from ops.show.strongest import KINDS, avoided, preferred

Row = dict[str, Any]
Rows = list[Row]

PATTERNS, VALUES = 12, 8  # rows of a list
APART = ("words_per_sentence", "noun", "verb", "adjective", "punctuation")  # values that word patterns tell better


def neuron_context(tables: dict[str, Rows], sentences: dict[int, Row], options: Row, samples: Rows) -> Row:
    """Return what the template of a neuron's page takes.

    Args:
        tables: the neuron's rows by table: `neurons` one; `topk` those that are to be listed; `patterns`, `profiles`,
            `means`, and `scores`, `peaks`, `token_activations`, `explanations`, `explanation_terms`,
            `families` (of these, every member), `compare/neighbours`, which may be empty.
        sentences: the sentences that winners and samples name.
        options: those of `mine`.
        samples: sentences by quantile, each with `sent_id`, `quantile` and `activation`.
    """
    (neuron,) = tables["neurons"]
    tokens = {(t["pole"], t["rank"]): t for t in tables["token_activations"]}
    histogram = draw_histogram(neuron)
    poles = []
    for pole in ("top", "bottom"):
        own = {name: [row for row in rows if row.get("pole") == pole] for name, rows in tables.items()}
        if own["topk"]:
            poles.append(_pole(pole, own, sentences, options, tokens))
            poles[-1]["explanation"] = _explanation(own["explanations"], tables)
            poles[-1]["threshold"] = neuron[f"{pole}_threshold"]
            poles[-1]["threshold_x"] = histogram.place(neuron[f"{pole}_threshold"])
    values = [abs(v) for t in tables["token_activations"] for v in t["activations"]]
    return {
        "layer": neuron["layer"],
        "unit": neuron["unit"],
        "neuron": neuron,
        "histogram": histogram,
        "zero_x": histogram.place(0.0),
        "poles": poles,
        "scale": max(values, default=0.0),
        "nearest": sorted(tables["compare/neighbours"], key=lambda row: row["rank"]),
        "samples": [{**s, **sentences[s["sent_id"]]} for s in samples],
    }


def _explanation(rows: Rows, tables: dict[str, Rows]) -> Row | None:
    return joined(rows[0], tables["explanation_terms"], tables["families"]) if rows else None


def _pole(pole: str, own: dict[str, Rows], sentences: dict[int, Row], options: Row, tokens: dict[Any, Row]) -> Row:
    winners = []
    for row in own["topk"]:
        sentence = sentences[row["sent_id"]]
        its = tokens.get((pole, row["rank"]))
        peak = None if its is None else peak_word(its, sentence)
        pieces = shade(sentence["text"], its, None if peak is None else peak["span"])
        winners.append({**sentence, **row, "pieces": pieces, "peak": peak})
    prefers = preferred(own["patterns"], own["profiles"])
    lists = {}
    for kind in KINDS:
        lists[kind] = prefers[kind][:PATTERNS]
        for row in lists[kind]:
            row["winners"] = [w["rank"] for w in winners if matched_words(w, row, options) is not None]
            row["tree"] = draw_tree(row["pattern"]) if kind == "subtree" else None
    return {
        "name": pole,
        "winners": winners,
        "score": next(iter(own["scores"]), None),
        "means": own["means"],
        "lists": lists,
        "values": prefers["value"][:PATTERNS],
        "avoids": avoided(own["patterns"], own["profiles"])[:PATTERNS],
        "profiles": _profiles(own["profiles"]),
        "peaks": {
            name: [p for p in own["peaks"] if p["property"] == name and p["g2"] > 0][:VALUES]
            for name in ("peak_word", "peak_tag")
        },
    }


def _profiles(profiles: Rows) -> dict[str, Rows]:
    """Return of each property the values of the largest shares."""
    found: dict[str, Rows] = {}
    for row in profiles:
        if row["property"] not in APART and row["count"]:
            found.setdefault(row["property"], []).append(row)
    order = ("dataset", "tag_class", "tag")
    names = sorted(found, key=lambda name: (order.index(name) if name in order else -1, name))
    return {name: sorted(found[name], key=lambda row: (-row["share"], row["value"]))[:VALUES] for name in names}
