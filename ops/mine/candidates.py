"""Mined patterns before they are measured: a row for each pattern of each set of sentences."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import schema
from ops.arrays import Int64s
from ops.mine.pattern_kinds import PatternKind
from ops.mine.sentence_sets import SentenceSets, sums_of_sets
from ops.patterns.mined import COUNTS, NEVER, Records
from ops.patterns.sequences import Sequences

# The rows of sets that were mined together are sorted by kind and then by set. The counts are those of
# `ops.patterns.mined.COUNTS`. The marked sentences are those that are also in the baseline.
SCHEMA = pa.schema(
    [
        ("set", pa.int32()),
        ("kind", pa.dictionary(pa.int8(), pa.string())),
        ("key", pa.binary()),
        *((name, pa.int64() if name in ("squares", "products") else pa.int32()) for name in COUNTS.names or ()),
    ]
)
UNION_SCHEMA = pa.schema([("kind", pa.string()), ("key", pa.binary())])

# Maximum number of sentences whose words, tags or trees are in memory at once.
_MOST_MEMBERS = 100_000


@cache
def least_support(share: float, n: int, min_count: int) -> int:
    """Return how many of `n` sentences must contain a pattern: a share of them, but at least `min_count` and 1.

    The share is evaluated exactly as it is written, so that 7 % of 100 sentences are 7 and not 8.

    >>> least_support(0.07, 100, 5), least_support(0.005, 300, 5), least_support(0.001, 1_500, 0)
    (7, 5, 2)
    """
    wanted = Fraction(str(share)) * n
    return max(-(-wanted.numerator // wanted.denominator), min_count, 1)


def least_supports(share: float, sizes: Int64s, min_count: int) -> Int64s:
    """Return `least_support` for sets of several sizes, `[sets]`."""
    return np.array([least_support(share, size, min_count) for size in sizes.tolist()], np.int64)


def mine_candidates(
    sets: SentenceSets, kinds: Iterable[PatternKind], min_count: int, whole: Int64s | None = None
) -> pa.Table:
    """Mine the frequent patterns of sets of sentences, and return a row of `SCHEMA` for each set and pattern.

    A pattern is frequent in a set, or in the sentences of one half of the documents, if at least `least_support` of
    these sentences have it.

    Args:
        kinds: the kinds of patterns to mine, with their minimum shares.
        min_count: minimum number of sentences that must have a pattern, whatever their share.
        whole: the numbers of the sets whose patterns need only be frequent in the complete set. Those of all sets are
            then also returned if they are frequent in a half. None: patterns are frequent in the complete set.
    """
    tables = [SCHEMA.empty_table()]
    for kind in kinds:
        for some in sets.chunks(_MOST_MEMBERS):
            first = sums_of_sets(some.in_first_half, some.members)
            of_whole, halves = (True, False) if whole is None else (np.isin(some.number, whole), True)
            parts = (some.sizes, of_whole), (first, halves), (some.sizes - first, halves)
            least = [
                np.where(wanted, least_supports(kind.min_support, sizes, min_count), NEVER) for sizes, wanted in parts
            ]
            mined = kind.mine(some, np.stack(least, 1))
            names = pa.DictionaryArray.from_arrays(np.zeros(len(mined.patterns), np.int8), [kind.name])
            columns = {name: np.ascontiguousarray(mined.counts[name]) for name in COUNTS.names or ()}
            columns |= {"set": np.repeat(some.number, np.diff(mined.offsets)), "key": to_keys(mined.patterns)}
            tables.append(schema.table(SCHEMA, columns | {"kind": names}))
    return pa.concat_tables(tables).unify_dictionaries()


@dataclass(frozen=True)
class Candidates:
    """The patterns of one kind that several sets have.

    Attributes:
        sets: the patterns of each set, as indices into `patterns`, `[n]` in total.
        counts: the `ops.patterns.mined.COUNTS` of each set and pattern, `[n]`.
    """

    patterns: Sequences
    sets: Sequences
    counts: Records

    def frequent(self, least: Int64s, half: int | None = None) -> Self:
        """Return the patterns that at least `least [sets]` sentences of each set have, with their counts.

        If `half` is 0 or 1, only the sentences of the first or of the second half of the documents are counted; the
        counts of documents remain those of the complete sets.
        """
        counts = self.counts.copy()
        for name, of_first in (("support", "half"), ("marked", "half_marked")):
            if half is not None:
                counts[name] = counts[of_first] if half == 0 else counts[name] - counts[of_first]
        keep = counts["support"] >= least[self.set_of]
        return type(self)(self.patterns, self.sets.where(keep), counts[keep])

    @property
    def set_of(self) -> Int64s:
        """The index of the set to which each of the `[n]` entries belongs, ascending."""
        return np.repeat(np.arange(len(self.sets)), self.sets.lengths)


def of_kind(table: pa.Table, kind: str, number: Int64s) -> pa.Table:
    """Return the rows of one kind and some sets, which were mined together."""
    chosen = pc.and_(pc.equal(table["kind"], kind), pc.is_in(table["set"], pa.array(number, pa.int32())))
    return table.filter(chosen)


def read_candidates(rows: pa.Table, number: Int64s) -> Candidates:
    """Return the candidates of the sets with these numbers, given the result of `of_kind` for exactly these sets."""
    encoded = rows["key"].combine_chunks().dictionary_encode()
    codes = np.asarray(encoded.indices).astype(np.int32)
    offsets = np.searchsorted(rows["set"].to_numpy(), np.append(number, np.iinfo(np.int32).max))
    counts = np.empty(len(rows), COUNTS)
    for name in SCHEMA.names[3:]:
        counts[name] = rows[name].to_numpy()
    return Candidates(from_keys(encoded.dictionary), Sequences(codes, offsets), counts)


def to_keys(patterns: Sequences) -> pa.BinaryArray:
    """Return each pattern's codes as bytes, so that patterns are compared and looked up as values."""
    offsets = (patterns.offsets * 4).astype(np.int32)
    data = np.ascontiguousarray(patterns.items, np.int32)
    return pa.BinaryArray.from_buffers(pa.binary(), len(patterns), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def from_keys(keys: pa.Array | pa.ChunkedArray) -> Sequences:
    """Return the patterns that `to_keys` encoded."""
    whole = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    whole = pa.concat_arrays([pa.array([], pa.binary()), whole])
    lengths = np.asarray(pc.binary_length(whole), np.int64) // 4
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    buffer = whole.buffers()[2]
    items = np.frombuffer(buffer, np.int32, count=int(offsets[-1])) if buffer is not None else np.zeros(0, np.int32)
    return Sequences(items, offsets)


def unite(tables: Iterable[pa.Table]) -> pa.Table:
    """Return each distinct kind and pattern of candidates once, in an order that only depends on the tables.

    Rows are buffered until there are more than in the union so far, because merging each table at once would repeat
    the work.
    """
    union, waiting = UNION_SCHEMA.empty_table(), [UNION_SCHEMA.empty_table()]
    for table in tables:
        waiting.append(_distinct(table.select(["kind", "key"]).cast(UNION_SCHEMA)))
        if sum(rows.num_rows for rows in waiting) > union.num_rows:
            union, waiting = _distinct(pa.concat_tables([union, *waiting])), []
    return _distinct(pa.concat_tables([union, *waiting]))


def _distinct(rows: pa.Table) -> pa.Table:
    return rows.group_by(["kind", "key"], use_threads=False).aggregate([]).cast(UNION_SCHEMA)
