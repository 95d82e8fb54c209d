"""A neuron whose winners are hostile text, with the packaged tokenizer's own spans."""

from typing import Any

import numpy as np

from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer
from ops.topk.unit_names import NEURONS
from tests.unit.facts.made_up_rows import run_facts

TEXTS = [
    "<script>alert('x')</script> was written <b>here</b> & there.",
    "Zoë ate 😀 caf\u00e9s with 👩‍👩‍👧 in 東京.",
    '\u202eevil\u202c says "hi" to שלום and </span><img src=x onerror=alert(1)>',
    "A \x1b[31mred\x1b[0m word",
]
DATASET = '"><script>alert(2)</script>'
EXPLAINED = {
    "text": "Sentences with *</bdi><script>alert(3)</script>*: 64 % of its winners.",
    "literals": 1,
    "verdict": "rule",
}
EXPLAINED |= {"f1": 0.5, "f1_low": None, "f1_high": None, "single_f1": 0.25, "nuisance_f1": None, "matched_f1": 0.125}
EXPLAINED |= {"chance_f1": 0.0625, "margin": 0.375, "margin_low": None, "margin_high": None, "family": 3}  # type: ignore[dict-item]
TERM = {"kind": "word", "pattern": "</td><b>", "negated": True, "weight": -1.5, "share": 0.5, "baseline_share": None}
TERM |= {"gain": None}
AUDITED = {"verdict": "local", "transfer": 0.25, "transfer_low": None, "transfer_high": None}
AUDITED |= {"holds_in": [DATASET], "found_in": [DATASET]}
AUDITED |= {f"{name}{end}": None for name in ("illusion", "eta_squared", "r2_within") for end in ("", "_low", "_high")}
LIFTS = {"kind": "word", "pattern": "</svg><script>alert(4)</script>", "negated": True, "rank": 1, "verdict": "dataset"}
LIFTS |= {"dataset_names": [DATASET, "books", "unseen"], "log_lifts": [1.5, -0.5, None]}
LIFTS |= {"log_lifts_low": [0.5, -1.5, None], "log_lifts_high": [2.5, 0.5, None]}
MEASURES = {"share": 0.5, "baseline_share": 0.125, "lift": 4.0, "lift_low": 2.0, "g2": 30.0, "q_value": 1e-6, "docs": 3}


def neuron_tables() -> tuple[dict[str, list[dict[str, Any]]], dict[int, dict[str, Any]]]:
    """Return the rows of neuron 2:1 by table, and the sentences by id."""
    placed = Tokenizer(read_facts("sample")).encode_with_spans(TEXTS)
    rng = np.random.default_rng(0)
    here = {"layer": 2, "unit": 1}
    sentences, topk, tokens = {}, [], []
    for i, (text, found) in enumerate(zip(TEXTS, placed, strict=True)):
        words = text.split()
        sentences[i] = {"sent_id": i, "text": text, "dataset": DATASET, "doc_id": "d", "tree": None, "wins": 1}
        sentences[i] |= {"words": words, "tags": ["NN"] * len(words)}
        for pole in ("bottom", "top"):
            topk.append({**here, "pole": pole, "rank": i + 1, "activation": 1.0 / (i + 1), "sent_id": i})
            values = rng.normal(size=len(found.strings)).tolist()
            starts, ends = ([None if s is None else s[side] for s in found.spans] for side in (0, 1))
            spans = {"starts": starts, "ends": ends, "activations": values, "tokens": found.strings}
            tokens.append({**here, "pole": pole, "rank": i + 1, "sent_id": i, **spans})
    pattern = {**here, **MEASURES, "pole": "top", "kind": "word", "items": ["was", "written"], "size": 2, "support": 3}
    tree = {**pattern, "kind": "subtree", "pattern": "(S (NP (DT) (NN)) (VP))", "items": ["S", "NP", "DT", "NN", "VP"]}
    profile = {**here, **MEASURES, "pole": "top", "property": "dataset", "value": DATASET, "count": 4, "n": 4}
    neuron = {**here, "n": 50, "mean": 0.0, "std": 1.0, "skew": None, "kurtosis": None, "min": -2.0, "max": 2.0}
    neuron |= {"histogram_edges": [-1.0, 0.0, 1.0], "histogram_counts": [10, 15, 20, 5]}
    neuron |= {"top_threshold": 0.25, "bottom_threshold": 0.25, "top_mean": 0.5, "bottom_mean": 0.5}
    peak = {**here, "pole": "top", "property": "peak_word", "value": "<i>", "count": 3, "n": 4, "share": 0.75}
    tables = {
        "neurons": [neuron],
        "topk": topk,
        "patterns": [{**pattern, "pattern": "was written", "rank": 1}, {**tree, "rank": 1}],
        "profiles": [{**profile, "rank": 1, "baseline_n": 40}],
        "means": [],
        "scores": [],
        "peaks": [{**peak, "baseline_share": 0.1, "lift": 6.0, "g2": 9.0, "rank": 1}],
        "token_activations": tokens,
        "explanations": [{**here, **EXPLAINED, "pole": "top"}],
        "explanation_terms": [{**here, **TERM, "pole": "top", "model": "winners"}],
        "families": [
            {**here, "pole": "top", "family": 3, "correlation": 0.75, "is_leader": False},
            {"layer": 1, "unit": 2, "pole": "bottom", "family": 3, "correlation": 1.0, "is_leader": True},
        ],
        "examples": [],
        "negative_tokens": [],
        "outputs/tokens": [
            here
            | {"side": side, "rank": rank, "token": f"\u0120<b>{side}{rank}", "token_id": rank, "logit": 0.5 / rank}
            for side in ("suppressed", "promoted")
            for rank in (2, 1)
        ],
        "audit/neurons": [{**here, **AUDITED, "pole": "top"}],
        "audit/patterns": [{**here, **LIFTS, "pole": "top", "model": "winners"}],
        "audit/portability": [
            {**here, "pole": "top", "dataset_to": name, "average_precision": 0.5, "random_precision": 0.1}
            for name in (DATASET, "books")
        ],
        "contrast/units": [
            {**here, "group": "mood=<b>glad</b>", "rank": 2, "q_value": 0.001, "auc": 0.5, "matched_auc": 0.25},
            {**here, "group": "unsure", "rank": 1, "q_value": 0.5, "auc": 0.5, "matched_auc": 0.5},
        ],
        "compare/neighbours": [
            {**here, "rank": 1, "layer_b": 1, "unit_b": 2, "correlation": -0.5, "overlap": 0.25},
            {**here, "rank": 2, "layer_b": 2, "unit_b": 0, "correlation": None, "overlap": 0.0},
        ],
    }
    return tables, sentences


OPTIONS = {"subtree_root": "keep", "punctuation": "drop", "word_case": "keep"}
OPTIONS |= {"word_max_gap": 4, "tag_max_gap": 2}  # type: ignore[dict-item]
RUN = run_facts(options=OPTIONS, winners=len(TEXTS))
MODEL = {"name": "<b>m</b>", "title": "<b>m</b>", "type": "bert", "layers": 2, "width": 3, "fingerprint": "f" * 64}
SHARED = {"model": MODEL, "written": "2026-11-01T00:00:00", "fingerprint": "f" * 64, "served": False, "names": NEURONS}
