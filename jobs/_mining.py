"""Workers of `mine`: a range of neurons is mined, the candidates counted over the baseline, the range finished."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs._engine import Item
from ops.mine.baseline_counts import Baseline, baseline_table, read_baseline
from ops.mine.candidates import SCHEMA, Winners, from_keys, least_support, mine_winners
from ops.mine.pattern_kinds import PatternKind, SequenceKind, SubtreeKind
from ops.mine.properties import Profiler
from ops.mine.table_rows import mean_rows, pattern_rows, profile_rows, row_groups
from ops.schema import group_rows, schema
from ops.sentences.mining_view import MiningView
from ops.sentences.store import open_sentences
from ops.storage.store import Store, shard_footer
from ops.storage.tables import part_name, write_part
from ops.topk.neurons import POLES, Neurons, neuron_and_pole, part_of, set_number


@dataclass(frozen=True)
class MineArgs:
    """What every mining worker is made from; `sentences` is the annotate stage's fingerprint."""

    out: str
    sentences: str
    fingerprint: str
    neurons: Neurons
    seed: int
    options: dict[str, Any]


def mined_file(number: int) -> str:
    """Return the path of a range's candidates."""
    return f"_partials/mine/range-{number:05d}.parquet"


def baseline_file(number: int) -> str:
    """Return the path of the counts over a run of baseline sentences."""
    return f"_partials/mine/run-{number:05d}.parquet"


def union_file() -> str:
    """Return the path of all ranges' candidates, each once."""
    return "_partials/mine/union.parquet"


def totals_file() -> str:
    """Return the path of the counts over the whole baseline."""
    return "_partials/mine/totals.parquet"


class MiningWorker:
    """What the workers share: the sentences, the kinds of patterns that they have, and the winners."""

    def __init__(self, args: MineArgs) -> None:
        self.args, self.store, o = args, Store(args.out), args.options
        self.sentences = open_sentences(self.store, args.sentences)
        self.text = MiningView(self.sentences, o["word_case"], o["subtree_root"] == "collapse")
        self.kinds: dict[str, PatternKind] = {}
        for name, column in (("word", "words"), ("tag", "tags")):
            if self.sentences.has[column]:
                gap = o[f"{name}_max_gap"]
                limits = (o[f"{name}_min_support"], o[f"{name}_max_length"], None if gap < 0 else gap)
                self.kinds[name] = SequenceKind(name, self.text, *limits, o["engine"])
        if self.sentences.has["labels"]:
            self.kinds["subtree"] = SubtreeKind(self.text, o["subtree_min_support"], o["subtree_max_nodes"])

    def winners(self, first: int, stop: int) -> Iterator[Winners]:
        """Return the winners of each neuron from `first` to `stop` - 1 and pole, numbered by `set_number`."""
        for part in range(part_of(first), part_of(stop - 1) + 1):
            with self.store.parquet(part_name("topk", part)) as file:
                table = file.read(columns=["layer", "unit", "pole", "sent_id"])
            neuron = self.args.neurons.number(table["layer"].to_numpy(), table["unit"].to_numpy())
            pole = pc.index_in(table["pole"], pa.array(POLES)).to_numpy().astype(np.int64)
            number = set_number(neuron, pole)
            ids = table["sent_id"].to_numpy()
            for own in np.unique(number[(neuron >= first) & (neuron < stop)]):
                begin, end = np.searchsorted(number, [own, own + 1])
                rows = self.sentences.rows(ids[begin:end])
                rows.sort()
                yield Winners(int(own), rows, np.asarray(self.sentences.baseline[rows]), self.sentences.doc[rows])

    def footer(self, name: str, rows: int) -> dict[bytes, bytes]:
        """Return the footer of a partial file."""
        return shard_footer(self.args.fingerprint, name, rows)

    def commit(self, path: str, name: str, table: pa.Table) -> None:
        """Commit a partial file."""
        described = table.replace_schema_metadata(self.footer(name, table.num_rows))
        self.store.commit(path, lambda local: pq.write_table(described, local, compression="zstd"))


class RangeMiner(MiningWorker):
    """Mines the winners of one range of neurons after another."""

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Mine one range and commit its candidates."""
        floor = self.args.options["min_count"]
        tables = [mine_winners(w, self.kinds.values(), floor) for w in self.winners(item["first"], item["stop"])]
        table = pa.concat_tables([SCHEMA.empty_table(), *tables])
        self.commit(mined_file(item["range"]), f"range-{item['range']}", table)
        return {"patterns": table.num_rows}


class BaselineCounter(MiningWorker):
    """Counts all candidates and all properties over runs of baseline sentences."""

    union = staticmethod(union_file)
    counts = staticmethod(baseline_file)

    def __init__(self, args: MineArgs) -> None:
        super().__init__(args)
        with self.store.parquet(self.union()) as file:
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
        self.commit(self.counts(item["run"]), f"run-{item['run']}", table)
        return {"sentences": len(rows)}

    def rows(self, item: Item) -> npt.NDArray[np.int64]:
        """Return the baseline's rows of one run."""
        rows = item["first"] + np.flatnonzero(self.sentences.baseline[item["first"] : item["stop"]])
        return np.asarray(rows)


class RangeFinisher(MiningWorker):
    """Sets the candidates and properties of one range of neurons after another against the baseline."""

    def __init__(self, args: MineArgs) -> None:
        super().__init__(args)
        self.profiler = Profiler(self.text)
        with self.store.parquet(totals_file()) as file:
            self.baseline: Baseline = read_baseline(file.read(), self.profiler)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Finish one range; `means/` is written last and so says that all three tables have their part."""
        with self.store.parquet(mined_file(item["range"])) as file:
            candidates = file.read()
        tables: dict[str, dict[int, list[pa.Table]]] = {"patterns": {}, "profiles": {}, "means": {}}
        options = self.args.options
        for winners in self.winners(item["first"], item["stop"]):
            neuron, pole = neuron_and_pole(winners.number)
            layer, unit = (int(n[0]) for n in self.args.neurons.layer_and_unit(np.array([neuron])))
            named = {"layer": layer, "unit": unit, "pole": POLES[pole]}
            own = candidates.filter(pc.equal(candidates["set"], winners.number))
            n1, n2 = len(winners.rows), self.baseline.sentences - int(winners.in_baseline.sum())
            found: dict[str, list[pa.Table]] = {"patterns": [], "profiles": [], "means": []}
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
        for table, by_neuron in tables.items():
            neurons = [pa.concat_tables(parts) for parts in by_neuron.values()]
            footer = self.footer(f"range-{item['range']}", sum(t.num_rows for t in neurons))
            groups = row_groups(neurons, group_rows(table))
            write_part(self.store, table, item["range"], schema(table), groups, self.args.fingerprint, footer)
        return {"range": item["range"]}


def _named(rows: pa.Table, neuron: dict[str, Any], table: str) -> pa.Table:
    own = schema(table)
    for name, value in neuron.items():
        rows = rows.append_column(name, pa.array([value] * rows.num_rows, own.field(name).type))
    return rows.select(own.names)
