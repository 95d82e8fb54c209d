"""The steps of `mine` that find the patterns: ranges of neurons are mined, the candidates counted over the baseline."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from jobs.engine.item import Item, Worker
from jobs.stage.layout import Output, range_file, run_file, totals_file, union_file
from jobs.stage.step import Step
from jobs.steps.mine_workers import MineArgs, MiningWorker, commit
from ops.mine.baseline_counts import add_up, baseline_table
from ops.mine.candidates import SCHEMA, from_keys, mine_winners, unite
from ops.mine.properties import Profiler
from ops.storage.store import Store


def mine_step(args: MineArgs, ranges: list[Item], what: str, worker: Callable[..., Worker], prefix: str = "") -> Step:
    """Return the step that mines the winners of each range of neurons.

    Args:
        args: what the workers are made from.
        ranges: as `neuron_ranges` returns them.
        what: shown with its progress.
        worker: does an item.
        prefix: what the names of its files begin with: empty, or `mine_held_out.TRAINING`.
    """

    def outputs(item: Item) -> list[Output]:
        return [range_file(item["range"], prefix)]

    return Step(f"mine: {what}", ranges, outputs, worker, {"args": args}, "ranges of neurons")


def count_step(args: MineArgs, runs: list[Item], what: str, worker: Callable[..., Worker], prefix: str = "") -> Step:
    """Return the step that counts all candidates over each run of baseline sentences.

    Args:
        args: what the workers are made from.
        runs: as `sentence_runs` returns them.
        what: shown with its progress.
        worker: does an item.
        prefix: what the names of its files begin with: empty, or `mine_held_out.TRAINING`.
    """

    def outputs(item: Item) -> list[Output]:
        return [run_file(item["run"], prefix)]

    return Step(f"mine: {what}", runs, outputs, worker, {"args": args}, "runs of sentences")


def unite_step(args: MineArgs, ranges: list[Item], prefix: str = "") -> Step:
    """Return the step, done in this process, that puts the candidates of all ranges together, each once."""
    files = [range_file(item["range"], prefix).path for item in ranges]
    return _joined(args, files, union_file(prefix), unite)


def add_up_step(args: MineArgs, runs: list[Item], prefix: str = "") -> Step:
    """Return the step, done in this process, that adds up the counts of all runs."""
    files = [run_file(item["run"], prefix).path for item in runs]
    return _joined(args, files, totals_file(prefix), add_up)


def _joined(args: MineArgs, files: list[str], output: Output, join: Callable[[Iterator[pa.Table]], pa.Table]) -> Step:
    given = {"out": args.out, "fingerprint": args.fingerprint, "files": files, "output": output, "join": join}
    return Step(f"mine: {output.name}", [{}], lambda _: [output], Joiner, given, here=True)


class Joiner:
    """Makes one table of the files of all items of a step, and commits it."""

    def __init__(
        self,
        out: str,
        fingerprint: str,
        files: list[str],
        output: Output,
        join: Callable[[Iterator[pa.Table]], pa.Table],
    ) -> None:
        self.store, self.fingerprint = Store(out), fingerprint
        self.files, self.output, self.join = files, output, join

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do it."""
        table = self.join(self._read(name) for name in self.files)
        commit(self.store, self.output, table, self.fingerprint)
        return {}

    def _read(self, name: str) -> pa.Table:
        with self.store.parquet(name) as file:
            return file.read()


class RangeMiner(MiningWorker):
    """Mines the winners of one range of neurons after another."""

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Mine one range and commit its candidates."""
        floor = self.args.options["min_count"]
        tables = [mine_winners(w, self.kinds.values(), floor) for w in self.winners(item["first"], item["stop"])]
        table = pa.concat_tables([SCHEMA.empty_table(), *tables])
        commit(self.store, range_file(item["range"]), table, self.args.fingerprint)
        return {"patterns": table.num_rows}


class BaselineCounter(MiningWorker):
    """Counts all candidates and all properties over runs of baseline sentences."""

    prefix = ""

    def __init__(self, args: MineArgs) -> None:
        super().__init__(args)
        with self.store.parquet(union_file(self.prefix).path) as file:
            union = file.read()
        self.keys, self.counters = {}, {}
        for name, kind in self.kinds.items():
            self.keys[name] = union["key"].filter(pc.equal(union["kind"], name)).combine_chunks()
            self.counters[name] = kind.counter(from_keys(self.keys[name]))
        self.profiler = Profiler(self.text)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Count over one run of the store's rows and commit the counts."""
        rows = self.rows(item)
        patterns = {name: (self.keys[name], self.counters[name](rows)) for name in self.kinds}
        table = baseline_table(len(rows), patterns, self.profiler, rows)
        commit(self.store, run_file(item["run"], self.prefix), table, self.args.fingerprint)
        return {"sentences": len(rows)}

    def rows(self, item: Item) -> npt.NDArray[np.int64]:
        """Return the baseline's rows of one run."""
        rows = item["first"] + np.flatnonzero(self.sentences.baseline[item["first"] : item["stop"]])
        return np.asarray(rows)
