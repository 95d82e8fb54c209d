"""The stage `mine`: ranges of neurons are mined, their patterns are counted over the baseline, and tables written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.engine.item import Item
from jobs.mine.job import MINE_OPTIONS, MineConfig
from jobs.run_folder.run import Run
from jobs.run_folder.stages import CODES
from jobs.stage.columns import check_column
from jobs.stage.outputs import Output, partial_file, read_partial, read_partials, whole_table
from jobs.stage.ranges import neuron_ranges, range_name, range_part, sentence_blocks
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.scored import Scored, StageArgs
from jobs.stage.step import Made, Step, Steps
from jobs.stage.units import chosen_units
from ops.errors import InputError
from ops.mine.baseline_counts import BlockCounter, add_up
from ops.mine.candidates import unite
from ops.mine.chance import FAMILIES, chance_rows, count_findings, summary
from ops.mine.mining import Mining
from ops.mine.properties import Profiler
from ops.mine.range_tables import RangeTables
from ops.sentences.local_copy import open_sentences
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE
from ops.topk.neurons import neuron_and_pole
from ops.topk.silent import read_silent

SENTENCES_PER_BLOCK, BLOCKS, MOST_PER_BLOCK = 50_000, 160, 200_000
PATTERNS_EACH, PROFILES_EACH = 60, 40  # rows of a neuron and pole in a small run, for --dry-run

CHANCE = whole_table("chance")
UNION = partial_file("mine", "union")  # the distinct candidates of all ranges
TOTALS = partial_file("mine", "totals")  # the counts over the complete baseline


def mine(config: MineConfig, run: Run) -> None:
    """Run the stage, or the missing part of it."""
    check_engine(config)
    if config.engine == "prefixspan":
        config = config.model_copy(update={"word_max_gap": -1, "tag_max_gap": -1})
    run.require_current("annotate")
    for key in config.nuisance:
        check_column(run, "--nuisance", key)
    nuisance = tuple(sorted(set(config.nuisance)))
    config = config.model_copy(update={"nuisance": nuisance, "units": chosen_units(config, run, "mined")})
    resolved = config.model_dump(mode="json")
    depends_on = {name: value for name, value in resolved.items() if name in (*MINE_OPTIONS, "seed")}
    stage = begin_stage("mine", config, run, depends_on, counted=("patterns", "patterns"))
    if stage is None:
        return
    scored = Scored.of(run)
    sets = scored.sets * (len(config.units) or len(scored.neurons)) // max(len(scored.neurons), 1)
    rows = {
        "patterns": sets * PATTERNS_EACH, "profiles": sets * PROFILES_EACH, "means": sets,
        "scores": 0 if config.no_scores else sets, "chance": 0 if not config.null_sets else sets,
    }  # fmt: skip
    stage.complete(mine_steps(config, stage, scored), rows)
    stage.drop_copies()


def check_engine(config: MineConfig) -> None:
    """Refuse a gap limit for the prefixspan package, which does not support one.

    Raises:
        InputError: a gap limit was requested.
    """
    for name in ("word_max_gap", "tag_max_gap"):
        given = name in config.model_fields_set and getattr(config, name) != MineConfig.model_fields[name].default
        if config.engine == "prefixspan" and given and getattr(config, name) >= 0:
            raise InputError(
                f"--{name.replace('_', '-')}: the prefixspan engine has no gap limit; give -1 or leave it out"
            )


@dataclass(frozen=True, kw_only=True)
class MineArgs(StageArgs):
    """The arguments of every mining worker.

    Attributes:
        sentences: the fingerprint of the annotate stage, which identifies a machine's copy of the sentences.
        options: the options of `mine`.
    """

    sentences: str
    options: dict[str, Any]

    @property
    def mined(self) -> int:
        """The number of neurons that are mined."""
        return len(self.options["units"]) or len(self.neurons)

    def open(self) -> Mining:
        """Return the data to mine, from this machine's copy of the sentences."""
        sentences = open_sentences(self.store, CODES, self.sentences)
        return Mining(sentences, self.neurons, self.options, self.seed)

    def tables(self, item: Item) -> tuple[str, ...]:
        """Return the tables that have a part for a range, in the order of their commits; random sets have none."""
        if item["first"] >= self.mined:
            return ()
        return ("patterns", "profiles", "means", *(() if self.options["no_scores"] else ("scores",)))


def candidates_file(item: Item) -> Output:
    """Return the file of the candidates of a range of neurons."""
    return replace(partial_file("mine", "range", item["range"]), name=range_name(item))


def findings_file(item: Item) -> Output:
    """Return the file that says how many sets of a range have a finding."""
    return replace(partial_file("mine", "findings", item["range"]), name=f"findings-{range_name(item)}")


def counts_file(item: Item) -> Output:
    """Return the file of the counts over a block of baseline sentences."""
    return partial_file("mine", "block", item["block"])


def mine_steps(config: MineConfig, stage: Stage, scored: Scored) -> Steps:
    """Yield the steps, and return the number of rows of each table."""
    options = {name: value for name, value in config.model_dump(mode="json").items() if name in MINE_OPTIONS}
    annotate = stage.run.require("annotate")
    args = MineArgs(
        store=stage.store, neurons=scored.neurons, seed=config.seed, sentences=annotate["fingerprint"], options=options
    )
    ranges = neuron_ranges(args.mined, scored.k, config.null_sets)
    yield steps_of(args, ranges, baseline_blocks(annotate["counts"]["sentences"]), scored)
    counts = dict.fromkeys(args.tables(ranges[0]), 0)
    for item in ranges:
        for table in args.tables(item):
            with stage.store.parquet(range_part(table, item).path) as file:
                counts[table] += file.metadata.num_rows
    if config.null_sets:
        with stage.store.parquet(CHANCE.path) as file:
            chance = file.read()
        counts["chance"] = chance.num_rows
        stage.say(summary(chance))
    return counts


def baseline_blocks(sentences: int) -> list[Item]:
    """Return the blocks of the annotated sentences as items.

    A large corpus has longer blocks, because each block takes some time for every pattern that was mined.
    """
    return sentence_blocks(sentences, max(SENTENCES_PER_BLOCK, min(sentences // BLOCKS, MOST_PER_BLOCK)))


def steps_of(args: MineArgs, ranges: list[Item], blocks: list[Item], scored: Scored) -> list[Step]:
    """Return the steps in the order in which they must be done.

    Args:
        args: the arguments of the workers.
        ranges: the ranges of neurons, followed by the ranges of random sets.
        blocks: the blocks of the annotated sentences.
        scored: what `topk` left behind.
    """
    winners = (args.mined + args.options["null_sets"]) * scored.poles * scored.k
    given, kept = {"args": args}, bool(args.options["null_sets"])

    def finished(item: Item) -> list[Output]:
        return [*(range_part(table, item) for table in args.tables(item)), *([findings_file(item)] if kept else [])]

    steps = [
        Step(
            name="mine: patterns", items=ranges, outputs=lambda item: [candidates_file(item)], worker=RangeMiner,
            args=given, unit="ranges of neurons", amount=winners,
        ),
        _joined(args, [candidates_file(item) for item in ranges], UNION, unite),
        Step(
            name="mine: baseline", items=blocks, outputs=lambda item: [counts_file(item)], worker=BaselineCounter,
            args=given, unit="blocks of sentences", amount=winners * len(blocks),
        ),
        _joined(args, [counts_file(item) for item in blocks], TOTALS, add_up),
        Step(
            name="mine: tables", items=ranges, outputs=finished, worker=RangeFinisher, args=given,
            unit="ranges of neurons", amount=winners,
        ),
    ]  # fmt: skip
    return [*steps, _joined(args, [findings_file(item) for item in ranges], CHANCE, chance_rows)] if kept else steps


def _joined(
    args: MineArgs, files: list[Output], output: Output, join: Callable[[Iterable[pa.Table]], pa.Table]
) -> Step:
    """Return a step, done in this process, that makes one table from the files of all items of another step."""
    return Step(
        name=f"mine: {output.name}", items=[{}], outputs=lambda _: [output], args={}, here=True,
        worker=lambda _: join(read_partials(args.store, files, at_once=LARGE_FILES_AT_ONCE)),
    )  # fmt: skip


class RangeMiner:
    """Mines the winners of ranges of neurons, and both halves of the sets that are scored."""

    def __init__(self, args: MineArgs) -> None:
        self.args, self.mining = args, args.open()

    def __call__(self, item: Item) -> Made:
        """Mine one range."""
        winners = self.mining.winners(self.args.store, item["first"], item["stop"])
        return {candidates_file(item): self.mining.candidates(*winners)}


class BaselineCounter:
    """Counts candidates and properties over blocks of baseline sentences, for each half of the documents."""

    def __init__(self, args: MineArgs) -> None:
        self.mining = args.open()
        self.counter = BlockCounter(read_partial(args.store, UNION), self.mining.kinds, Profiler(self.mining.text))

    def __call__(self, item: Item) -> Made:
        """Count over one block of annotated sentences."""
        rows = self.mining.baseline_rows(item["first"], item["stop"])
        return {counts_file(item): self.counter.count(rows)}


class RangeFinisher:
    """Compares the candidates and properties of ranges of neurons with the baseline."""

    def __init__(self, args: MineArgs) -> None:
        self.args, self.mining = args, args.open()
        self.tables = RangeTables(self.mining, *(read_partial(args.store, file) for file in (UNION, TOTALS)))
        # Random sets are numbered as if they belonged to further neurons, none of them silent.
        self.silent = np.append(read_silent(args.store, args.neurons), False)

    def __call__(self, item: Item) -> Made:
        """Return the part of every table for one range."""
        store = self.args.store
        candidates = read_partial(store, candidates_file(item)).unify_dictionaries()
        winners = self.mining.winners(store, item["first"], item["stop"])
        rows = {table: list(groups) for table, groups in self.tables.of(candidates, *winners)}
        made: dict[Output, Any] = {range_part(table, item): rows[table] for table in self.args.tables(item)}
        if self.args.options["null_sets"]:
            neuron, _ = neuron_and_pole(winners[0])
            measured = winners[0][~self.silent[np.minimum(neuron, len(self.mining.neurons))]]
            families = {table: rows[table] for table in FAMILIES if table in rows}
            made[findings_file(item)] = count_findings(families, self.mining.neurons, measured)
        return made
