"""The content of a neuron's page, computed from the neuron's rows of the tables."""

import math
from typing import Any

import numpy as np

from ops.facts.audited import joined as joined_audit
from ops.facts.best import better_pole
from ops.facts.examples import read_pattern
from ops.facts.explanation import joined
from ops.facts.findings import LEAST_COUNT, avoidances, findings, said_lift, winners_with
from ops.facts.hub_sentences import is_hub
from ops.facts.outputs import by_side
from ops.facts.peaks import peak_word
from ops.penn_names import ROOTS, name_root, name_tags, name_tree
from ops.report.drawings import draw_histogram, draw_tree
from ops.report.lift_strips import lift_strips
from ops.report.pages import WORDS_OF
from ops.report.shading import shade

Row = dict[str, Any]
Rows = list[Row]

FINDINGS, MORE_FINDINGS, VARIANTS, VALUES = 10, 10, 6, 8  # maximum number of rows in each list
FIRST_WINNERS = 12  # number of winners that are shown unfolded, not counting hubs
FULL_SHADE = 0.97  # share of the tokens below the strongest shade, because an outlier would make all others pale
LEAD, BEFORE_PEAK = 90, 40  # a start of more than LEAD characters is cut to BEFORE_PEAK characters before the peak
APART = ("words_per_sentence", "noun", "verb", "adjective", "punctuation")  # properties that the findings include
_KINDS = {"word": "words", "tag": "tags", "subtree": "subtree", "mark": "mark", "word_class": "a word like"}


def neuron_context(
    tables: dict[str, Rows], sentences: dict[int, Row], options: Row, samples: Rows, most_wins: float = math.inf
) -> Row:
    """Return the variables for the template of a neuron's page.

    Args:
        tables: the neuron's rows by table: `neurons` (one row), `topk` (the winners to list), `patterns`, `profiles`
            and `means`. The following tables may be empty: `scores`, `peaks`, `token_activations`, `explanations`,
            `explanation_terms`, `families` (every member), `examples` (only hard negatives), `negative_tokens`,
            `outputs/tokens`, `compare/neighbours`, `audit/neurons`, `audit/patterns` and `audit/portability` (only
            pairs of a data set with itself).
        sentences: the sentences of all winners and samples, by id.
        options: the options of `mine`.
        samples: the sentences for each quantile, with `sent_id`, `quantile` and `activation`.
        most_wins: maximum number of neurons and poles that a sentence may win without being folded as a hub.
    """
    (neuron,) = tables["neurons"]
    tokens = {(t["pole"], t["rank"]): t for t in tables["token_activations"]}
    histogram = draw_histogram(neuron)
    poles = []
    for pole in WORDS_OF:
        own = {name: [row for row in rows if row.get("pole") == pole] for name, rows in tables.items()}
        if own["topk"]:
            explanation = _explanation(own["explanations"], tables)
            poles.append(_pole(pole, own, explanation, sentences, options, tokens, most_wins))
            poles[-1]["threshold"] = neuron[f"{pole}_threshold"]
            poles[-1]["threshold_x"] = histogram.place(neuron[f"{pole}_threshold"])
    names = [pole["name"] for pole in poles]
    better = better_pole(names, tables["explanations"], tables["scores"]) if poles else ""
    return {
        "layer": neuron["layer"],
        "unit": neuron["unit"],
        "neuron": neuron,
        "histogram": histogram,
        "zero_x": histogram.place(0.0),
        "poles": sorted(poles, key=lambda pole: pole["name"] != better),
        "outputs": by_side(tables["outputs/tokens"]) if tables["outputs/tokens"] else None,
        "nearest": sorted(tables["compare/neighbours"], key=lambda row: row["rank"]),
        "samples": [{**s, **sentences[s["sent_id"]]} for s in samples],
    }


def _explanation(rows: Rows, tables: dict[str, Rows]) -> Row | None:
    return joined(rows[0], tables["explanation_terms"], tables["families"]) if rows else None


def _pole(
    pole: str,
    own: dict[str, Rows],
    explanation: Row | None,
    sentences: dict[int, Row],
    options: Row,
    tokens: dict[Any, Row],
    most_wins: float,
) -> Row:
    family = explanation["alike"]["members"] if explanation else 1
    winners = [_winner(row, sentences[row["sent_id"]], tokens.get((pole, row["rank"]))) for row in own["topk"]]
    for winner in winners:
        winner["is_hub"] = is_hub(winner, most_wins, family)
    terms = explanation["terms"] if explanation else []

    known: dict[tuple[str, str, str], frozenset[int]] = {}

    def holds(row: Row) -> frozenset[int]:
        key = row["kind"], row["name"], row["text"]
        if key not in known:
            known[key] = winners_with(row, winners, options)
        return known[key]

    found = findings(own["patterns"], own["profiles"], terms, holds)[: FINDINGS + MORE_FINDINGS]
    for row in found:
        row["winners"] = sorted(winners[i]["rank"] for i in holds(row))
    avoided, is_collapsed = avoidances(own["patterns"], own["profiles"]), options["subtree_root"] == "collapse"
    return {
        "name": pole,
        "words": WORDS_OF[pole],
        "explanation": explanation,
        **_audited(own),
        "winners": winners,
        "first": _first(winners),
        "datasets": len({winner["dataset"] for winner in winners}),
        "negatives": _negatives(own, explanation, sentences),
        "scale": _scale(winners),
        "score": next(iter(own["scores"]), None),
        "means": own["means"],
        "findings": [_described(row, is_collapsed) for row in found],
        "avoids": [_described(row, is_collapsed) for row in avoided[:FINDINGS]],
        "profiles": _profiles(own["profiles"]),
        "peaks": {
            name: [p for p in own["peaks"] if p["property"] == name and p["g2"] > 0 and p["count"] >= LEAST_COUNT]
            for name in ("peak_word", "peak_tag")
        },
    }


def _negatives(own: dict[str, Rows], explanation: Row | None, sentences: dict[int, Row]) -> Rows:
    """Return the hard negatives with their texts in pieces; none if no rule was found that they could satisfy."""
    if explanation is None or explanation["verdict"] == "none":
        return []
    tokens = {row["rank"]: row for row in own["negative_tokens"]}
    found = []
    for row in sorted(own["examples"], key=lambda row: row["rank"]):
        sentence = sentences[row["sent_id"]]
        pieces = shade(sentence["text"], tokens.get(row["rank"]), None)
        found.append({**sentence, **row, "pieces": pieces, "lead": 0, "is_hub": False})
    return found


def _audited(own: dict[str, Rows]) -> Row:
    """Return the audit's findings about a pole, and the strips of its literals' lifts; both None without an audit."""
    if not own["audit/neurons"]:
        return {"audit": None, "lifts": None}
    audit = joined_audit(own["audit/neurons"][0], own["audit/patterns"], own["audit/portability"])
    return {"audit": audit, "lifts": lift_strips(audit["literals"]) if audit["literals"] else None}


def _scale(winners: Rows) -> float:
    """Return the absolute activation that gets the strongest shade; few tokens of these sentences exceed it."""
    values = [abs(p.value) for w in winners for p in w["pieces"] if p.value is not None and not p.text.isspace()]
    return float(np.quantile(values, FULL_SHADE)) if values else 0.0


def _first(winners: Rows) -> int:
    """Return how many winners are shown unfolded, so that `FIRST_WINNERS` of them are not hubs."""
    seen = 0
    for place, winner in enumerate(winners, 1):
        seen += not winner["is_hub"]
        if seen == FIRST_WINNERS:
            return place
    return len(winners)


def _winner(row: Row, sentence: Row, its: Row | None) -> Row:
    """Return a winner with its text in pieces; the first `lead` pieces, far before the peak, are to be hidden."""
    peak = None if its is None else peak_word(its, sentence)
    span = None if peak is None else peak["span"]
    pieces = shade(sentence["text"], its, span)
    lead, at = 0, 0
    if span is not None and span[0] > LEAD:
        for number, piece in enumerate(pieces):
            if at >= span[0] - BEFORE_PEAK:
                break
            at += len(piece.text)
            if piece.text.isspace():
                lead = number + 1
    return {**sentence, **row, "pieces": pieces, "lead": lead, "peak": peak}


def _described(row: Row, is_collapsed: bool) -> Row:
    """Return a finding with its label and description for the page."""
    shown = {
        **row,
        "label": _KINDS.get(row["kind"], ", ".join([row["name"], *row["same_as"]])),
        "meaning": _meaning(row, is_collapsed),
        "said": _said(row),
        "tree": draw_tree(row["text"]) if row["kind"] == "subtree" else None,
    }
    variants = row["variants"]
    shown["variants"], shown["more_variants"] = variants[:VARIANTS], max(len(variants) - VARIANTS, 0)
    return shown


def _said(row: Row) -> str:
    if row["baseline_share"] == 0 and row["count"]:
        return said_lift(row)
    share = "" if row["baseline_share"] is None else f", {_percent(row['baseline_share'])} of the corpus"
    times = "" if row["g2"] < 0 else f": {said_lift(row)} times"
    return f"{row['count']:,} of {row['n']:,}{share}{times}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _meaning(row: Row, is_collapsed: bool) -> str:
    """Return a tag pattern or a subtree in plain English; an empty text for patterns that need no explanation."""
    if row["kind"] == "tag":
        return name_tags(row["items"])
    if row["kind"] != "subtree":
        return ""
    tree = read_pattern(row["text"])
    return f"a sentence that {name_root(tree, is_collapsed)}" if tree.label in ROOTS else name_tree(tree)


def _profiles(profiles: Rows) -> dict[str, Rows]:
    """Return, for each property, the rows of the values with the largest shares."""
    found: dict[str, Rows] = {}
    for row in profiles:
        if row["property"] not in APART and row["count"]:
            found.setdefault(row["property"], []).append(row)
    order = ("dataset", "tag_class", "tag")
    names = sorted(found, key=lambda name: (order.index(name) if name in order else -1, name))
    return {name: sorted(found[name], key=lambda row: (-row["share"], row["value"]))[:VALUES] for name in names}
