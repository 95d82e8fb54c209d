"""The literals that an audit tests: all literals that explanations may contain, and those that they do contain."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Int64s
from ops.audit.audited_neurons import Terms
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.neurons import POLES, Neurons, set_number

_HUB = "hub"  # these sentences are specific to one neuron, so they cannot be a property of another data set's sentences
_NAMES = ("kind", "pattern", "items")
_COLUMNS = ("layer", "unit", "pole", "model", "rank", *_NAMES, "negated", "weight", "share", "baseline_share")


def audited_literals(store: Store) -> pa.Table:
    """Return `explain/literals/` followed by the other literals of `explanation_terms/`, except hubs."""
    pool = read_table(store, "explain/literals")
    known = set(_keys(pool))
    further = sorted(set(_keys(read_table(store, "explanation_terms", columns=list(_NAMES)))) - known)
    own = [key for key in further if key[0] != _HUB]
    rows = [{"kind": kind, "pattern": pattern, "items": list(items), "listed": 0} for kind, pattern, items in own]
    return pa.concat_tables([pool, schema.table("explain/literals", rows)])


def _keys(table: pa.Table) -> list[tuple[str, str, tuple[str, ...]]]:
    kinds, patterns, items = (table[name].to_pylist() for name in _NAMES)
    return [(k, p, tuple(i)) for k, p, i in zip(kinds, patterns, items, strict=True)]


@dataclass(frozen=True)
class ExplanationTerms:
    """The rows of `explanation_terms/`, sorted by neuron number, without hubs.

    Attributes:
        rows: the rows. `literal` is each literal's index in the pool, and `lift` its lift with all data sets pooled.
        number: the number of each row's neuron, ascending, `[rows]`.
    """

    rows: Sequence[dict[str, Any]]
    number: Int64s

    @classmethod
    def read(cls, store: Store, neurons: Neurons, pool: pa.Table) -> "ExplanationTerms":
        """Read the terms; `pool` is the result of `audited_literals`."""
        place = {key: number for number, key in enumerate(_keys(pool))}
        rows = []
        for row in read_table(store, "explanation_terms", columns=list(_COLUMNS)).to_pylist():
            literal = place.get((row["kind"], row["pattern"], tuple(row["items"])))
            if literal is not None:
                base = row["baseline_share"]
                lift = row["share"] / base if base else (float("inf") if row["share"] else float("nan"))
                rows.append(row | {"literal": literal, "lift": lift})
        layer, unit = (np.array([row[name] for row in rows], np.int64) for name in ("layer", "unit"))
        number = neurons.number(layer, unit) if len(rows) else np.zeros(0, np.int64)
        order = np.argsort(number, kind="stable")
        return cls([rows[i] for i in order.tolist()], number[order])

    def of(self, numbers: Int64s) -> Terms:
        """Return the terms of some neurons. Those of the range model are tested on the winners of the pole `top`."""
        of_set: dict[int, list[dict[str, Any]]] = {}
        of_neuron: dict[int, list[dict[str, Any]]] = {}
        for number in numbers.tolist():
            for row in self.rows[slice(*np.searchsorted(self.number, [number, number + 1]).tolist())]:
                pole = row["pole"] or "top"
                of_set.setdefault(int(set_number(number, POLES.index(pole))), []).append(row)
                if row["model"] == "range":
                    of_neuron.setdefault(number, []).append(row)
        return Terms(of_set, of_neuron)
