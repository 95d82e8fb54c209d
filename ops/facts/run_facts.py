"""What is known about a run before any of its neurons is read: its options, units, scores and rules."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ops.errors import InputError
from ops.facts.findings import LEAST_COUNT
from ops.facts.rows import POLE, Key, Pair, Row, Rows, any_of, grouped, key_of
from ops.schema import schema
from ops.schema.verdicts import RULE
from ops.sentences.selection import THRESHOLDS, most_wins, with_winners
from ops.storage.open_tables import OpenTables
from ops.storage.store import Store
from ops.topk.neurons import read_neurons
from ops.topk.silent import COLUMNS, heard, silent_neurons
from ops.topk.unit_names import unit_names

MOST_WORDS = 5  # maximum number of words that stand for a neuron in a list


class RunFacts:
    """What is known about a run by its run.json; the stages topk, annotate and mine must be complete.

    Attributes:
        tables: the run's tables, opened once.
        table_names: the names of the tables that the run has.
        stages: the entries of its complete stages in run.json.
        options: the options of `mine`.
        units, names: the units of each layer, and the names of the run's units.
        poles: the poles of the run.
        winners: the number of winners of each neuron and pole.
        most_wins: maximum number of neurons and poles that a sentence may win without being a hub.
        silent: layer and unit of the silent neurons, which lists and the map do not show.
        first_counts: whether the first token of a sentence counts for the pooled activation.
    """

    def __init__(self, store: Store, run: Row) -> None:
        self.tables, self.units = OpenTables(store), read_neurons(store)
        self.table_names = frozenset(name for name, files in run["tables"].items() if files)
        self.stages: Row = {name: entry for name, entry in run["stages"].items() if entry["complete"]}
        self.options: Row = self.stages["mine"]["config"]
        topk = self.stages["topk"]
        kept, scored = topk["identity"]["poles"], topk["counts"]["scored"]
        self.names = unit_names(topk)
        self.poles: tuple[str, ...] = ("top", "bottom") if kept == "both" else (kept,)
        self.first_counts = not topk["counts"].get("leaves_first", False)
        self.winners: int = min(topk["identity"]["k"], scored)
        neurons = self.tables.read("neurons", None, [*COLUMNS, *THRESHOLDS])
        self.most_wins = most_wins(self.winners, scored, with_winners(neurons))
        self.silent = silent_neurons(neurons)

    def read(self, table: str, where: pc.Expression | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of a table that satisfy `where` (None: all rows); no rows if the run lacks the table."""
        if table not in self.table_names:
            return pa.table({})
        return self.tables.read(table, where, list(columns) if columns else None)

    def read_numbered(self, table: str, neurons: Rows, where: pc.Expression, columns: Sequence[str]) -> pa.Table:
        """Return some columns of the rows of some neurons and poles, with `number`, the index of the neuron and pole.

        They are read layer by layer, so that no layer's rows of other neurons stay in memory.
        """
        keys = pa.schema([schema("topk").field(name) for name in POLE])
        numbers = pa.array(range(len(neurons)), pa.int64())
        numbered = pa.Table.from_pylist(neurons, keys).append_column("number", numbers)
        parts = []
        for (layer,), layer_neurons in grouped(neurons, ("layer",)).items():
            here = (pc.field("layer") == layer) & pc.field("unit").isin(sorted({row["unit"] for row in layer_neurons}))
            rows = self.read(table, here & where, [*POLE, *columns])
            parts.append(rows.join(numbered, list(POLE), join_type="inner").select(["number", *columns]))
        return pa.concat_tables(parts)

    def has(self, layer: int, unit: int) -> bool:
        """Return whether the run has this neuron."""
        return 0 <= unit < self.units.width(layer)

    def is_mined(self, layer: int, unit: int) -> bool:
        """Return whether the run mined this neuron; with `--units` it mined only those."""
        return not self.options.get("units") or f"{layer}:{unit}" in self.options["units"]

    def check(self, flag: str, neuron: Pair) -> Pair:
        """Return the layer and unit of a neuron that an option names.

        Raises:
            InputError: the run has no such neuron.
        """
        layer, unit = neuron
        if self.has(layer, unit):
            return neuron
        raise InputError(f"{flag} {layer}:{unit}: there is no such neuron; {self.units.known()}")

    @cached_property
    def scores(self) -> pa.Table:
        """The rows of scores/ without silent neurons; empty if the run has no scores."""
        return heard(self.read("scores"), self.silent)

    @cached_property
    def rules(self) -> Rows:
        """The leader of each family that has a rule, those surely furthest beyond their controls first.

        Each has `text`, `f1` with its interval, `margin_low` (how far F1 is at least above the best control), and
        `family`. Silent neurons are excluded.
        """
        led = set(map(key_of, self.read("families", pc.field("is_leader"), POLE).to_pylist()))
        columns = [*POLE, "text", "f1", "f1_low", "f1_high", "margin_low", "family"]
        explanations = heard(self.read("explanations", pc.field("verdict") == RULE, columns), self.silent).to_pylist()
        rows = [row for row in explanations if key_of(row) in led]
        return sorted(rows, key=lambda row: (-row["margin_low"], *key_of(row)))

    def scored(self) -> Rows:
        """Return the scores above their matched sets' with the highest excess first."""
        known = [row for row in self.scores.to_pylist() if row["auc_excess"] is not None]
        return sorted(known, key=lambda row: (-row["auc_excess"], *key_of(row)))

    def words(self, rows: Rows) -> dict[Key, list[str]]:
        """Return the strongest word patterns of the winners of each of these neurons and poles."""
        if not rows:
            return {}
        strongest = (pc.field("kind") == "word") & (pc.field("rank") <= MOST_WORDS) & (pc.field("g2") > 0)
        where = any_of((row["layer"], row["unit"]) for row in rows) & strongest
        patterns = self.read("patterns", where & (pc.field("support") >= LEAST_COUNT)).to_pylist()
        by_key = grouped(sorted(patterns, key=lambda row: row["rank"]), POLE)
        return {key_of(row): [p["pattern"] for p in by_key.get(key_of(row), [])] for row in rows}


def better_pole(poles: Sequence[str], explanations: Sequence[Row], scores: Sequence[Row]) -> str:
    """Return the better explained pole of a neuron, by its rows of these tables.

    One with a rule comes first, then the order is by F1, excess and score.
    """
    by_pole, scored = ({row["pole"]: row for row in rows} for rows in (explanations, scores))

    def worth(pole: str) -> tuple[Any, ...]:
        explanation, score = by_pole.get(pole, {}), scored.get(pole, {})
        excess, f1 = score.get("auc_excess"), explanation.get("f1") or 0.0
        above = float("-inf") if excess is None else excess
        return explanation.get("verdict") == RULE, f1, above, score.get("auc") or 0.0, pole == "top"

    return max(poles, key=worth)
