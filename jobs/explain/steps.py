"""The steps of `explain`: a pool of literals, the sentences with each literal, neuron families and neuron models."""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from jobs.engine.item import Item
from jobs.explain.job import ExplainConfig
from jobs.mine.job import MINE_OPTIONS
from jobs.stage.files import (
    Output,
    TablePart,
    notes_of,
    partial_file,
    read_partial,
    read_partials,
    table_part,
    write_partial,
)
from jobs.stage.run import Run
from jobs.stage.runner import Stage, Step
from jobs.stage.stages import CODES
from ops.compare.activation_vectors import neuron_vectors, sampled_sentences
from ops.explain.controlled_units import CARDED, Controls
from ops.explain.explained_neurons import (
    ExplainedNeurons,
    all_controls,
    known_rows,
    with_families,
)
from ops.explain.families import Pairs, vector_pairs
from ops.explain.hubs import Hubs
from ops.explain.literals import Literals
from ops.explain.pool import PATTERN_COLUMNS, PROFILE_COLUMNS, count_listed
from ops.explain.run_pool import hubs_table, make_pool, read_hubs
from ops.mine.mining import Mining
from ops.model.facts import ModelFacts
from ops.patterns.occurrences import Occurrences
from ops.sentences.hubs import most_wins
from ops.sentences.local_copy import open_sentences
from ops.sentences.winner_sets import winner_rows
from ops.shards import spans
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.store import Store
from ops.storage.tables import part_name
from ops.topk.neurons import Neurons, parts, read_neurons, set_number
from ops.topk.silent import read_silent

RUN = 10_000  # number of sentences in which one item finds literals
WINNERS_PER_RANGE, NEURONS_PER_RANGE = 160_000, (16, 64)
# Up to this number of neurons, and of winners of all neurons, lists and families take less time than the start of
# workers.
FEW_NEURONS, FEW_WINNERS = 4_000, 1_000_000

POOL = partial_file("explain", "pool")
HUBS = partial_file("explain", "hubs")
CONTROLS = table_part("explain/controls", 0, "controls")
FAMILIES = table_part("families", 0, "families")
EXPLANATIONS = table_part("explanations", 0, "explanations")
LITERALS = table_part("explain/literals", 0, "literals")


@dataclass(frozen=True)
class ExplainArgs:
    """The arguments of every worker.

    Attributes:
        store, fingerprint: the run's folder, and the fingerprint of this stage.
        sentences: the fingerprint of the annotate stage, which identifies a machine's copy of the sentences.
        neurons: the neurons of the run.
        units: the neurons to explain; empty for all.
        scored: the number of scored sentences of the corpus, N.
        mine: the options with which patterns were mined.
        facts: the model, for its token table.
        k, poles: the number of winners per neuron and pole, and the number of poles.
        literals, card_literals, controls, seed: the options of these names.
        rotates: whether a random rotation of each layer is one of the controls. It is not if units are features, since
            rotated features would not be a basis of the layer.
        carded: the number of units per layer, and of axes, whose score cards are controls.
    """

    store: Store
    fingerprint: str
    sentences: str
    neurons: Neurons
    units: tuple[str, ...]
    scored: int
    mine: dict[str, Any]
    facts: ModelFacts
    k: int
    poles: int
    literals: int
    card_literals: int
    controls: bool
    seed: int
    rotates: bool = True
    carded: int = CARDED

    def mining(self, draws: bool = False) -> Mining:
        """Return the annotated sentences in the form used for patterns, with words in lower case."""
        sentences = open_sentences(self.store, CODES, self.sentences)
        return Mining(sentences, self.neurons, {**self.mine, "word_case": "lower"}, self.seed, draws)


def find_tokens(record: Run) -> ModelFacts:
    """Return the facts of the run's model, whose token table is used to make the topics.

    Raises:
        InputError: the model is not found.
    """
    from jobs.stage.checks import recorded_model

    return recorded_model(record.require("topk"))


def explain_args(config: ExplainConfig, facts: ModelFacts, stage: Stage, neurons: Neurons) -> ExplainArgs:
    """Return the arguments of the workers."""
    record = stage.record
    topk, mine = record.require("topk"), record.require("mine")["config"]
    return ExplainArgs(
        stage.store, stage.fingerprint, record.require("annotate")["fingerprint"], neurons, config.units,
        topk["counts"]["scored"],
        {name: mine[name] for name in MINE_OPTIONS} | {"no_scores": False}, facts,
        min(topk["identity"]["k"], topk["counts"]["scored"]), 2 if topk["identity"]["poles"] == "both" else 1,
        config.literals, config.card_literals,
        not config.no_controls, config.seed, "dictionaries" not in topk["identity"],
    )  # fmt: skip


def explain(config: ExplainConfig, facts: ModelFacts, stage: Stage) -> dict[str, Any]:
    """Do the missing items of all steps, and return the counts."""
    neurons = read_neurons(stage.store)
    args = explain_args(config, facts, stage, neurons)
    if 2 * args.k > args.scored:
        print(
            f"explain: K = {args.k:,} is more than half of the corpus's {args.scored:,} sentences, so winners "
            "cannot differ from the rest; scores are null",
            file=sys.stderr,
        )
    sampled = len(sampled_sentences(stage.store))
    if not sampled:
        print("explain: no activation sample (--activation-sample 0), so range models are skipped", file=sys.stderr)
    for step in explain_steps(args, sampled, stage.record.require("annotate")["counts"]["sentences"]):
        stage.do(step)
    with stage.store.parquet(EXPLANATIONS.path) as file:
        verdicts = file.read(columns=["verdict"])["verdict"].to_pylist()
    counts = {name: verdicts.count(name) for name in ("explained", "nuisance", "none", "weak")}
    figures: list[str] = []
    if sampled and args.controls:
        # The plots are drawn here, so that no worker has to import Matplotlib.
        from ops.explain.control_figure import draw_controls

        figures = draw_controls(stage.store, read_partial(stage.store, CONTROLS))
    return {"explanations": len(verdicts), **counts, "figures": figures}


def explain_steps(args: ExplainArgs, sampled: int, sentences: int) -> list[Step]:
    """Return the steps in the order in which they must be done.

    Args:
        args: the arguments of the workers.
        sampled: the number of sentences in the activation sample.
        sentences: the number of annotated sentences.
    """
    given = {"args": args}
    listed = [{"part": part} for part in range(len(args.store.table_files("patterns")))]
    runs = [{"run": i, "first": first, "stop": stop} for i, (first, stop) in enumerate(spans(sentences, RUN))]
    every = [{"part": part, "first": first, "stop": stop} for part, first, stop in parts(len(args.neurons))]
    blocks = every if sampled else []
    ranges = neuron_ranges(len(args.units) or len(args.neurons), args.k)
    known = given | {"runs": runs, "blocks": blocks}
    ranged = "ranges of neurons"
    neurons = len(args.neurons)
    few = neurons <= FEW_NEURONS and neurons * args.poles * args.k <= FEW_WINNERS
    return [
        Step("explain: lists", listed, lambda item: [listed_file(item)], ListCounter, given, ranged, here=few),
        Step("explain: pool", [{}], lambda _: [HUBS, POOL], PoolMaker, given | {"listed": listed}),
        Step("explain: literals", runs, lambda item: [run_file(item)], LiteralFinder, given, "runs of sentences"),
        Step(
            "explain: families", blocks, lambda item: [pairs_file(item)], PairFinder, given, ranged, here=few,
            workers=1 if few else None,
        ),
        Step("explain: neurons", ranges, range_outputs, RangeWorker, known, ranged),
        Step(
            "explain: tables", [{}], lambda _: [CONTROLS, FAMILIES, LITERALS, EXPLANATIONS], TableWriter,
            given | {"ranges": ranges, "blocks": blocks}, here=True,
        ),
    ]  # fmt: skip


def neuron_ranges(neurons: int, k: int) -> list[Item]:
    """Return the ranges of the neurons as items; ranges are shorter if each neuron has many winners."""
    size = min(max(WINNERS_PER_RANGE // max(k, 1), NEURONS_PER_RANGE[0]), NEURONS_PER_RANGE[1])
    return [{"range": i, "first": first, "stop": stop} for i, (first, stop) in enumerate(spans(neurons, size))]


def listed_file(item: Item) -> Output:
    """Return the file of the counts of one part of patterns/ and profiles/."""
    return partial_file("explain", "listed", item["part"])


def run_file(item: Item) -> Output:
    """Return the file of the literals in a block of sentences."""
    return partial_file("explain", "literals", item["run"])


def pairs_file(item: Item) -> Output:
    """Return the file of the pairs of correlated neurons whose first neuron is in a range."""
    return partial_file("explain", "pairs", item["part"])


def values_file(item: Item) -> Output:
    """Return the file of the measures of a range of neurons, from which the table of controls is made."""
    return partial_file("explain", "values", item["range"])


def explained_file(item: Item) -> Output:
    """Return the file of the explanations of a range of neurons, without their families."""
    return partial_file("explain", "explained", item["range"])


def range_part(table: str, item: Item) -> TablePart:
    """Return the part of a table for a range of neurons."""
    return table_part(table, item["range"], f"neurons-{item['first']}-{item['stop']}")


def range_outputs(item: Item) -> list[Output]:
    """Return all files that are written for a range of neurons."""
    return [
        range_part("examples", item), range_part("explanation_terms", item), values_file(item), explained_file(item)
    ]  # fmt: skip


def read_pairs(store: Store, blocks: list[Item]) -> Pairs:
    """Return all pairs of correlated neurons."""
    tables = read_partials(store, [pairs_file(item) for item in blocks])
    return Pairs.joined([Pairs(**read_arrays(table)) for table in tables])


class ListCounter:
    """Counts, for parts of the tables, how often neurons list each pattern and mark."""

    def __init__(self, args: ExplainArgs) -> None:
        self.args = args

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Count the patterns and marks of one part."""
        store, part = self.args.store, item["part"]
        tables = []
        for table, columns in (("patterns", PATTERN_COLUMNS), ("profiles", PROFILE_COLUMNS)):
            with store.parquet(part_name(table, part)) as file:
                tables.append(file.read(columns=columns))
        found = count_listed(*tables)
        write_partial(store, listed_file(item), found, self.args.fingerprint)
        return {"part": part}


class PoolMaker:
    """Makes the pool of literals, and finds the sentences that win for nearly all neurons."""

    def __init__(self, args: ExplainArgs, listed: list[Item]) -> None:
        self.args, self.listed = args, listed

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Commit the pool of literals, and the hubs: the sentences that win for nearly all neurons."""
        args, store = self.args, self.args.store
        mining = args.mining()
        sets = set_number(len(args.neurons), 0)
        most = most_wins(args.k, args.scored, len(args.neurons) * args.poles)
        wins = np.asarray(mining.sentences.wins)
        found = Hubs.find(wins, winner_rows(store, args.neurons, mining.sentences), sets, most)
        write_partial(store, HUBS, hubs_table(found), args.fingerprint)
        listed = read_partials(store, [listed_file(each) for each in self.listed])
        pool = make_pool(listed, mining, args.facts, args.seed)
        write_partial(store, POOL, pool, args.fingerprint)
        return {"literals": pool.num_rows}


class LiteralFinder:
    """Finds the literals in blocks of the sentences with which all neurons are compared."""

    def __init__(self, args: ExplainArgs) -> None:
        self.args, self.mining = args, args.mining()
        self.literals = Literals(read_partial(args.store, POOL), self.mining.text, self.mining.kinds)
        self.known = known_rows(self.mining.sentences, sampled_sentences(args.store))

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Find and commit the literals of one block."""
        rows = self.known[slice(*np.searchsorted(self.known, [item["first"], item["stop"]]))]
        found = write_arrays(**vars(self.literals.find(rows)))
        write_partial(self.args.store, run_file(item), found, self.args.fingerprint, {"sentences": len(rows)})
        return {"sentences": len(rows)}


class PairFinder:
    """Finds the neurons whose activations correlate with the activations of the neurons of a range."""

    def __init__(self, args: ExplainArgs) -> None:
        self.args = args
        self.vectors = neuron_vectors(args.store, args.neurons)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Find and commit the pairs of one range."""
        with threadpool_limits(1):
            pairs = vector_pairs(self.vectors, item["first"], item["stop"])
        write_partial(self.args.store, pairs_file(item), write_arrays(**vars(pairs)), self.args.fingerprint)
        return {"part": item["part"]}


class RangeWorker:
    """Explains ranges of neurons."""

    def __init__(self, args: ExplainArgs, runs: list[Item], blocks: list[Item]) -> None:
        self.args, self.chosen, store = args, args.neurons.named(args.units), args.store
        measured = self.chosen[~read_silent(store, args.neurons)[self.chosen]]
        runs_found = (
            (Occurrences(**read_arrays(table)), notes_of(table)["sentences"])
            for table in read_partials(store, [run_file(item) for item in runs])
        )
        self.neurons = ExplainedNeurons(
            store, args.mining(draws=True), read_partial(store, POOL), runs_found, read_hubs(read_partial(store, HUBS)),
            read_pairs(store, blocks), args.scored, args.seed, args.literals, args.card_literals,
            Controls.drawn(args.controls, args.neurons, measured, args.carded, args.seed), args.rotates,
        )  # fmt: skip

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Explain one range and commit its tables."""
        args, store = self.args, self.args.store
        with threadpool_limits(1):
            found = self.neurons.explain(self.chosen[item["first"] : item["stop"]])
        for table in ("examples", "explanation_terms"):
            range_part(table, item).write(store, [found[table]], args.fingerprint)
        write_partial(store, values_file(item), found["values"], args.fingerprint)
        write_partial(store, explained_file(item), found["explanations"], args.fingerprint)
        return {"range": item["range"]}


class TableWriter:
    """Groups the neurons into families, and writes the tables that need all neurons."""

    def __init__(self, args: ExplainArgs, ranges: list[Item], blocks: list[Item]) -> None:
        self.args, self.ranges, self.blocks = args, ranges, blocks

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Write the tables."""
        args, store = self.args, self.args.store
        values = pa.concat_tables(read_partials(store, [values_file(each) for each in self.ranges]))
        CONTROLS.write(store, [all_controls(values)], args.fingerprint)
        rows = pa.concat_tables(read_partials(store, [explained_file(each) for each in self.ranges]))
        rows, members = with_families(rows, args.neurons, read_pairs(store, self.blocks))
        FAMILIES.write(store, [members], args.fingerprint)
        LITERALS.write(store, [read_partial(store, POOL)], args.fingerprint)
        EXPLANATIONS.write(store, [rows], args.fingerprint)
        return {"explanations": rows.num_rows}
