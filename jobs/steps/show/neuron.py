"""What `show` prints, read from the tables of a finished run: one neuron, one attention head, or positions."""

from typing import Any

import pyarrow.compute as pc

from jobs.stage.run import Run
from ops.errors import InputError, one_line
from ops.show.examples import matched_words, spans_of_words
from ops.show.head import lay_out_head
from ops.show.peaks import peak_word
from ops.show.positions import lay_out_positions
from ops.show.strongest import KINDS, avoided, preferred
from ops.storage.store import Store
from ops.storage.tables import read_rows

READ = ("topk", "neurons", "sentences", "patterns", "profiles", "means", "scores")
LEAST = 10  # occurrences of a token whose mean psi is shown
MOST_DIGITS = 9  # of a layer, a unit or a head
LOOKED_AT = 500  # winners among which an example of a pattern is looked for


def read_neuron(record: Run, which: str, pole: str, rows: int, everything: bool) -> dict[str, Any]:
    """Return what is known of the neuron LAYER:UNIT of a run at a pole.

    Args:
        record: the run.
        which, pole: the neuron, `top` or `bottom`.
        rows: winners, and examples of each kind of pattern.
        everything: return `patterns` and `profiles` too.

    Returns:
        `layer`, `unit`, `pole`, `n_winners`; `neuron`, its row of neurons/ without the histogram; `score`, that of
        scores/ or None; `means`; `dataset`, the row of profiles/ of the data set that most winners are of, or None;
        `winners`, the first of them, with their `peak` (`ops.show.peaks`) where `tokens` has run, else None; `peaks`,
        the rows of peaks/ by rank, none without; `prefers` by kind and `avoids` (see `ops.show.strongest`), the
        former with an `example`: `sent_id`, `rank`, `text`, and the `spans` of its characters that match.

    Raises:
        InputError: the tables are missing, or there is no such neuron.
    """
    layer, unit = parse_pair("--neuron", which, "LAYER:UNIT, such as 3:17 (layers from 1, units from 0)")
    stages = ("topk", "annotate", "mine")
    for stage in stages:
        record.require(stage)
    record.check_files(*stages, only=READ)
    store, options = record.store, record.require("mine")["config"]
    here = (pc.field("layer") == layer) & (pc.field("unit") == unit)
    neuron = read_rows(store, "neurons", here)
    if not neuron:
        raise InputError(f"--neuron {which}: there is no such neuron; {known(store)}")
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
    peaks, peak_of = read_peaks(record, own, sentences)
    datasets = [p for p in profiles if p["property"] == "dataset"]
    facts = {
        "layer": layer,
        "unit": unit,
        "pole": pole,
        "n_winners": len(winners),
        "neuron": {name: value for name, value in neuron[0].items() if not name.startswith("histogram")},
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
    record: Run, own: pc.Expression, sentences: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], dict[int, dict[str, Any] | None]]:
    """Return a neuron and pole's rows of peaks/, and the peak of each winner by rank; nothing where there are none."""
    if not record.complete("tokens"):
        return [], {}
    record.check_files("tokens")
    by_rank = {sentence["rank"]: sentence for sentence in sentences}
    columns = ["rank", "pole", "starts", "ends", "activations"]
    tokens = read_rows(record.store, "token_activations", own, columns)
    peak_of = {t["rank"]: peak_word(t, by_rank[t["rank"]]) for t in tokens if t["rank"] in by_rank}
    return read_rows(record.store, "peaks", own), peak_of


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
    return f"layers run from 1 to {layers[-1]}, units from 0 to {max(r['unit'] for r in rows)}"


def show_head(record: Run, which: str, rows: int, width: int) -> str:
    """Lay out the head LAYER:HEAD.

    Raises:
        InputError: the tables are missing, or there is no such head.
    """
    layer, head = parse_pair("--psi", which, "LAYER:HEAD, such as 4:2 (layers from 1, heads from 0)")
    counts = record.require("psi")["counts"]
    record.check_files("psi", *(["psi/contextual"] if record.complete("psi/contextual") else []))
    if not (1 <= layer <= counts["layers"] and head < counts["heads"]):
        raise InputError(
            f"--psi {which}: there is no such head; layers run from 1 to {counts['layers']}, "
            f"heads from 0 to {counts['heads'] - 1}"
        )
    store = record.store
    here = (pc.field("layer") == layer) & (pc.field("head") == head)
    clusters = read_rows(store, "psi/clusters", here)
    contextual = read_contextual(store, here, rows) if record.complete("psi/contextual") else []
    return lay_out_head(layer, head, clusters, contextual, rows, width)


def show_positions(record: Run) -> str:
    """Lay out the tables of `positions`.

    Raises:
        InputError: they are missing.
    """
    from ops.positions.variants import VARIANTS  # torch with it, which nothing else that is shown needs

    record.require("positions")
    record.check_files("positions")
    similarity, perplexity, labels = (
        read_rows(record.store, name, pc.scalar(True)) if record.store.table_files(name) else []
        for name in ("positions/similarity", "positions/perplexity", "positions/labels")
    )
    return lay_out_positions(similarity, perplexity, labels, list(VARIANTS))


def read_contextual(store: Store, here: pc.Expression, rows: int) -> list[dict[str, Any]]:
    """Return the head's tokens of highest mean psi_qkv among those that occur often enough, with their strings."""
    columns = ["token_id", "n", "psi_qkv_mean", "psi_qkv_std"]
    found = read_rows(store, "psi/contextual", here & (pc.field("n") >= LEAST), columns)
    best = sorted(found, key=lambda t: (-t["psi_qkv_mean"], t["token_id"]))[:rows]
    names = read_rows(
        store, "psi/vocabulary", pc.field("token_id").isin([t["token_id"] for t in best]), ["token_id", "token"]
    )
    tokens = {n["token_id"]: n["token"] for n in names}
    return [{**t, "token": tokens[t["token_id"]]} for t in best]


def parse_pair(flag: str, text: str, expected: str) -> tuple[int, int]:
    """Read two whole numbers with a colon between them.

    Raises:
        InputError: it is something else; `expected` says what was.
    """
    first, colon, second = text.partition(":")
    if not text:
        raise InputError(f"{flag} is missing: name {expected}")
    if not (colon and first.isdecimal() and second.isdecimal()):
        raise InputError(f"{flag} {text!r}: expected {expected}")
    if max(len(first), len(second)) > MOST_DIGITS:
        raise InputError(f"{flag} {one_line(text, 60)}: no model is so large; expected {expected}")
    return int(first), int(second)
