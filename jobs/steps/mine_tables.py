"""The step of `mine` that sets what was mined against the baseline, and writes the tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.engine.item import Item
from jobs.stage.layout import Output, range_file, table_part, totals_file
from jobs.stage.step import Step
from jobs.steps.mine_workers import MineArgs, MiningWorker
from ops.mine.baseline_counts import Baseline, read_baseline
from ops.mine.candidates import least_support
from ops.mine.properties import Profiler
from ops.mine.table_rows import mean_rows, pattern_rows, profile_rows, row_groups
from ops.schema import group_rows, schema
from ops.storage.store import Store
from ops.storage.tables import part_name, write_part
from ops.topk.neurons import POLES, neuron_and_pole

TABLES = ("patterns", "profiles", "means")  # in the order of their commit


def tables_step(args: MineArgs, ranges: list[Item]) -> Step:
    """Return the step that writes patterns/, profiles/ and means/."""

    def outputs(item: Item) -> list[Output]:
        return table_outputs(item, TABLES)

    return Step("mine: tables", ranges, outputs, RangeFinisher, {"args": args}, "ranges of neurons")


def table_outputs(item: Item, tables: Sequence[str]) -> list[Output]:
    """Return the parts of these tables that a range of neurons has."""
    return [table_part(table, item["range"], f"range-{item['range']}") for table in tables]


def count_rows(store: Store, table: str, ranges: list[Item]) -> int:
    """Count the rows of all parts of a table."""
    rows = 0
    for item in ranges:
        with store.parquet(part_name(table, item["range"])) as file:
            rows += file.metadata.num_rows
    return rows


class RangeFinisher(MiningWorker):
    """Sets the candidates and properties of one range of neurons after another against the baseline."""

    def __init__(self, args: MineArgs) -> None:
        super().__init__(args)
        self.profiler = Profiler(self.text)
        with self.store.parquet(totals_file().path) as file:
            self.baseline: Baseline = read_baseline(file.read(), self.profiler)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Finish one range."""
        with self.store.parquet(range_file(item["range"]).path) as file:
            candidates = file.read()
        tables: dict[str, dict[int, list[pa.Table]]] = {table: {} for table in TABLES}
        options = self.args.options
        for winners in self.winners(item["first"], item["stop"]):
            neuron, pole = neuron_and_pole(winners.number)
            layer, unit = (int(n[0]) for n in self.args.neurons.layer_and_unit(np.array([neuron])))
            named = {"layer": layer, "unit": unit, "pole": POLES[pole]}
            own = candidates.filter(pc.equal(candidates["set"], winners.number))
            n1, n2 = len(winners.rows), self.baseline.sentences - int(winners.in_baseline.sum())
            found: dict[str, list[pa.Table]] = {table: [] for table in TABLES}
            for name in sorted(self.kinds):
                kind = self.kinds[name]
                found["patterns"].append(
                    pattern_rows(
                        own.filter(pc.equal(own["kind"], name)), kind, self.baseline, n1, n2,
                        least_support(kind.min_support, n1, options["min_count"]),
                        options["productivity"], options["max_patterns"],
                    )
                )  # fmt: skip
            found["profiles"].append(profile_rows(self.profiler, self.baseline, winners, options["min_count"]))
            found["means"].append(mean_rows(self.profiler, self.baseline, winners))
            for table, rows in found.items():
                tables[table].setdefault(neuron, []).extend(_named(part, named, table) for part in rows)
        for table, output in zip(TABLES, table_outputs(item, TABLES), strict=True):
            neurons = [pa.concat_tables(parts) for parts in tables[table].values()]
            footer = output.footer(self.args.fingerprint, sum(t.num_rows for t in neurons))
            groups = row_groups(neurons, group_rows(table))
            write_part(self.store, table, item["range"], schema(table), groups, self.args.fingerprint, footer)
        return {"range": item["range"]}


def _named(rows: pa.Table, neuron: dict[str, Any], table: str) -> pa.Table:
    own = schema(table)
    for name, value in neuron.items():
        rows = rows.append_column(name, pa.array([value] * rows.num_rows, own.field(name).type))
    return rows.select(own.names)
