"""The stage `explain`: a pool of literals, the sentences with each literal, neuron families and neuron models."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from jobs.engine.item import Item
from jobs.explain.job import EXPLAIN_OPTIONS, ExplainConfig
from jobs.mine.job import MINE_OPTIONS
from jobs.run_folder.run import Run
from jobs.stage.outputs import Output, partial_file, read_partial, read_partials, whole_table
from jobs.stage.ranges import neuron_ranges, range_part, sentence_blocks, table_ranges
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.scored import Scored
from jobs.stage.sentence_literals import LiteralArgs, LiteralFinder, literals_file, read_literals
from jobs.stage.step import Made, Step, Steps
from jobs.stage.units import chosen_units
from ops.compare.activation_vectors import neuron_vectors
from ops.explain.controls import CARDED, Controls, all_controls
from ops.explain.explain import NeuronExplainer
from ops.explain.families import Pairs, vector_pairs, with_families
from ops.literals.hubs import Hubs
from ops.literals.pool import PATTERN_COLUMNS, PROFILE_COLUMNS, count_listed
from ops.literals.run_pool import hubs_table, make_pool, read_hubs, read_word_statistics, word_statistics_table
from ops.model.names import ModelFacts
from ops.schema.verdicts import VERDICTS
from ops.sentences.selection import THRESHOLDS, most_wins, with_winners
from ops.sentences.winner_sets import winner_rows
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.store import Store
from ops.storage.tables import part_name, read_table
from ops.topk.neurons import set_number
from ops.topk.silent import read_silent

SENTENCES_PER_BLOCK = 10_000  # number of sentences in which one item finds literals
# Up to this number of neurons, and of winners of all neurons, lists and families take less time than the start of
# workers.
FEW_NEURONS, FEW_WINNERS = 4_000, 1_000_000
WINNERS_AS_A_SET = 440  # winners that take as long as what a neuron and pole takes whatever its winners
TERMS_EACH, FOLD_TERMS_EACH, EXAMPLES_EACH = 8, 30, 25  # rows of a neuron and pole, for --dry-run
RANGED = ("examples", "explanation_terms", "explanation_folds")  # tables that are written range by range

POOL = partial_file("explain", "pool")
HUBS = partial_file("explain", "hubs")
WORDS = partial_file("explain", "words")
CONTROLS = whole_table("explain/controls")
FAMILIES = whole_table("families")
EXPLANATIONS = whole_table("explanations")
LITERALS = whole_table("explain/literals")
# Files by number: the counts of a part of patterns/ and profiles/, the pairs of correlated neurons whose first neuron
# is in a range, the measures of a range, from which the table of controls is made, and its explanations.
listed_file, pairs_file, values_file, explained_file = (
    partial(partial_file, "explain", name) for name in ("listed", "pairs", "values", "explained")
)


def explain(config: ExplainConfig, run: Run) -> None:
    """Run the stage, or the missing part of it."""
    from jobs.stage.checks import recorded_model  # with PyTorch, which no worker needs

    run.require("topk")
    run.require_current("annotate")
    run.require("mine")
    config = config.model_copy(update={"units": chosen_units(config, run, "explained")})
    # The model's token table is used to make the topics.
    facts = recorded_model(run.require("topk"))
    depends_on = config.model_dump(mode="json", include={*EXPLAIN_OPTIONS, "seed"})
    stage = begin_stage("explain", config, run, depends_on, counted=("explanations", "explanations"))
    if stage is None:
        return
    scored = Scored.of(run)
    sets = (len(config.units) or len(scored.neurons)) * scored.poles
    rows = {
        "explanations": sets, "explanation_terms": sets * TERMS_EACH, "families": sets,
        "explanation_folds": sets * FOLD_TERMS_EACH, "examples": sets * EXAMPLES_EACH,
    }  # fmt: skip
    stage.complete(explain_steps(config, facts, stage, scored), rows, {"explanations": sets})
    stage.drop_copies()


@dataclass(frozen=True, kw_only=True)
class ExplainArgs(LiteralArgs):
    """The arguments of every worker.

    Attributes:
        scored: the number of scored sentences of the corpus, N.
        facts: the model, for its token table.
        k, poles: the number of winners per neuron and pole, and the number of poles.
        literals, card_literals, controls: the options of these names.
        rotates: whether a random rotation of each layer is one of the controls. It is not if units are features, since
            rotated features would not be a basis of the layer.
        carded: the number of units per layer, and of axes, whose score cards are controls.
    """

    scored: int
    facts: ModelFacts
    k: int
    poles: int
    literals: int
    card_literals: int
    controls: bool
    rotates: bool = True
    carded: int = CARDED


def explain_steps(config: ExplainConfig, facts: ModelFacts, stage: Stage, scored: Scored) -> Steps:
    """Yield the steps, draw the controls and return the counts."""
    annotate, mine = stage.run.require("annotate"), stage.run.require("mine")["config"]
    args = ExplainArgs(
        store=stage.store, neurons=scored.neurons, seed=config.seed, sentences=annotate["fingerprint"],
        units=config.units, scored=scored.sentences,
        mine={name: mine[name] for name in MINE_OPTIONS}, facts=facts, k=scored.k,
        poles=scored.poles, literals=config.literals, card_literals=config.card_literals,
        controls=not config.no_controls, rotates=not scored.of_features,
    )  # fmt: skip
    if 2 * args.k > args.scored:
        stage.say(
            f"K = {args.k:,} is more than half of the corpus's {args.scored:,} sentences, so winners "
            "cannot differ from the rest; scores are null"
        )
    if not scored.sampled:
        stage.say("no activation sample (--activation-sample 0), so activation models are skipped")
    yield steps_of(args, scored.sampled, annotate["counts"]["sentences"])
    with stage.store.parquet(EXPLANATIONS.path) as file:
        verdicts = file.read(columns=["verdict"])["verdict"].to_pylist()
    counts = {name: verdicts.count(name) for name in VERDICTS}
    figures: list[str] = []
    if scored.sampled and args.controls:
        # The plots are drawn here, so that no worker has to import Matplotlib.
        from ops.explain.control_figure import control_figures
        from ops.figures.files import save_figures

        figures = save_figures(stage.store, "explain/figures", control_figures(read_partial(stage.store, CONTROLS)))
    return {"explanations": len(verdicts), **counts, "figures": figures}


def steps_of(args: ExplainArgs, sampled: int, sentences: int) -> list[Step]:
    """Return the steps in the order in which they must be done.

    Args:
        args: the arguments of the workers.
        sampled: the number of sentences in the activation sample.
        sentences: the number of annotated sentences.
    """
    given = {"args": args}
    listed = [{"range": part} for part in range(len(args.store.table_files("patterns")))]
    blocks = sentence_blocks(sentences, SENTENCES_PER_BLOCK)
    pairs = table_ranges(len(args.neurons)) if sampled else []
    chosen = len(args.units) or len(args.neurons)
    ranges = neuron_ranges(chosen, args.k)
    ranged = "ranges of neurons"
    neurons = len(args.neurons)
    few = neurons <= FEW_NEURONS and neurons * args.poles * args.k <= FEW_WINNERS
    return [
        Step(
            name="explain: lists", items=listed, outputs=lambda item: [listed_file(item["range"])], worker=count_lists,
            args={"store": args.store}, unit=ranged, here=few,
        ),
        Step(
            name="explain: pool", items=[{}], outputs=lambda _: [HUBS, WORDS, POOL], worker=make_pools,
            args=given | {"listed": listed},
        ),
        Step(
            name="explain: literals", items=blocks, outputs=lambda item: [literals_file("explain", item)],
            worker=LiteralFinder, args=given | {"job": "explain", "pool": read_pool}, unit="blocks of sentences",
        ),
        Step(
            name="explain: families", items=pairs, outputs=lambda item: [pairs_file(item["range"])], worker=PairFinder,
            args=given, unit=ranged, here=few, workers=1 if few else None,
        ),
        Step(
            name="explain: neurons", items=ranges, outputs=range_outputs, worker=RangeWorker,
            args=given | {"blocks": blocks, "pairs": pairs}, unit=ranged,
            amount=chosen * args.poles * (1 + args.k / WINNERS_AS_A_SET),
        ),
        Step(
            name="explain: tables", items=[{}], outputs=lambda _: [CONTROLS, FAMILIES, LITERALS, EXPLANATIONS],
            worker=make_tables, args=given | {"ranges": ranges, "pairs": pairs}, here=True,
        ),
    ]  # fmt: skip


def read_pool(store: Store) -> pa.Table:
    """Return the pool of literals."""
    return read_partial(store, POOL)


def range_outputs(item: Item) -> list[Output]:
    """Return all files that are written for a range of neurons."""
    tables = [range_part(table, item) for table in RANGED]
    return [*tables, values_file(item["range"]), explained_file(item["range"])]


def read_pairs(store: Store, ranges: list[Item]) -> Pairs:
    """Return all pairs of correlated neurons."""
    tables = read_partials(store, [pairs_file(item["range"]) for item in ranges])
    return Pairs.joined([Pairs(**read_arrays(table)) for table in tables])


def count_lists(item: Item, store: Store) -> Made:
    """Count, for one part of the tables, how often neurons list each pattern and mark."""
    tables = []
    for table, columns in (("patterns", PATTERN_COLUMNS), ("profiles", PROFILE_COLUMNS)):
        with store.parquet(part_name(table, item["range"])) as file:
            tables.append(file.read(columns=columns))
    return {listed_file(item["range"]): count_listed(*tables)}


def make_pools(item: Item, args: ExplainArgs, listed: list[Item]) -> Made:
    """Make the pool of literals, and find facts about words and the hubs: sentences that win for nearly all neurons."""
    mining = args.mining()
    sets = set_number(len(args.neurons), 0)
    most = most_wins(args.k, args.scored, with_winners(read_table(args.store, "neurons", columns=THRESHOLDS)))
    winners = winner_rows(args.store, args.neurons, mining.sentences)
    hubs = Hubs.find(np.asarray(mining.sentences.wins), winners, sets, most)
    counts = read_partials(args.store, [listed_file(part["range"]) for part in listed])
    pool, words = make_pool(counts, mining, args.facts, args.seed)
    return {HUBS: hubs_table(hubs), WORDS: word_statistics_table(words), POOL: pool}


class PairFinder:
    """Finds the neurons whose activations correlate with the activations of the neurons of a range."""

    def __init__(self, args: ExplainArgs) -> None:
        self.vectors = neuron_vectors(args.store, args.neurons)

    def __call__(self, item: Item) -> Made:
        """Find the pairs of one range."""
        with threadpool_limits(1):
            pairs = vector_pairs(self.vectors, item["first"], item["stop"])
        return {pairs_file(item["range"]): write_arrays(**vars(pairs))}


class RangeWorker:
    """Explains ranges of neurons."""

    def __init__(self, args: ExplainArgs, blocks: list[Item], pairs: list[Item]) -> None:
        self.chosen, store = args.neurons.named(args.units), args.store
        measured = self.chosen[~read_silent(store, args.neurons)[self.chosen]]
        literals = read_literals(store, "explain", blocks)
        self.neurons = NeuronExplainer(
            store, args.mining(), read_pool(store), literals, read_hubs(read_partial(store, HUBS)),
            read_word_statistics(read_partial(store, WORDS)),
            read_pairs(store, pairs), args.scored, args.seed, args.literals, args.card_literals,
            Controls.drawn(args.controls, args.neurons, measured, args.carded, args.seed), args.rotates,
        )  # fmt: skip

    def __call__(self, item: Item) -> Made:
        """Explain one range."""
        with threadpool_limits(1):
            tables = self.neurons.explain(self.chosen[item["first"] : item["stop"]])
        made: Made = {range_part(table, item): tables[table] for table in RANGED}
        number = item["range"]
        return {**made, values_file(number): tables["values"], explained_file(number): tables["explanations"]}


def make_tables(item: Item, args: ExplainArgs, ranges: list[Item], pairs: list[Item]) -> Made:
    """Group the neurons into families, and make the tables that need all neurons."""
    values, rows = (
        pa.concat_tables(read_partials(args.store, [file(each["range"]) for each in ranges]))
        for file in (values_file, explained_file)
    )
    rows, members = with_families(rows, args.neurons, read_pairs(args.store, pairs))
    literals = read_pool(args.store)
    return {CONTROLS: all_controls(values), FAMILIES: members, LITERALS: literals, EXPLANATIONS: rows}
