"""One shard's part of the positions tables: a row for each group of values and each text of the label check."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Float32s, Float64s
from ops.positions.shard import PositionsResult
from ops.positions.sums import Totals
from ops.reducers.token_moments import TokenMoments

_HISTOGRAM, _SUM, _FEATURE = "histogram/", "sum/", "feature"
_SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("variant", pa.string()),
        ("key", pa.int64()),  # group, column of a histogram, or id of a text
        ("n", pa.int64()),
        ("mean", pa.list_(pa.float64())),  # or a sum
        ("m2", pa.list_(pa.float64())),
        ("counts", pa.list_(pa.int64())),  # bins of a histogram, or tokens of a text
        ("feature", pa.list_(pa.float32())),
    ]
)


class Features(NamedTuple):
    """The texts of the label check.

    Attributes:
        tokens: for each text's id, its token ids.
        vectors: for each variant and each id of a measured text, the mean of the last layer's states.
    """

    tokens: dict[int, list[int]]
    vectors: dict[str, dict[int, Float32s]]


def to_table(result: PositionsResult) -> pa.Table:
    """Return a shard's result as a table."""
    totals = result.sums.result()
    rows: list[dict[str, Any]] = []
    for (kind, variant), moments in sorted(totals.moments.items()):
        for i, group in enumerate(moments.ids.tolist()):
            own = {"n": int(moments.count[i]), "mean": moments.mean[i], "m2": moments.m2[i]}
            rows.append({"kind": kind, "variant": variant, "key": group, **own})
    for (kind, variant), counts in sorted(totals.counts.items()):
        for column, bins in enumerate(counts):
            rows.append({"kind": _HISTOGRAM + kind, "variant": variant, "key": column, "counts": bins})
    for (kind, variant), total in sorted(totals.sums.items()):
        rows.append({"kind": _SUM + kind, "variant": variant, "key": 0, "mean": total})
    for sent_id, (tokens, vectors) in sorted(result.features.items()):
        rows.append({"kind": _FEATURE, "variant": "", "key": sent_id, "counts": tokens})
        for variant, vector in vectors.items():
            rows.append({"kind": _FEATURE, "variant": variant, "key": sent_id, "feature": vector})
    return schema.table(_SCHEMA, rows)


def merge(tables: Iterable[pa.Table], variants: Iterable[str] = ()) -> tuple[Totals, Features]:
    """Merge the tables of shards in the given order, so that rounding is the same in every run.

    Args:
        tables: the tables of `to_table`.
        variants: the variants of the features; each gets an entry, even if no text has features under it.
    """
    totals, features = Totals(), Features({}, {name: {} for name in variants})
    for table in tables:
        totals = totals.merge(read_totals(table, features))
    return totals, features


def read_totals(table: pa.Table, features: Features) -> Totals:
    """Return the totals from a table of `to_table`; the texts of the label check are added to `features`."""
    moments: dict[tuple[str, str], list[dict[str, Any]]] = {}
    counts: dict[tuple[str, str], list[list[int]]] = {}
    sums: dict[tuple[str, str], Float64s] = {}
    for row in table.to_pylist():
        kind, variant = row["kind"], row["variant"]
        if kind == _FEATURE and not variant:
            features.tokens[row["key"]] = row["counts"]
        elif kind == _FEATURE:
            features.vectors.setdefault(variant, {})[row["key"]] = np.array(row["feature"], np.float32)
        elif kind.startswith(_HISTOGRAM):
            counts.setdefault((kind.removeprefix(_HISTOGRAM), variant), []).append(row["counts"])
        elif kind.startswith(_SUM):
            sums[kind.removeprefix(_SUM), variant] = np.array(row["mean"])
        else:
            moments.setdefault((kind, variant), []).append(row)
    joined = {
        key: TokenMoments(
            np.array([r["key"] for r in rows]),
            np.array([r["n"] for r in rows]),
            np.array([r["mean"] for r in rows]),
            np.array([r["m2"] for r in rows]),
        )
        for key, rows in moments.items()
    }
    return Totals(joined, {key: np.array(bins, np.int64) for key, bins in counts.items()}, sums)
