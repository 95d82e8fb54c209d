"""The steps of `mine` that find the patterns: ranges of neurons are mined, the candidates counted over the baseline."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.engine.item import Item
from jobs.stage.files import write_partial
from jobs.stage.layout import Output, range_file, run_file, totals_file, union_file
from jobs.stage.runner import Step
from jobs.steps.mine.workers import MineArgs, MiningWorker
from ops.mine.baseline_counts import add_up, baseline_table, few_counts
from ops.mine.candidates import from_keys, mine_candidates, unite
from ops.mine.held_out_sets import HeldOutSets
from ops.mine.properties import Profiler
from ops.storage.side_by_side import AHEAD, side_by_side
from ops.storage.store import Store


def mine_step(args: MineArgs, ranges: list[Item]) -> Step:
    """Return the step that mines the winners of each range of neurons, and the training halves of its sets."""

    def outputs(item: Item) -> list[Output]:
        return [range_file(item["range"])]

    return Step("mine: patterns", ranges, outputs, RangeMiner, {"args": args}, "ranges of neurons")


def count_step(args: MineArgs, runs: list[Item]) -> Step:
    """Return the step that counts all candidates over each run of baseline sentences."""

    def outputs(item: Item) -> list[Output]:
        return [run_file(item["run"])]

    return Step("mine: baseline", runs, outputs, BaselineCounter, {"args": args}, "runs of sentences")


def unite_step(args: MineArgs, ranges: list[Item]) -> Step:
    """Return the step, done in this process, that puts the candidates of all ranges together, each once."""
    return _joined(args, [range_file(item["range"]).path for item in ranges], union_file(), unite)


def add_up_step(args: MineArgs, runs: list[Item]) -> Step:
    """Return the step, done in this process, that adds up the counts of all runs."""
    return _joined(args, [run_file(item["run"]).path for item in runs], totals_file(), add_up)


def _joined(args: MineArgs, files: list[str], output: Output, join: Callable[[Iterator[pa.Table]], pa.Table]) -> Step:
    given = {"store": args.store, "fingerprint": args.fingerprint, "files": files, "output": output, "join": join}
    return Step(f"mine: {output.name}", [{}], lambda _: [output], Joiner, given, here=True)


class Joiner:
    """Makes one table of the files of all items of a step, and commits it."""

    def __init__(
        self,
        store: Store,
        fingerprint: str,
        files: list[str],
        output: Output,
        join: Callable[[Iterator[pa.Table]], pa.Table],
    ) -> None:
        self.store, self.fingerprint = store, fingerprint
        self.files, self.output, self.join = files, output, join

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do it."""
        table = self.join(side_by_side(self._read, self.files, AHEAD))
        write_partial(self.store, self.output, table, self.fingerprint)
        return {}

    def _read(self, name: str) -> pa.Table:
        with self.store.parquet(name) as file:
            return file.read()


class RangeMiner(MiningWorker):
    """Mines one range of neurons after another."""

    def __init__(self, args: MineArgs) -> None:
        super().__init__(args)
        self.draws = None if args.options["no_scores"] else HeldOutSets(self.sentences, args.seed)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Mine one range and commit its candidates."""
        number, winners = self.winners(item)
        sets = [self.winner_sets(number, winners)]
        if self.draws is not None:
            sets.append(self.training_sets(number, self.draws.draw(number, winners)))
        floor = self.args.options["min_count"]
        table = pa.concat_tables([mine_candidates(some, self.kinds.values(), floor) for some in sets])
        write_partial(self.store, range_file(item["range"]), table.unify_dictionaries(), self.args.fingerprint)
        return {"patterns": table.num_rows}


class BaselineCounter(MiningWorker):
    """Counts all candidates and all properties over runs of baseline sentences, training and test documents apart."""

    def __init__(self, args: MineArgs) -> None:
        super().__init__(args)
        with self.store.parquet(union_file().path) as file:
            union = file.read()
        self.patterns = {}
        for name, kind in self.kinds.items():
            keys = union["key"].filter(pc.equal(union["kind"], name)).combine_chunks()
            self.patterns[name] = (keys, kind.counter(from_keys(keys)))
        self.profiler = Profiler(self.text)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Count over one run of the store's rows and commit the counts."""
        rows = item["first"] + np.flatnonzero(self.sentences.baseline[item["first"] : item["stop"]])
        trains = self.trains[rows]
        # The first run says what the lines are of.
        count = few_counts if item["run"] else baseline_table
        table = count(self.patterns, self.profiler, (rows[trains], rows[~trains]))
        write_partial(self.store, run_file(item["run"]), table, self.args.fingerprint)
        return {"sentences": len(rows)}
