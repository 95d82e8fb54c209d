"""The steps of `mine`, which mine ranges of neurons, count their patterns over the baseline and write the tables."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.engine.item import Item
from jobs.mine.job import MINE_OPTIONS, MineConfig
from jobs.stage.files import Output, TablePart, partial_file, read_partial, read_partials, table_part, write_partial
from jobs.stage.runner import Stage, Step
from jobs.stage.stages import CODES
from ops.mine.baseline_counts import BlockCounter, add_up
from ops.mine.candidates import unite
from ops.mine.chance import FAMILIES, chance_rows, count_findings, summary
from ops.mine.mining import Mining
from ops.mine.properties import Profiler
from ops.mine.range_tables import RangeTables
from ops.sentences.local_copy import open_sentences
from ops.shards import spans
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.store import Store
from ops.topk.neurons import Neurons, neuron_and_pole, read_neurons
from ops.topk.silent import read_silent

# winners of one pole in a range; the fewest and most neurons in a range
WINNERS_PER_RANGE, NEURONS_PER_RANGE = 160_000, (16, 64)
SENTENCES_PER_COUNT, RUNS, MOST_PER_COUNT = 50_000, 160, 200_000

CHANCE = table_part("chance", 0, "chance")
UNION = partial_file("mine", "union")  # the distinct candidates of all ranges
TOTALS = partial_file("mine", "totals")  # the counts over the complete baseline


@dataclass(frozen=True)
class MineArgs:
    """The arguments of every mining worker; `sentences` is the fingerprint of the annotate stage."""

    store: Store
    sentences: str
    fingerprint: str
    neurons: Neurons
    seed: int
    options: dict[str, Any]

    @property
    def mined(self) -> int:
        """The number of neurons that are mined."""
        return len(self.options["units"]) or len(self.neurons)

    def open(self, draws: bool = True) -> Mining:
        """Return the data to mine, from this machine's copy of the sentences; `draws` is an argument of `Mining`."""
        sentences = open_sentences(self.store, CODES, self.sentences)
        return Mining(sentences, self.neurons, self.options, self.seed, draws)


def mine_args(config: MineConfig, stage: Stage, neurons: Neurons) -> MineArgs:
    """Return the arguments of the workers."""
    options = {name: value for name, value in config.model_dump(mode="json").items() if name in MINE_OPTIONS}
    annotate = stage.record.require("annotate")["fingerprint"]
    return MineArgs(stage.store, annotate, stage.fingerprint, neurons, config.seed, options)


def neuron_ranges(neurons: int, k: int, null_sets: int = 0) -> list[Item]:
    """Return the ranges of the neurons as items, by position, followed by the ranges of random sets.

    If each neuron has many winners (`k`), ranges are shorter. Otherwise a range would take minutes, and so would the
    last round of the workers.
    """
    size = min(max(WINNERS_PER_RANGE // k, NEURONS_PER_RANGE[0]), NEURONS_PER_RANGE[1])
    every = [*spans(neurons, size), *((neurons + first, neurons + stop) for first, stop in spans(null_sets, size))]
    return [{"range": i, "first": first, "stop": stop} for i, (first, stop) in enumerate(every)]


def sentence_runs(sentences: int) -> list[Item]:
    """Return the blocks of the annotated sentences as items.

    A large corpus has longer blocks, because each block takes some time for every pattern that was mined.
    """
    size = max(SENTENCES_PER_COUNT, min(sentences // RUNS, MOST_PER_COUNT))
    return [{"run": i, "first": first, "stop": stop} for i, (first, stop) in enumerate(spans(sentences, size))]


def range_file(item: Item) -> Output:
    """Return the file of the candidates of a range of neurons."""
    return replace(partial_file("mine", "range", item["range"]), name=_name(item))


def findings_file(item: Item) -> Output:
    """Return the file that says how many sets of a range have a finding."""
    return replace(partial_file("mine", "findings", item["range"]), name=f"findings-{_name(item)}")


def run_file(number: int) -> Output:
    """Return the file of the counts over a block of baseline sentences."""
    return partial_file("mine", "run", number)


def tables(no_scores: bool, null_sets: int = 0) -> tuple[str, ...]:
    """Return the tables that are written, in the order in which they are committed."""
    found = ("patterns", "profiles", "means", *(() if no_scores else ("scores",)))
    return (*found, "chance") if null_sets else found


def range_part(table: str, item: Item) -> TablePart:
    """Return the part of a table for a range of neurons."""
    return table_part(table, item["range"], _name(item))


def _name(item: Item) -> str:
    """Return a name for a range that states its neurons, so that ranges of different sizes are never confused."""
    return f"neurons-{item['first']}-{item['stop']}"


def mine(config: MineConfig, stage: Stage) -> dict[str, Any]:
    """Do the missing items of all steps, and return the number of rows of each table."""
    args = mine_args(config, stage, read_neurons(stage.store))
    k = stage.record.require("topk")["identity"]["k"]
    ranges = neuron_ranges(args.mined, k, config.null_sets)
    for step in mine_steps(args, ranges, sentence_runs(stage.record.require("annotate")["counts"]["sentences"])):
        stage.do(step)
    own = [item for item in ranges if not is_random(args, item)]
    counts = {table: count_rows(stage.store, table, own) for table in tables(config.no_scores)}
    if config.null_sets:
        with stage.store.parquet(CHANCE.path) as file:
            found = file.read()
        counts["chance"] = found.num_rows
        print(f"mine: {summary(found)}", file=sys.stderr)
    return counts


def mine_steps(args: MineArgs, ranges: list[Item], runs: list[Item]) -> list[Step]:
    """Return the steps in the order in which they must be done.

    Args:
        args: the arguments of the workers.
        ranges: the ranges of neurons, as `neuron_ranges` returns them.
        runs: the blocks of sentences, as `sentence_runs` returns them.
    """
    steps = [
        mine_step(args, ranges),
        unite_step(args, ranges),
        count_step(args, runs),
        add_up_step(args, runs),
        tables_step(args, ranges),
    ]
    return [*steps, chance_step(args, ranges)] if any(is_random(args, item) for item in ranges) else steps


def is_random(args: MineArgs, item: Item) -> bool:
    """Tell whether a range consists of random sets."""
    return bool(item["first"] >= args.mined)


def mine_step(args: MineArgs, ranges: list[Item]) -> Step:
    """Return the step that mines the winners of each range of neurons, and the training halves of its sets."""

    def outputs(item: Item) -> list[Output]:
        return [range_file(item)]

    return Step("mine: patterns", ranges, outputs, RangeMiner, {"args": args}, "ranges of neurons")


def unite_step(args: MineArgs, ranges: list[Item]) -> Step:
    """Return the step, done in this process, that combines the distinct candidates of all ranges."""
    return _joined(args, [range_file(item) for item in ranges], UNION, unite)


def count_step(args: MineArgs, runs: list[Item]) -> Step:
    """Return the step that counts all candidates over each block of baseline sentences."""

    def outputs(item: Item) -> list[Output]:
        return [run_file(item["run"])]

    return Step("mine: baseline", runs, outputs, BaselineCounter, {"args": args}, "runs of sentences")


def add_up_step(args: MineArgs, runs: list[Item]) -> Step:
    """Return the step, done in this process, that adds up the counts of all blocks."""
    return _joined(args, [run_file(item["run"]) for item in runs], TOTALS, add_up)


def tables_step(args: MineArgs, ranges: list[Item]) -> Step:
    """Return the step that writes all tables."""

    def outputs(item: Item) -> list[Output]:
        written: list[Output] = []
        if not is_random(args, item):
            written += [range_part(table, item) for table in tables(args.options["no_scores"])]
        return [*written, findings_file(item)] if args.options["null_sets"] else written

    return Step("mine: tables", ranges, outputs, RangeFinisher, {"args": args}, "ranges of neurons")


def chance_step(args: MineArgs, ranges: list[Item]) -> Step:
    """Return the step, done in this process, that finds how many neurons would have a finding by chance."""
    files = [findings_file(item) for item in ranges]
    return Step("mine: chance", [{}], lambda _: [CHANCE], ChanceWriter, {"args": args, "files": files}, here=True)


Join = Callable[[Iterator[pa.Table]], pa.Table]


def _joined(args: MineArgs, files: Sequence[Output], output: Output, join: Join) -> Step:
    given = {"args": args, "files": files, "output": output, "join": join}
    return Step(f"mine: {output.name}", [{}], lambda _: [output], Joiner, given, here=True)


class RangeMiner:
    """Mines ranges of neurons."""

    def __init__(self, args: MineArgs) -> None:
        self.args, self.mining = args, args.open()

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Mine one range and commit its candidates."""
        table = self.mining.candidates(*self.mining.winners(self.args.store, item["first"], item["stop"]))
        write_partial(self.args.store, range_file(item), table, self.args.fingerprint)
        return {"patterns": table.num_rows}


class Joiner:
    """Combines the files of all items of a step into one table, and commits it."""

    def __init__(self, args: MineArgs, files: Sequence[Output], output: Output, join: Join) -> None:
        self.args, self.files, self.output, self.join = args, files, output, join

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Combine the files and commit the table."""
        table = self.join(read_partials(self.args.store, self.files, at_once=LARGE_FILES_AT_ONCE))
        write_partial(self.args.store, self.output, table, self.args.fingerprint)
        return {}


class BaselineCounter:
    """Counts candidates and properties over blocks of baseline sentences, with training and test documents apart."""

    def __init__(self, args: MineArgs) -> None:
        self.args, self.mining = args, args.open(draws=False)
        self.counter = BlockCounter(read_partial(args.store, UNION), self.mining.kinds, Profiler(self.mining.text))

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Count over one block of annotated sentences and commit the counts."""
        rows = self.mining.baseline_rows(item["first"], item["stop"])
        write_partial(self.args.store, run_file(item["run"]), self.counter.count(rows), self.args.fingerprint)
        return {"sentences": sum(map(len, rows))}


class RangeFinisher:
    """Compares the candidates and properties of ranges of neurons with the baseline."""

    def __init__(self, args: MineArgs) -> None:
        self.args, self.mining = args, args.open()
        self.tables = RangeTables(self.mining, *(read_partial(args.store, file) for file in (UNION, TOTALS)))
        # Random sets are numbered as if they belonged to further neurons, none of them silent.
        self.silent = np.append(read_silent(args.store, args.neurons), False)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Write the part of every table for one range."""
        store = self.args.store
        candidates = read_partial(store, range_file(item)).unify_dictionaries()
        winners = self.mining.winners(store, item["first"], item["stop"])
        kept: dict[str, list[pa.Table]] = {}
        for table, groups in self.tables.of(candidates, *winners):
            rows = list(groups)
            if self.args.options["null_sets"] and table in FAMILIES:
                kept[table] = rows
            if not is_random(self.args, item):
                range_part(table, item).write(store, rows, self.args.fingerprint)
        if self.args.options["null_sets"]:
            neuron, _ = neuron_and_pole(winners[0])
            measured = winners[0][~self.silent[np.minimum(neuron, len(self.mining.neurons))]]
            found = count_findings(kept, self.mining.neurons, measured)
            write_partial(store, findings_file(item), found, self.args.fingerprint)
        return {"range": item["range"]}


class ChanceWriter:
    """Writes the findings of all ranges, next to the findings of random sets."""

    def __init__(self, args: MineArgs, files: Sequence[Output]) -> None:
        self.args, self.files = args, files

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Write the table."""
        rows = chance_rows(read_partials(self.args.store, self.files))
        CHANCE.write(self.args.store, [rows], self.args.fingerprint)
        return {}


def count_rows(store: Store, table: str, ranges: list[Item]) -> int:
    """Return the number of rows in all parts of a table."""

    def rows(item: Item) -> int:
        with store.parquet(range_part(table, item).path) as file:
            return int(file.metadata.num_rows)

    return sum(side_by_side(rows, ranges))
