"""The literals that an audit tests: those of the cards of the folds, and those of the activation models."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import schema
from ops.arrays import Bools, Int64s
from ops.sentences.folds import FOLDS, HALF
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.neurons import POLES, Neurons

_HUB = "hub"  # these sentences are specific to one neuron, so they cannot be a property of another data set's sentences
_NAMES = ["kind", "pattern", "items"]
_COLUMNS = ["layer", "unit", "pole", "rank", *_NAMES, "negated", "weight"]
Row = dict[str, Any]
_Key = tuple[str, str, tuple[str, ...]]


def audited_literals(store: Store) -> pa.Table:
    """Return `explain/literals/` followed by the other literals of `explanation_folds/`, except hubs."""
    pool = read_table(store, "explain/literals")
    further = set(_keys(read_table(store, "explanation_folds", columns=_NAMES))) - set(_keys(pool))
    keys = sorted(key for key in further if key[0] != _HUB)
    rows = [{"kind": kind, "pattern": pattern, "items": list(items), "listed": 0} for kind, pattern, items in keys]
    return pa.concat_tables([pool, schema.table("explain/literals", rows)])


def _keys(rows: pa.Table) -> list[_Key]:
    kinds, patterns, items = (rows[name].to_pylist() for name in _NAMES)
    return [(kind, pattern, tuple(own)) for kind, pattern, own in zip(kinds, patterns, items, strict=True)]


@dataclass(frozen=True)
class Tested:
    """A literal of an explanation.

    Attributes:
        literal: its index in the pool.
        folds: the folds whose cards have it; it is tested on their sentences. For the activation model, the test half.
        lift: its lift with all data sets pooled; NaN if it is not on the published card.
        row: its other columns, such as `model`, `rank`, `negated` and `weight`.
    """

    literal: int
    folds: Bools
    lift: float
    row: Row


class ExplanationLiterals:
    """The literals of explanations, without hubs; `pool` is the result of `audited_literals`.

    Attributes:
        tested_on: the pole on whose winners activation models are tested: `top`, or `bottom` if the run has only that.
    """

    def __init__(self, store: Store, neurons: Neurons, pool: pa.Table) -> None:
        self._place = {key: number for number, key in enumerate(_keys(pool))}
        poles = read_table(store, "explanations", columns=["pole"])["pole"].unique().to_pylist()
        self.tested_on = "bottom" if poles == ["bottom"] else "top"
        given = store, neurons, self.tested_on
        self._folds = _by_set(*given, "explanation_folds", [*_COLUMNS, "fold"])
        self._terms = _by_set(*given, "explanation_terms", [*_COLUMNS, "model", "share", "baseline_share"])

    def of(self, numbers: Int64s) -> dict[int, list[Tested]]:
        """Return the literals of some neurons by set number: of cards, in the order of their folds, and then of models.

        A literal of an activation model is tested as it moves the activation towards the pole `tested_on`. Its pooled
        lift is among the highest activations, so it is NaN for `bottom`.
        """
        folds, terms = (
            rows.filter(np.isin(rows["set"].to_numpy() // len(POLES), numbers)).to_pylist()
            for rows in (self._folds, self._terms)
        )
        chosen: dict[Any, list[Row]] = {}
        for row in folds:
            if _key(row) in self._place:
                chosen.setdefault((row["set"], _key(row), row["negated"]), []).append(row)
        lifts = {(row["set"], _key(row), row["negated"]): _lift(row) for row in terms if row["model"] == "winners"}
        order = sorted(
            chosen.items(), key=lambda one: (one[0][0], -len(one[1]), sum(r["rank"] for r in one[1]), one[0])
        )
        tested: dict[int, list[Tested]] = {}
        for key, rows in order:
            of_set = tested.setdefault(key[0], [])
            row = rows[0] | {"model": "winners", "rank": len(of_set) + 1}
            of_cards = np.isin(np.arange(FOLDS), [row["fold"] for row in rows])
            of_set.append(Tested(self._place[_key(row)], of_cards, lifts.get(key, np.nan), row))
        for row in terms:
            if row["model"] == "activation" and _key(row) in self._place:
                of_set = tested.setdefault(row["set"], [])
                up = self.tested_on == "top"
                moves, lift = row | {"negated": row["negated"] == up}, _lift(row) if up else np.nan
                of_set.append(Tested(self._place[_key(row)], np.arange(FOLDS) >= HALF, lift, moves))
        return tested


def _by_set(store: Store, neurons: Neurons, pole: str, table: str, columns: list[str]) -> pa.Table:
    """Return columns of a table and the column `set`, a set number; an activation model's set is that of `pole`."""
    rows = read_table(store, table, columns=columns)
    filled = rows.set_column(columns.index("pole"), "pole", pc.fill_null(rows["pole"], pole))
    return rows.append_column("set", pa.array(neurons.set_numbers(filled)))


def _key(row: Row) -> _Key:
    return row["kind"], row["pattern"], tuple(row["items"])


def _lift(row: Row) -> float:
    share, base = row["share"], row["baseline_share"]
    if share is None or base is None:
        return np.nan
    return float(share / base) if base else np.inf if share else np.nan
