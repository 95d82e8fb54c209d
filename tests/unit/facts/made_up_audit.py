"""Made-up rows of an audit's tables."""

from typing import Any

import numpy as np
import pyarrow as pa

from ops.schema import schema

Row = dict[str, Any]


def pairs(names: list[str], neurons: int, seed: int, unknown: float = 0.1, poor: str = "") -> list[Row]:
    """Return rows of audit/portability/ for the top pole of neurons 1:0, 2:1, ..., some without a precision.

    Args:
        names: the data sets.
        neurons: the number of neurons.
        seed: the seed of the numbers.
        unknown: the share of rows without precisions.
        poor: a data set whose own cards gain less than random ones.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for unit in range(neurons):
        for one in names:
            for other in names:
                own, random = rng.random() * 0.2 + 0.2 * (one == other), rng.random() * 0.1
                if one == other == poor:
                    own = random - 0.1
                known = rng.random() >= unknown
                measured = {"average_precision": own, "random_precision": random} if known else {}
                key = {"layer": 1 + unit % 3, "unit": unit, "pole": "top", "n": 5, "documents": 4}
                rows.append({**key, "dataset_from": one, "dataset_to": other, **measured})
    return rows


def halves(names: list[str], neurons: int, seed: int) -> list[Row]:
    """Return rows of the control `halves`, which pairs only two halves of the same data set."""
    parts = [f"{name}, half {i}" for name in names for i in (1, 2)]
    every = pairs(parts, neurons, seed, 0.0)
    return [row for row in every if row["dataset_from"][:-1] == row["dataset_to"][:-1]]


def audited(layer: int, unit: int, verdict: str, illusion: float | None = None, **more: Any) -> Row:
    """Return a row of audit/neurons/."""
    transfer = None if illusion is None else 1 - illusion
    row: Row = {"layer": layer, "unit": unit, "pole": "top", "verdict": verdict, "illusion": illusion, "n": 9}
    row |= {"transfer": transfer, "transfer_low": transfer, "transfer_high": transfer, "ported": 0, "holds_in": []}
    row |= {"illusion_low": illusion, "illusion_high": illusion, "found_in": [], "datasets": 3}
    for name in ("eta_squared", "r2_within"):
        row |= {f"{name}{end}": None for end in ("", "_low", "_high")}
    return row | more


def literal(layer: int, unit: int, rank: int, lifts: list[float | None], **more: Any) -> Row:
    """Return a row of audit/patterns/ for the winners' model, whose intervals extend by 1 to both sides."""
    row: Row = {"layer": layer, "unit": unit, "pole": "top", "model": "winners", "rank": rank, "kind": "word"}
    row |= {"pattern": f"word {rank}", "negated": False, "dataset_names": ["books", "news", "tweets"], "n": 9}
    row |= {"log_lifts": lifts, "winners": [3, 3, 3], "significant": 1, "verdict": "local", "folds": 10}
    row |= {"log_lifts_low": [None if v is None else v - 1 for v in lifts]}
    row |= {"log_lifts_high": [None if v is None else v + 1 for v in lifts]}
    return row | more


def table(name: str, rows: list[Row]) -> pa.Table:
    """Return rows as a table of that name."""
    return pa.Table.from_pylist(rows, schema(name))
