"""Read everything about one neuron from the tables of a finished run."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow.compute as pc

from ops.errors import InputError
from ops.facts.audited import read_audited_neuron
from ops.facts.best import better_pole
from ops.facts.examples import matched_words, spans_of_words
from ops.facts.explanation import read_explanation
from ops.facts.findings import avoidances, findings, winners_with
from ops.facts.hub_sentences import is_hub
from ops.facts.outputs import read_outputs
from ops.facts.peaks import peak_word
from ops.facts.shared_words import shared_words
from ops.facts.strongest import KINDS, preferred
from ops.show.hard_negatives import read_hard_negatives
from ops.show.winner_lines import spans_of_findings
from ops.storage.store import Store
from ops.storage.tables import read_rows, read_table
from ops.topk.silent import COLUMNS, silent_neurons
from ops.topk.unit_names import NEURONS, UnitNames

# The tables that are read, all of stages that every run has.
TABLES_READ = ("topk", "neurons", "sentences", "patterns", "profiles", "means", "scores")
LOOKED_AT = 500  # examples of patterns are searched for in this many winners
COMPARED = 100  # findings are compared by this many winners


@dataclass(frozen=True)
class ShownRun:
    """What is known about a run before one of its neurons is read.

    Attributes:
        options: the options of `mine`.
        most_wins: for how many neurons and poles a sentence may win without being a hub (`ops.facts.hub_sentences`).
        has_tokens: whether `tokens` has run.
        has_explanations: whether `explain` has run.
        has_outputs: whether `outputs` has run.
        has_audit: whether `audit` has run.
        names: what its units are called.
    """

    options: dict[str, Any]
    most_wins: float
    has_tokens: bool = False
    has_explanations: bool = False
    has_outputs: bool = False
    has_audit: bool = False
    names: UnitNames = NEURONS


def read_neuron(
    store: Store, run: ShownRun, layer: int, unit: int, pole: str | None, rows: int | None, everything: bool = False
) -> dict[str, Any]:
    """Return everything about a neuron of a run at a pole.

    Args:
        store: the run's folder.
        run: what is known about the run.
        layer, unit: the neuron.
        pole: `top` or `bottom`. None means the better explained one.
        rows: the number of winners that are not hubs, and of examples of findings and of each kind of pattern. None
            means all winners, with as many examples as on a screen.
        everything: whether to return `patterns` and `profiles` too.

    Returns:
        - `layer`, `unit`, `pole`, `n_winners`.
        - `called`: what the unit is called, such as `neuron` or `feature`.
        - `dictionary`: the dictionary of a feature. None for a neuron.
        - `explanation` (`ops.facts.explanation`) and `audit` (`ops.facts.audited`), or None.
        - `other_pole`: its `pole` and the `text` of its explanation, or None. None if the run kept only one pole.
        - `neuron`: its row of neurons/ without the histogram.
        - `is_silent`: whether its variation is only rounding.
        - `is_mined`: whether the neuron is among those that `mine` was run for.
        - `score`: its row of scores/, or None.
        - `means`: its rows of means/.
        - `dataset`: the row of profiles/ for the data set that most winners are from, or None.
        - `winners`: the first winners, each with `wins`, `is_hub`, `peak` and `matches`. `peak` (`ops.facts.peaks`) is
          None unless `tokens` has run. `matches` are the spans of the words of the first findings
          (`ops.show.winner_lines`).
        - `hard_negatives` (`ops.show.hard_negatives`): empty without an explanation or with the verdict `none`.
        - `shared_words` (`ops.facts.shared_words`).
        - `peaks`: the rows of peaks/ by rank. Empty unless `tokens` has run.
        - `outputs`: the tokens that it promotes and suppresses (`ops.facts.outputs`), or None.
        - `findings` and `avoids` (`ops.facts.findings`).
        - `prefers`: what winners prefer, by kind (`ops.facts.strongest`).

        Findings and preferred patterns have an `example`: `sent_id`, `rank`, `text`, and the `spans` of the characters
        that match.

    Raises:
        InputError: there is no such neuron, or the run kept only the other pole.
    """
    here = (pc.field("layer") == layer) & (pc.field("unit") == unit)
    options = run.options
    neuron = read_rows(store, "neurons", here)
    if not neuron:
        raise InputError(f"--neuron {layer}:{unit}: there is no such neuron; {known(store)}")
    explanations = read_rows(store, "explanations", here) if run.has_explanations else []
    scores = [] if options["no_scores"] else read_rows(store, "scores", here)
    won = read_rows(store, "topk", here)
    poles = sorted({w["pole"] for w in won})
    pole = pole or (better_pole(poles, explanations, scores) if poles else "top")
    if pole not in poles:
        raise InputError(f"--pole {pole}: this run has only the other pole")
    own = here & (pc.field("pole") == pole)
    winners = [w for w in won if w["pole"] == pole]
    explanation = read_explanation(store, layer, unit, pole) if explanations else None
    looked_at = winners if rows is None else winners[: max(2 * rows, LOOKED_AT)]
    wanted = pc.field("sent_id").isin([w["sent_id"] for w in looked_at])
    texts = {s["sent_id"]: s for s in read_rows(store, "sentences", wanted)}
    sentences = [{**texts[w["sent_id"]], **w} for w in looked_at]
    patterns, profiles, means = (read_rows(store, table, own) for table in ("patterns", "profiles", "means"))
    prefers = preferred(patterns, profiles)
    holds = partial(winners_with, sentences=sentences[:COMPARED], options=options)
    found = findings(patterns, profiles, explanation["terms"] if explanation else (), holds)
    for some in (found, *(prefers[kind] for kind in KINDS)):
        for row in some[: rows or len(some)]:
            row["example"] = example(row, sentences, options) if "pattern" in row else None
    peaks, peak_of = read_peaks(store, own, sentences) if run.has_tokens else ([], {})
    datasets = [p for p in profiles if p["property"] == "dataset"]
    family = explanation["alike"]["members"] if explanation else 1
    told = explanation is not None and explanation["verdict"] != "none"
    shown = [
        {name: s[name] for name in ("rank", "activation", "sent_id", "text", "dataset", "doc_id")}
        | {"wins": s.get("wins"), "is_hub": is_hub(s, run.most_wins, family), "peak": peak_of.get(s["rank"])}
        | {"matches": spans_of_findings(s, found, options)}
        for s in sentences
    ]
    facts = {
        "layer": layer,
        "unit": unit,
        "pole": pole,
        "n_winners": len(winners),
        "called": run.names.one,
        "dictionary": run.names.sources.get(layer),
        "explanation": explanation,
        "audit": read_audited_neuron(store, layer, unit, pole) if run.has_audit else None,
        "other_pole": next(
            (
                {"pole": other, "text": next((e["text"] for e in explanations if e["pole"] == other), None)}
                for other in poles
                if other != pole
            ),
            None,
        ),
        "neuron": {name: value for name, value in neuron[0].items() if not name.startswith("histogram")},
        "is_silent": (layer, unit) in silent_neurons(read_table(store, "neurons", columns=COLUMNS)),
        "is_mined": not options.get("units") or f"{layer}:{unit}" in options["units"],
        "score": next((score for score in scores if score["pole"] == pole), None),
        "means": means,
        "dataset": max(datasets, key=lambda p: p["count"], default=None),
        "winners": shown if rows is None else first_of_its_own(shown, rows),
        "hard_negatives": read_hard_negatives(store, layer, unit, pole) if told else [],
        "peaks": peaks,
        "findings": found,
        "shared_words": shared_words(
            profiles, [row for row in found if row["kind"] == "word_class"], sentences, len(winners)
        ),
        "outputs": read_outputs(store, layer, unit) if run.has_outputs else None,
        "prefers": prefers,
        "avoids": avoidances(patterns, profiles),
    }
    return facts | ({"patterns": patterns, "profiles": profiles} if everything else {})


def first_of_its_own(winners: Sequence[dict[str, Any]], rows: int) -> list[dict[str, Any]]:
    """Return the first `rows` winners that are no hubs, and the hubs before the last of them."""
    places = [place for place, winner in enumerate(winners) if not winner["is_hub"]]
    return list(winners[: places[rows - 1] + 1] if len(places) >= rows else winners)


def read_peaks(
    store: Store, own: pc.Expression, sentences: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], dict[int, dict[str, Any] | None]]:
    """Return a neuron and pole's rows of peaks/, and the peak of each of these winners by rank."""
    by_rank = {sentence["rank"]: sentence for sentence in sentences}
    columns = ["rank", "pole", "starts", "ends", "activations"]
    tokens = read_rows(store, "token_activations", own, columns)
    peak_of = {t["rank"]: peak_word(t, by_rank[t["rank"]]) for t in tokens if t["rank"] in by_rank}
    return read_rows(store, "peaks", own), peak_of


def example(pattern: dict[str, Any], sentences: list[dict[str, Any]], options: dict[str, Any]) -> dict[str, Any] | None:
    """Return the first of these winners that contains a pattern, with the matching spans. None if none of them does."""
    for sentence in sentences:
        places = matched_words(sentence, pattern, options)
        if places:
            spans = spans_of_words(sentence["text"], sentence["words"], places)
            return {**{name: sentence[name] for name in ("sent_id", "rank", "text")}, "spans": spans}
    return None


def known(store: Store) -> str:
    """Say which neurons a run has."""
    rows = read_rows(store, "neurons", pc.scalar(True), ["layer", "unit"])
    layers = sorted({r["layer"] for r in rows})
    there = f"run from {layers[0]} to {layers[-1]}"
    if layers[-1] - layers[0] + 1 != len(layers):
        there = f"are {', '.join(map(str, layers))}"
    return f"layers {there}, units from 0 to {max(r['unit'] for r in rows)}"
