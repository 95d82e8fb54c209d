"""Mined patterns on their way to the measures: a row for each pattern of each set of winners."""

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ops.mine.pattern_kinds import PatternKind
from ops.patterns.sequences import Sequences

Longs = npt.NDArray[np.int64]

SCHEMA = pa.schema(
    [
        ("set", pa.int32()),
        ("kind", pa.string()),
        ("key", pa.binary()),
        ("support", pa.int64()),
        ("own", pa.int64()),
        ("docs", pa.int64()),
    ]
)
UNION_SCHEMA = pa.schema([("kind", pa.string()), ("key", pa.binary())])


class Winners(NamedTuple):
    """One set of winners: its number; each sentence's row, whether the baseline has it, its document's code."""

    number: int
    rows: Longs
    in_baseline: npt.NDArray[np.bool_]
    documents: npt.NDArray[np.int32]


def least_support(share: float, n: int, min_count: int) -> int:
    """Return how many of `n` sentences must contain a pattern: `share` of them, at least `min_count` and 1.

    The share is taken as it is written, so that 7 % of 100 sentences are 7 and not 8.

    >>> least_support(0.07, 100, 5), least_support(0.005, 300, 5), least_support(0.001, 1_500, 0)
    (7, 5, 2)
    """
    wanted = Fraction(str(share)) * n
    return max(-(-wanted.numerator // wanted.denominator), min_count, 1)


def mine_winners(winners: Winners, kinds: Iterable[PatternKind], min_count: int) -> pa.Table:
    """Return the patterns of one set of winners, a row each by `SCHEMA`, those of one kind after those of another.

    `own` is the support among the winners that the baseline has too, `docs` how many documents the support comes from.

    Args:
        winners: the set.
        kinds: the kinds of patterns to mine.
        min_count: winners that must have a pattern, whatever their share.
    """
    tables = []
    _, documents = np.unique(winners.documents, return_inverse=True)
    for kind in kinds:
        least = least_support(kind.min_support, len(winners.rows), min_count)
        if len(winners.rows) < least:
            continue
        patterns, support = kind.mine(winners.rows, least)
        if not len(patterns):
            continue
        found = kind.find(winners.rows, patterns)
        columns = {
            "set": pa.array(np.full(len(patterns), winners.number, np.int32)),
            "kind": pa.array([kind.name] * len(patterns)),
            "key": to_keys(patterns),
            "support": pa.array(support),
            "own": pa.array(support if winners.in_baseline.all() else found.support_within(winners.in_baseline)),
            "docs": pa.array(found.distinct(documents)),
        }
        tables.append(pa.table(columns, schema=SCHEMA))
    return pa.concat_tables(tables) if tables else SCHEMA.empty_table()


def to_keys(patterns: Sequences) -> pa.BinaryArray:
    """Return each pattern's codes as bytes, so that patterns are compared and looked up as values."""
    offsets = (patterns.offsets * 4).astype(np.int32)
    data = np.ascontiguousarray(patterns.items, np.int32)
    return pa.BinaryArray.from_buffers(pa.binary(), len(patterns), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def from_keys(keys: pa.Array | pa.ChunkedArray) -> Sequences:
    """Return the patterns of `to_keys`."""
    whole = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    whole = pa.concat_arrays([pa.array([], pa.binary()), whole])
    lengths = np.asarray(pc.binary_length(whole), np.int64) // 4
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    buffer = whole.buffers()[2]
    items = np.frombuffer(buffer, np.int32, count=int(offsets[-1])) if buffer is not None else np.zeros(0, np.int32)
    return Sequences(items, offsets)


def unite(tables: Iterable[pa.Table]) -> pa.Table:
    """Return each distinct (kind, pattern) of candidates once, in the order of its first appearance."""
    union = UNION_SCHEMA.empty_table()
    for table in tables:
        union = (
            pa.concat_tables([union, table.select(["kind", "key"])])
            .group_by(["kind", "key"], use_threads=False)
            .aggregate([])
        )
    return union.cast(UNION_SCHEMA)
