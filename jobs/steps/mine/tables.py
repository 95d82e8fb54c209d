"""The step of `mine` that sets what was mined against the baseline, and writes the tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.engine.item import Item
from jobs.stage.layout import Output, range_file, table_part, totals_file
from jobs.stage.runner import Step
from jobs.steps.mine.workers import Longs, MineArgs, MiningWorker
from ops.mine.baseline_counts import read_baselines
from ops.mine.held_out_sets import SETS, HeldOutSets, draw_others, others_of
from ops.mine.mean_rows import mean_rows
from ops.mine.pattern_rows import pattern_rows
from ops.mine.profile_rows import profile_rows
from ops.mine.properties import Profiler
from ops.mine.representation import represent
from ops.mine.row_groups import row_groups
from ops.mine.score_sets import score_sets
from ops.patterns.sequences import Sequences
from ops.schema import group_rows, schema
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.storage.tables import part_name, write_part
from ops.topk.neurons import POLES, neuron_and_pole

COLUMNS = {
    "own": ("auc", "auc_low", "auc_high"),
    "matched": ("matched_auc", "matched_low", "matched_high"),
    "random": ("random_auc", "random_low", "random_high"),
}
MAX_OTHERS = 1_000


def tables(no_scores: bool) -> tuple[str, ...]:
    """Return the tables that are written, in the order of their commit."""
    found = ("patterns", "profiles", "means", "scores")
    return found[:-1] if no_scores else found


def tables_step(args: MineArgs, ranges: list[Item]) -> Step:
    """Return the step that writes all tables."""

    def outputs(item: Item) -> list[Output]:
        return table_outputs(item, tables(args.options["no_scores"]))

    return Step("mine: tables", ranges, outputs, RangeFinisher, {"args": args}, "ranges of neurons")


def table_outputs(item: Item, tables: Sequence[str]) -> list[Output]:
    """Return the parts of these tables that a range of neurons has."""
    return [table_part(table, item["range"], f"range-{item['range']}") for table in tables]


def count_rows(store: Store, table: str, ranges: list[Item]) -> int:
    """Count the rows of all parts of a table."""

    def rows(item: Item) -> int:
        with store.parquet(part_name(table, item["range"])) as file:
            return int(file.metadata.num_rows)

    return sum(side_by_side(rows, ranges))


class RangeFinisher(MiningWorker):
    """Sets the candidates and properties of one range of neurons after another against the baseline."""

    def __init__(self, args: MineArgs) -> None:
        super().__init__(args)
        self.profiler = Profiler(self.text)
        with self.store.parquet(totals_file().path) as file:
            self.baseline, self.training = read_baselines(file.read(), self.profiler)
        self.draws = None if args.options["no_scores"] else HeldOutSets(self.sentences, args.seed)
        tested = np.flatnonzero(self.sentences.baseline & ~self.trains)
        self.others = draw_others(tested, MAX_OTHERS, args.seed)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Finish one range."""
        with self.store.parquet(range_file(item["range"]).path) as file:
            candidates = file.read().unify_dictionaries()
        number, winners = self.winners(item)
        sets, o = self.winner_sets(number, winners), self.args.options
        floor, filters = o["min_count"], (o["productivity"], o["max_patterns"])
        found = {
            "patterns": pattern_rows(candidates, self.kinds.values(), self.baseline, sets, floor, *filters),
            "profiles": profile_rows(self.profiler, self.baseline, sets, floor),
            "means": mean_rows(self.profiler, self.baseline, sets),
        }
        for table, (owner, rows) in found.items():
            self._write(item, table, number[owner], rows)
        if self.draws is not None:
            drawn = self.draws.draw(number, winners)
            self._write(item, "scores", number, self._scores(candidates, number, drawn))
        return {"range": item["range"]}

    def _scores(self, candidates: pa.Table, number: Longs, drawn: Sequences) -> pa.Table:
        """Score the sets drawn for each neuron and pole on the test documents; return all columns but the neuron's."""
        sets = self.training_sets(number, drawn)
        found = represent(candidates, self.kinds, self.training, sets, self.profiler, self.args.options["min_count"])
        held_out, others = drawn.where(~self.trains[drawn.items]), others_of(self.others, drawn)
        areas = score_sets(found, held_out, others)
        columns = {"n_winners": held_out.lengths[:: len(SETS)], "n_baseline": others.lengths[:: len(SETS)]}
        for place, name in enumerate(SETS):
            for column, measure in zip(COLUMNS[name], ("auc", "low", "high"), strict=True):
                values = [getattr(area, measure) for area in areas[place :: len(SETS)]]
                columns[column] = pa.array(values, pa.float64(), from_pandas=True)
        return pa.table(columns)

    def _write(self, item: Item, table: str, number: Longs, rows: pa.Table) -> None:
        """Write a range's part of a table, of whose rows each is of the neuron and pole with this number."""
        neuron, pole = neuron_and_pole(number)
        layer, unit = self.args.neurons.layer_and_unit(neuron)
        names = {"layer": pa.array(layer), "unit": pa.array(unit), "pole": pa.array(POLES).take(pole)}
        for name, column in names.items():
            rows = rows.append_column(name, column)
        own = schema(table)
        (output,) = table_outputs(item, [table])
        groups = row_groups(rows.select(own.names), neuron, group_rows(table))
        footer = output.footer(self.args.fingerprint, rows.num_rows)
        write_part(self.store, table, item["range"], own, groups, self.args.fingerprint, footer)
