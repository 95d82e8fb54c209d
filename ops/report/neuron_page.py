"""The content of a neuron's page, from what is known about the neuron at each pole."""

from typing import Any

import numpy as np

from ops.arrays import Float32s, Int64s
from ops.facts.examples import read_pattern
from ops.facts.findings import winners_with
from ops.facts.neuron_facts import NeuronFacts, first_without_hubs
from ops.facts.neuron_lists import kind_of, literals, measured, peaks
from ops.facts.rows import Row, Rows
from ops.facts.text import lift, short_percent
from ops.forms.forms import NAMES
from ops.penn_names import ROOTS, name_root, name_tags, name_tree
from ops.report.drawings import draw_histogram, draw_tree, lift_strips
from ops.report.shading import shade
from ops.topk.silent import SAID

FINDINGS, MORE_FINDINGS, VARIANTS, VALUES = 10, 10, 6, 8  # maximum number of rows in each list
FIRST_WINNERS = 20  # number of winners that are shown unfolded, not counting hubs
FULL_SHADE = 0.97  # share of the tokens below the strongest shade, because an outlier would make all others pale
LEAD, BEFORE_PEAK = 90, 40  # a start of more than LEAD characters is cut to BEFORE_PEAK characters before the peak
# Properties that the findings include.
APART = ("words_per_sentence", "noun", "verb", "adjective", "punctuation", *NAMES)
_KINDS = {"word": "words", "tag": "tags", "subtree": "subtree", "mark": "mark", "word_class": "a word like"}
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def neuron_context(poles: list[NeuronFacts], samples: Rows) -> Row:
    """Return the variables for the template of a neuron's page: its facts at each pole, and its `quantile_samples`."""
    first = poles[0]
    histogram = draw_histogram(first.neuron)
    return {
        "layer": first.layer,
        "unit": first.unit,
        "neuron": first.neuron,
        "histogram": histogram,
        "zero_x": histogram.place(0.0),
        "threshold_xs": [histogram.place(first.neuron[f"{facts.pole}_threshold"]) for facts in poles],
        "poles": [_pole(facts) for facts in poles],
        "outputs": first.outputs,
        "nearest": first.nearest,
        "contrasts": first.contrasts,
        "samples": samples,
        "silent": SAID if first.is_silent else "",
        "own": None,
    }


def _pole(facts: NeuronFacts) -> Row:
    winners = [_winner(winner) for winner in facts.winners]
    is_collapsed, audited = facts.options["subtree_root"] == "collapse", facts.audit["literals"] if facts.audit else []
    findings = facts.findings[: FINDINGS + MORE_FINDINGS]
    return vars(facts) | {
        "lifts": lift_strips(audited) if audited else None,
        "winners": winners,
        "first": len(first_without_hubs(winners, FIRST_WINNERS)),
        "datasets": len({winner["dataset"] for winner in winners}),
        "negatives": [_shaded(row, None) | {"lead": 0, "is_hub": False} for row in facts.hard_negatives],
        "scale": _scale(winners),
        "findings": [
            _described(row, is_collapsed)
            | {"winners": [winners[at]["rank"] for at in sorted(winners_with(row, facts.winners, facts.options))]}
            for row in findings
        ],
        "avoids": [_described(row, is_collapsed) for row in facts.avoids[:FINDINGS]],
        "profiles": _profiles(facts.profiles),
        "lists": [*literals(facts), measured("What sets them apart", findings, facts.n_winners), *peaks(facts)],
        "peaks": {name: facts.sure_peaks(name) for name in ("peak_word", "peak_tag")},
    }


def _scale(winners: Rows) -> float:
    """Return the absolute activation that gets the strongest shade; few tokens of these sentences exceed it."""
    values = [abs(p.value) for w in winners for p in w["pieces"] if p.value is not None and not p.text.isspace()]
    return float(np.quantile(values, FULL_SHADE)) if values else 0.0


def _shaded(row: Row, span: tuple[int, int] | None) -> Row:
    return row | {"pieces": shade(row["text"], row["tokens"], span)}


def _winner(winner: Row) -> Row:
    """Return a winner with its text in pieces; the first `lead` pieces, far before the peak, are to be hidden."""
    span = winner["peak"]["span"] if winner["peak"] else None
    shaded = _shaded(winner, span)
    lead, at = 0, 0
    if span is not None and span[0] > LEAD:
        for number, piece in enumerate(shaded["pieces"]):
            if at >= span[0] - BEFORE_PEAK:
                break
            at += len(piece.text)
            if piece.text.isspace():
                lead = number + 1
    return shaded | {"lead": lead}


def _described(row: Row, is_collapsed: bool) -> Row:
    variants = row["variants"]
    return row | {
        "label": _KINDS.get(row["kind"]) or kind_of(row),
        "meaning": _meaning(row, is_collapsed),
        "said": _said(row),
        "tree": draw_tree(row["text"]) if row["kind"] == "subtree" else None,
        "variants": variants[:VARIANTS],
        "more_variants": max(len(variants) - VARIANTS, 0),
    }


def _said(row: Row) -> str:
    if row["baseline_share"] == 0 and row["count"]:
        return f"{row['count']:,} of {row['n']:,}, none in the corpus"
    share = "" if row["baseline_share"] is None else f", {short_percent(row['baseline_share'])} of the corpus"
    times = "" if row["g2"] < 0 else f": {lift(row['lift'])} times"
    return f"{row['count']:,} of {row['n']:,}{share}{times}"


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
    by_property: dict[str, Rows] = {}
    for row in profiles:
        if row["property"] not in APART and row["count"]:
            by_property.setdefault(row["property"], []).append(row)
    order = ("dataset", "tag_class", "tag")
    names = sorted(by_property, key=lambda name: (order.index(name) if name in order else -1, name))
    return {name: sorted(by_property[name], key=lambda row: (-row["share"], row["value"]))[:VALUES] for name in names}


def quantile_samples(sent_ids: Int64s, values: Float32s) -> list[dict[str, Any]]:
    """Return a sentence for each quantile, the highest first: `sent_id`, `quantile` and `activation`.

    `values` are the neuron's activations for the sentences of the activation sample, `[sentences]`.

    >>> [row["sent_id"] for row in quantile_samples(np.arange(5), np.array([3.0, 1, 0, 4, 2], np.float32))]
    [3, 0, 4, 1, 2]
    """
    if not len(sent_ids):
        return []
    order = np.argsort(values, kind="stable")
    places = (np.array(QUANTILES) * (len(order) - 1)).round().astype(int).tolist()
    # Of the quantiles at the same sentence, the lowest is kept.
    lowest = dict(zip(reversed(places), reversed(QUANTILES), strict=True))
    return [
        {"sent_id": int(sent_ids[order[place]]), "quantile": quantile, "activation": float(values[order[place]])}
        for place, quantile in lowest.items()
    ]
