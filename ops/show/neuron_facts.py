"""What is known of one neuron, read from the tables of a finished run."""

from typing import Any

import pyarrow.compute as pc

from ops.errors import InputError
from ops.show.examples import matched_words, spans_of_words
from ops.show.explanation import read_explanation
from ops.show.peaks import peak_word
from ops.show.strongest import KINDS, avoided, preferred
from ops.storage.store import Store
from ops.storage.tables import read_rows, read_table
from ops.topk.silent import COLUMNS, silent_neurons

# The tables that are read of the stages that every run has.
TABLES_READ = ("topk", "neurons", "sentences", "patterns", "profiles", "means", "scores")
LOOKED_AT = 500  # winners among which an example of a pattern is looked for


def read_neuron(
    store: Store,
    options: dict[str, Any],
    layer: int,
    unit: int,
    pole: str,
    rows: int,
    everything: bool = False,
    has_tokens: bool = False,
    has_explanations: bool = False,
) -> dict[str, Any]:
    """Return what is known of a neuron of a run at a pole.

    Args:
        store: the run's folder.
        options: those of `mine`.
        layer, unit, pole: the neuron, `top` or `bottom`.
        rows: winners, and examples of each kind of pattern.
        everything: return `patterns` and `profiles` too.
        has_tokens: `tokens` has run.
        has_explanations: `explain` has run.

    Returns:
        `layer`, `unit`, `pole`, `n_winners`; `explanation` (`ops.show.explanation`), None without; `neuron`, its row of
        neurons/ without the histogram; `is_silent`, whether what varies of it is rounding; `score`, its row of scores/
        or None; `means`; `dataset`, the row of profiles/ of the data set that most winners are of, or None; `winners`,
        the first of them, with their `peak` (`ops.show.peaks`) where `tokens` has run, else None; `peaks`, the rows of
        peaks/ by rank, none without; `prefers` by kind and `avoids` (see `ops.show.strongest`), the former with an
        `example`: `sent_id`, `rank`, `text`, and the `spans` of its characters that match.

    Raises:
        InputError: there is no such neuron, or the run kept only the other pole.
    """
    here = (pc.field("layer") == layer) & (pc.field("unit") == unit)
    neuron = read_rows(store, "neurons", here)
    if not neuron:
        raise InputError(f"--neuron {layer}:{unit}: there is no such neuron; {known(store)}")
    own = here & (pc.field("pole") == pole)
    winners = read_rows(store, "topk", own)
    if not winners:
        raise InputError(f"--pole {pole}: this run kept only the other pole")
    looked_at = winners[: max(rows, LOOKED_AT)]
    wanted = pc.field("sent_id").isin([w["sent_id"] for w in looked_at])
    columns = ["sent_id", "text", "dataset", "doc_id", "words", "tags", "tree"]
    texts = {s["sent_id"]: s for s in read_rows(store, "sentences", wanted, columns)}
    sentences = [{**texts[w["sent_id"]], **w} for w in looked_at]
    patterns, profiles, means = (read_rows(store, table, own) for table in ("patterns", "profiles", "means"))
    score = [] if options["no_scores"] else read_rows(store, "scores", own)
    prefers = preferred(patterns, profiles)
    for kind in KINDS:
        for row in prefers[kind][:rows]:
            row["example"] = example(row, sentences, options)
    peaks, peak_of = read_peaks(store, own, sentences) if has_tokens else ([], {})
    datasets = [p for p in profiles if p["property"] == "dataset"]
    facts = {
        "layer": layer,
        "unit": unit,
        "pole": pole,
        "n_winners": len(winners),
        "explanation": read_explanation(store, layer, unit, pole) if has_explanations else None,
        "neuron": {name: value for name, value in neuron[0].items() if not name.startswith("histogram")},
        "is_silent": (layer, unit) in silent_neurons(read_table(store, "neurons", columns=COLUMNS)),
        "is_mined": not options.get("units") or f"{layer}:{unit}" in options["units"],
        "score": next(iter(score), None),
        "means": means,
        "dataset": max(datasets, key=lambda p: p["count"], default=None),
        "winners": [
            {name: s[name] for name in ("rank", "activation", "sent_id", "text", "dataset", "doc_id")}
            | {"peak": peak_of.get(s["rank"])}
            for s in sentences[:rows]
        ],
        "peaks": peaks,
        "prefers": prefers,
        "avoids": avoided(patterns, profiles),
    }
    return facts | ({"patterns": patterns, "profiles": profiles} if everything else {})


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
    """Return the first of these winners that contains a pattern, and where; None where none of them does."""
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
