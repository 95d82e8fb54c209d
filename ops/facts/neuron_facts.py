"""Everything that is known about a neuron at a pole, read once for all that show it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from ops.facts.contrasts import RANKED, said_of_unit
from ops.facts.examples import matched_words, peak_word, spans_of_findings, spans_of_words
from ops.facts.findings import LEAST_COUNT, avoidances, findings, shared_words, winners_with
from ops.facts.rows import POLE, Pair, Row, Rows, any_of, grouped
from ops.facts.run_facts import RunFacts, better_pole
from ops.facts.verdicts import said_where
from ops.outputs.names import SIDES

# The tables that are read for a neuron, and those that are read for a pole of it.
_OF_NEURON = (
    "neurons", "scores", "explanations", "explanation_terms", "outputs/tokens", "audit/patterns", "compare/neighbours",
    "contrast/units",
)  # fmt: skip
_OF_POLE = (
    "topk", "patterns", "profiles", "means", "peaks", "token_activations", "examples", "negative_tokens",
    "audit/neurons", "audit/portability",
)  # fmt: skip
# All tables that are read here and by `RunFacts`, as far as a run has them.
TABLES_READ = (
    *_OF_NEURON, *_OF_POLE, "activations", "sentences", "families", "explain/literals", "explain/controls",
)  # fmt: skip
BETTER = "better"  # instead of a pole: the better explained one
NEAREST = 12  # maximum number of similar neurons
COMPARED = 100  # findings are compared by this many winners
_SENTENCE = ("sent_id", "text", "dataset", "doc_id", "meta", "words", "tags", "tree", "wins")
_TOKENS = ("layer", "unit", "pole", "rank", "starts", "ends", "activations")
_WINNER = ("rank", "activation", "sent_id", "text", "dataset", "doc_id", "wins", "is_hub", "peak", "matches")
_NEGATIVE = ("rank", "activation", "sent_id", "text", "dataset")


@dataclass(frozen=True)
class NeuronFacts:
    """What is known about a neuron at a pole.

    Attributes:
        layer, unit, pole: the neuron and the pole.
        n_winners: the number of its winners.
        called: what the unit is called, such as `neuron` or `feature`.
        dictionary: the dictionary of a feature; None for a neuron.
        explanation: see `with_family`; None without one.
        audit: see `where_it_holds`; None without an audit.
        other_pole: its `pole` and the `text` of its explanation, or None; None if the run kept only one pole.
        neuron: its row of neurons/.
        is_silent: whether its variation is only rounding.
        is_mined: whether the neuron is among those that `mine` was run for.
        score: its row of scores/, or None.
        means: its rows of means/.
        dataset: the row of profiles/ for the data set that most winners are from, or None.
        winners: the rows of the first winners in topk/ and sentences/, with `is_hub`, `tokens` (the row of
            token_activations/, or None) and `peak` (see `ops.facts.examples`).
        hard_negatives: the same for sentences that look like winners; empty without a rule that they could satisfy.
        peaks: its rows of peaks/ by rank.
        findings, avoids, shared_words: see `ops.facts.findings`.
        outputs: the tokens that it promotes and suppresses by side, or None.
        nearest: its rows of compare/neighbours/ by rank.
        contrasts: what it separates, one text for each contrast in which it ranks (`ops.facts.contrasts`).
        patterns, profiles: its rows of these tables.
        options: the options of `mine`.
    """

    layer: int
    unit: int
    pole: str
    n_winners: int
    called: str
    dictionary: str | None
    explanation: Row | None
    audit: Row | None
    other_pole: Row | None
    neuron: Row
    is_silent: bool
    is_mined: bool
    score: Row | None
    means: Rows
    dataset: Row | None
    winners: Rows
    hard_negatives: Rows
    peaks: Rows
    findings: Rows
    shared_words: Rows
    outputs: dict[str, Rows] | None
    avoids: Rows
    nearest: Rows
    contrasts: list[str]
    patterns: Rows
    profiles: Rows
    options: Row

    def sure_peaks(self, name: str) -> Rows:
        """Return the rows of peaks/ for `peak_word` or `peak_tag` at which winners peak more often than elsewhere."""
        return [p for p in self.peaks if p["property"] == name and p["g2"] > 0 and p["count"] >= LEAST_COUNT]

    def with_examples(self, rows: int | None) -> "NeuronFacts":
        """Return the facts with `matches` of the winners, and an `example` of each finding.

        `matches` are the spans of the words of the first findings (see `ops.facts.examples`). An example has
        `sent_id`, `rank`, `text`, and the `spans` of the characters that match.
        `rows` is the number of winners that are not hubs, and of examples; None for all.
        """
        most = len(self.findings) if rows is None else rows
        findings = [row | self._example(row) for row in self.findings[:most]] + self.findings[most:]
        matched = [w | {"matches": spans_of_findings(w, self.findings, self.options)} for w in self.winners]
        winners = matched if rows is None else first_without_hubs(matched, rows)
        return replace(self, findings=findings, winners=winners)

    def _example(self, finding: Row) -> Row:
        for sentence in self.winners if "pattern" in finding else ():
            places = matched_words(sentence, finding, self.options)
            if places:
                spans = spans_of_words(sentence["text"], sentence["words"], places)
                return {"example": {name: sentence[name] for name in ("sent_id", "rank", "text")} | {"spans": spans}}
        return {"example": None}

    def as_json(self, everything: bool) -> Row:
        """Return the facts for JSON, with `patterns` and `profiles` if everything is wanted."""
        left_out = {"options", *(() if everything else ("patterns", "profiles"))}
        facts = {name: value for name, value in vars(self).items() if name not in left_out}
        facts["neuron"] = {name: value for name, value in self.neuron.items() if not name.startswith("histogram")}
        facts["winners"] = [{name: winner.get(name) for name in _WINNER} for winner in self.winners]
        facts["hard_negatives"] = [{name: row[name] for name in _NEGATIVE} for row in self.hard_negatives]
        return facts


def first_without_hubs(winners: Sequence[Row], count: int) -> Rows:
    """Return the first `count` winners that are no hubs, and the hubs before the last of them."""
    places = [i for i, winner in enumerate(winners) if not winner["is_hub"]]
    return list(winners[: places[count - 1] + 1] if len(places) >= count else winners)


def read_neurons(run: RunFacts, chosen: Sequence[Pair], winners: int, pole: str = "") -> list[list[NeuronFacts]]:
    """Return the facts of the chosen neurons at each of their poles, the better explained pole first.

    Args:
        winners: the number of winners to read for each pole.
        pole: the only pole to read; `BETTER` for the better explained one of each neuron.
    """
    neuron, rank = any_of(chosen), pc.field("rank")
    here = neuron & (pc.field("pole") == pole) if pole in run.poles else neuron
    conditions = dict.fromkeys(_OF_NEURON, neuron) | dict.fromkeys(_OF_POLE, here)
    conditions |= dict.fromkeys(("topk", "token_activations"), here & (rank <= winners))
    conditions["examples"] = here & pc.field("pole").is_valid()
    conditions["audit/portability"] = here & (pc.field("dataset_from") == pc.field("dataset_to"))
    conditions["contrast/units"] = neuron & (rank <= RANKED)
    conditions["compare/neighbours"] = neuron & (rank <= NEAREST)
    columns = {"token_activations": _TOKENS, "negative_tokens": _TOKENS}
    by_neuron = {
        name: grouped(run.read(name, where, columns.get(name)).to_pylist(), ("layer", "unit"))
        for name, where in conditions.items()
    }
    families = {row["family"] for rows in by_neuron["explanations"].values() for row in rows}
    in_families = pc.field("family").isin(pa.array(sorted(families), pa.int32()))
    members = grouped(run.read("families", in_families).to_pylist() if families else [], ("family",))
    sentences = read_sentences(
        run, {row["sent_id"] for name in ("topk", "examples") for rows in by_neuron[name].values() for row in rows}
    )
    facts = []
    for pair in chosen:
        tables = {name: rows.get(pair, []) for name, rows in by_neuron.items()}
        tables["families"] = [member for row in tables["explanations"] for member in members.get((row["family"],), [])]
        facts.append(facts_by_pole(run, tables, sentences, pole))
    return facts


def read_sentences(run: RunFacts, ids: set[int]) -> dict[int, Row]:
    """Return the sentences with these ids."""
    columns = run.tables.dataset("sentences").schema.names
    rows = run.tables.rows_of_keys("sentences", "sent_id", ids, [name for name in _SENTENCE if name in columns])
    return {row["sent_id"]: row for row in rows}


def facts_by_pole(
    run: RunFacts, tables: dict[str, Rows], sentences: dict[int, Row], pole: str = ""
) -> list[NeuronFacts]:
    """Return the facts of a neuron, as `read_neurons` does, from its rows of the tables and its sentences by id.

    A feature that is never active has no winners; its facts are those of the first pole, or of the one asked for.
    """
    poles = [name for name in run.poles if any(row["pole"] == name for row in tables["topk"])]
    if not poles:
        return [_facts(run, tables, sentences, pole if pole in run.poles else run.poles[0])]
    better = better_pole(poles, tables["explanations"], tables["scores"])
    wanted = {"": sorted(poles, key=lambda name: name != better), BETTER: [better]}.get(pole, [pole])
    return [_facts(run, tables, sentences, name) for name in wanted if name in poles]


def _facts(run: RunFacts, tables: dict[str, Rows], sentences: dict[int, Row], pole: str) -> NeuronFacts:
    pole_rows = {name: [row for row in rows if row.get("pole") == pole] for name, rows in tables.items()}
    (neuron,), options = tables["neurons"], run.options
    layer, unit, active = neuron["layer"], neuron["unit"], neuron.get("n_active")
    n_winners = run.winners if active is None else min(run.winners, active)
    explanation = next(
        (with_family(row, tables["explanation_terms"], tables["families"]) for row in pole_rows["explanations"]), None
    )
    terms, family = (explanation["terms"], explanation["alike"]["members"]) if explanation else ((), 1)
    winners = _with_tokens(pole_rows["topk"], sentences, pole_rows["token_activations"], run.first_counts)
    winners = [winner | {"is_hub": is_hub(winner, run.most_wins, family)} for winner in winners]
    examples = pole_rows["examples"] if explanation is not None and explanation["verdict"] != "none" else []
    patterns, profiles = pole_rows["patterns"], pole_rows["profiles"]
    compared = partial(winners_with, sentences=winners[:COMPARED], options=options)
    others = [name for name in run.poles if name != pole]
    texts = {row["pole"]: row["text"] for row in tables["explanations"]}
    audited = (
        where_it_holds(row, pole_rows["audit/patterns"], pole_rows["audit/portability"])
        for row in pole_rows["audit/neurons"]
    )
    tokens = sorted(tables["outputs/tokens"], key=lambda row: row["rank"])
    outputs = {side: [row for row in tokens if row["side"] == side] for side in SIDES} if tokens else None
    return NeuronFacts(
        layer=layer,
        unit=unit,
        pole=pole,
        n_winners=n_winners,
        called=run.names.one,
        dictionary=run.names.sources.get(layer),
        explanation=explanation,
        audit=next(audited, None),
        other_pole={"pole": others[0], "text": texts.get(others[0])} if others else None,
        neuron=neuron,
        is_silent=(layer, unit) in run.silent,
        is_mined=run.is_mined(layer, unit),
        score=next(iter(pole_rows["scores"]), None),
        means=pole_rows["means"],
        dataset=max((p for p in profiles if p["property"] == "dataset"), key=lambda p: p["count"], default=None),
        winners=winners,
        hard_negatives=_with_tokens(examples, sentences, pole_rows["negative_tokens"], run.first_counts),
        peaks=pole_rows["peaks"],
        findings=findings(patterns, profiles, terms, compared),
        shared_words=shared_words(profiles, patterns, n_winners),
        outputs=outputs,
        avoids=avoidances(patterns, profiles),
        nearest=sorted(tables["compare/neighbours"], key=lambda row: row["rank"]),
        contrasts=said_of_unit(tables["contrast/units"]),
        patterns=patterns,
        profiles=profiles,
        options=options,
    )  # fmt: skip


def with_family(row: Row, terms: Rows, families: Rows) -> Row:
    """Return a row of explanations/ with data from the rows of explanation_terms/ and families/ of its neuron.

    These are `terms`, its rows of explanation_terms/ with those of the neuron's whole range, and `alike`: the `leader`
    of its family (`layer`, `unit`, `pole`), and `members`, the number of neurons and poles in it.
    """
    family = [member for member in families if member["family"] == row["family"]]
    led = next(member for member in family if member["is_leader"])
    return row | {
        "terms": [term for term in terms if term["pole"] in (None, row["pole"])],
        "alike": {"leader": {name: led[name] for name in POLE}, "members": len(family)},
    }


def where_it_holds(row: Row, patterns: Rows, pairs: Rows) -> Row:
    """Return a row of audit/neurons/ with data from the other tables of its neuron and pole.

    These are `known_in`, the data sets in which it has enough winners; `said`, one line that says where it holds; and
    `literals`, the rows of audit/patterns/ for its winners' model, by rank. `pairs` are its rows of audit/portability/
    from a data set to itself.
    """
    known = sorted(p["dataset_to"] for p in pairs if None not in (p["average_precision"], p["random_precision"]))
    literals = sorted((p for p in patterns if p["model"] == "winners"), key=lambda p: p["rank"])
    return row | {"known_in": known, "said": said_where(row, known), "literals": literals}


def is_hub(sentence: Row, most: float, family: int = 1) -> bool:
    """Return whether a winner is a hub for a neuron: it wins nearly everywhere, and is folded to one line.

    Wins in the neuron's own family do not count. One win is subtracted for each member of the family. This is an
    estimate: `explain`, which knows the winners of each member, may call a sentence just above the limit a hub although
    it is none here. `most` is the limit that `ops.sentences.selection.most_wins` returns.
    """
    return bool(sentence["wins"] - family > most)


def _with_tokens(rows: Rows, sentences: dict[int, Row], tokens: Rows, first_counts: bool) -> Rows:
    """Return ranked rows by rank, each with its sentence, its tokens and the word at its peak."""
    by_rank = {row["rank"]: row for row in tokens}
    ranked = []
    for row in sorted(rows, key=lambda row: row["rank"]):
        sentence, its = sentences[row["sent_id"]], by_rank.get(row["rank"])
        peak = peak_word(its, sentence, first_counts) if its else None
        ranked.append({**sentence, **row, "tokens": its, "peak": peak})
    return ranked
