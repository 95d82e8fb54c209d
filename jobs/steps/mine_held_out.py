"""The steps of `mine` for the held-out score: the training halves are mined and counted, the test halves scored."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from jobs.engine.item import Item
from jobs.stage.layout import Output, range_file, totals_file
from jobs.stage.step import Step
from jobs.steps.mine_patterns import BaselineCounter
from jobs.steps.mine_tables import table_outputs
from jobs.steps.mine_workers import MineArgs, MiningWorker, commit
from ops.mine.baseline_counts import Baseline, read_baseline
from ops.mine.candidates import SCHEMA, Winners, mine_winners
from ops.mine.held_out_sets import draw_others, matched_set, random_set, training_documents
from ops.mine.properties import Profiler
from ops.mine.representation import represent
from ops.schema import schema
from ops.statistics.auc import area
from ops.storage.tables import write_part
from ops.topk.neurons import POLES, neuron_and_pole

TRAINING = "training-"  # what the names of the training halves' files begin with
SETS = ("own", "matched", "random")
COLUMNS = {
    "own": ("auc", "auc_low", "auc_high"),
    "matched": ("matched_auc", "matched_low", "matched_high"),
    "random": ("random_auc", "random_low", "random_high"),
}
MAX_OTHERS = 1_000

Longs = npt.NDArray[np.int64]


def scores_step(args: MineArgs, ranges: list[Item]) -> Step:
    """Return the step that writes scores/."""

    def outputs(item: Item) -> list[Output]:
        return table_outputs(item, ["scores"])

    return Step("mine: scores", ranges, outputs, RangeScorer, {"args": args}, "ranges of neurons")


class HeldOutWorker(MiningWorker):
    """What the workers share: which documents train, and the sets of each neuron and pole."""

    def __init__(self, args: MineArgs) -> None:
        super().__init__(args)
        self.seed = args.seed
        training = training_documents(len(self.sentences.names["doc_id"]), self.seed)
        self.trains: npt.NDArray[np.bool_] = training[self.sentences.doc]
        self.baseline_rows = np.flatnonzero(self.sentences.baseline)
        self.lengths = self.sentences.lengths(np.arange(len(self.sentences.sent_id)))

    def sets(self, first: int, stop: int) -> Iterator[tuple[int, str, Longs]]:
        """Return the rows of each neuron's winners, of their matched set and of a random set, by number and name."""
        for winners in self.winners(first, stop):
            number, dataset = winners.number, self.sentences.dataset
            yield number, "own", winners.rows
            matched = matched_set(winners.rows, self.baseline_rows, dataset, self.lengths, self.seed, number)
            yield number, "matched", matched
            yield number, "random", random_set(self.baseline_rows, len(winners.rows), self.seed, number)

    def training_half(self, number: int, name: str, rows: Longs) -> Winners:
        """Return a set's training sentences; its number is 3 times the winners' plus the place of its name."""
        own = rows[self.trains[rows]]
        inside = np.asarray(self.sentences.baseline[own])
        return Winners(len(SETS) * number + SETS.index(name), own, inside, self.sentences.doc[own])


class TrainingMiner(HeldOutWorker):
    """Mines the training halves of one range of neurons after another."""

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Mine one range and commit its candidates."""
        halves = (self.training_half(*found) for found in self.sets(item["first"], item["stop"]))
        tables = [mine_winners(half, self.kinds.values(), self.args.options["min_count"]) for half in halves]
        table = pa.concat_tables([SCHEMA.empty_table(), *tables])
        commit(self.store, range_file(item["range"], TRAINING), table, self.args.fingerprint)
        return {"patterns": table.num_rows}


class TrainingCounter(HeldOutWorker, BaselineCounter):
    """Counts the training candidates over runs of the baseline's training sentences."""

    prefix = TRAINING

    def rows(self, item: Item) -> Longs:
        """Return the training rows of one run."""
        rows = super().rows(item)
        return rows[self.trains[rows]]


class RangeScorer(HeldOutWorker):
    """Scores one range of neurons after another on the test documents."""

    def __init__(self, args: MineArgs) -> None:
        super().__init__(args)
        self.profiler = Profiler(self.text)
        with self.store.parquet(totals_file(TRAINING).path) as file:
            self.baseline: Baseline = read_baseline(file.read(), self.profiler)
        self.tested = self.baseline_rows[~self.trains[self.baseline_rows]]

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Score one range and write its part of `scores/`."""
        with self.store.parquet(range_file(item["range"], TRAINING).path) as file:
            candidates = file.read()
        rows: dict[int, dict[str, Any]] = {}
        for number, name, members in self.sets(item["first"], item["stop"]):
            half = self.training_half(number, name, members)
            own = candidates.filter(pc.equal(candidates["set"], half.number))
            features = represent(own, self.kinds, self.baseline, half, self.profiler, self.args.options["min_count"])
            held_out = members[~self.trains[members]]
            others = draw_others(self.tested, members, MAX_OTHERS, self.seed)
            evidence = features.evidence(np.concatenate([held_out, others]), self.kinds, self.profiler)
            found = area(evidence[: len(held_out)], evidence[len(held_out) :])
            row = rows.setdefault(number, self._neuron(number))
            row |= dict(zip(COLUMNS[name], (found.auc, found.low, found.high), strict=True))
            if name == "own":
                row |= {"n_winners": len(held_out), "n_baseline": len(others)}
        layout = schema("scores")
        columns = [pa.array([r[f.name] for r in rows.values()], f.type, from_pandas=True) for f in layout]
        table = pa.table(columns, schema=layout)
        (output,) = table_outputs(item, ["scores"])
        footer = output.footer(self.args.fingerprint, table.num_rows)
        write_part(self.store, "scores", item["range"], layout, [table], self.args.fingerprint, footer)
        return {"neurons": table.num_rows}

    def _neuron(self, number: int) -> dict[str, Any]:
        neuron, pole = neuron_and_pole(number)
        layer, unit = (int(n[0]) for n in self.args.neurons.layer_and_unit(np.array([neuron])))
        return {"layer": layer, "unit": unit, "pole": POLES[pole]}
