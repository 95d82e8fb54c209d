"""The pool of literals: one list for all neurons, made from the patterns and marks in their tables."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int64s, Integers
from ops.literals.literal import KINDS

# The columns of a literal. `listed` is the number of neuron-poles that list the literal. It is 0 for classes of
# words, forms, values and lengths, which no neuron lists.
SCHEMA = pa.schema(
    [("kind", pa.string()), ("pattern", pa.string()), ("items", pa.list_(pa.string())), ("listed", pa.int64())]
)
_LISTED = pa.schema([("set", pa.int64()), *(SCHEMA.field(name) for name in ("kind", "pattern", "items"))])
MOST_PATTERNS = 20_000
_PATTERNS = ("word", "tag", "subtree")
_MARKS = "punctuation"  # the name of the marks' property in `profiles/`

# The columns of `patterns/` and of `profiles/` that are read for counting.
PATTERN_COLUMNS = ["layer", "unit", "pole", "kind", "pattern", "items"]
PROFILE_COLUMNS = ["layer", "unit", "pole", "property", "value"]


def count_listed(patterns: pa.Table, profiles: pa.Table) -> pa.Table:
    """Return the number of neuron-poles that list each pattern and each punctuation mark, as rows of `SCHEMA`.

    Words and marks are converted to lower case first, so a neuron-pole that lists both `The` and `the` counts once.

    Args:
        patterns: the rows of these neuron-poles in `patterns/`, with `PATTERN_COLUMNS`.
        profiles: the rows of the same neuron-poles in `profiles/`, with `PROFILE_COLUMNS`.
    """
    marks = profiles.filter(pc.equal(profiles["property"], _MARKS))
    one_each = np.arange(marks.num_rows + 1, dtype=np.int32)
    lists = pa.ListArray.from_arrays(one_each, marks["value"].cast(pa.string()).combine_chunks())
    is_word = pc.equal(patterns["kind"], "word")
    words, others = patterns.filter(is_word), patterns.filter(pc.invert(is_word))
    listed = pa.concat_tables(
        [
            _listed(words, "word", words["items"].combine_chunks()),
            _listed(marks, "mark", lists),
            pa.table([_sets(others), others["kind"], others["pattern"], others["items"]], schema=_LISTED),
        ]
    )
    listed = listed.append_column("row", pa.array(np.arange(listed.num_rows)))
    once = listed.group_by(["kind", "pattern", "set"], use_threads=False).aggregate([("row", "min")])
    return _summed(once, np.ones(once.num_rows, np.int64), listed["items"], once["row_min"])


def united(tables: Iterable[pa.Table]) -> pa.Table:
    """Return the literals that neurons list: all marks, and the 20,000 patterns that the most neuron-poles list.

    The literals are sorted by kind, then by the number of neuron-poles that list them, descending, then by text. Of
    patterns that equally many list, the first by kind and text are returned.

    Args:
        tables: the results of `count_listed` for disjoint groups of neuron-poles.
    """
    every = pa.concat_tables([SCHEMA.empty_table(), *tables]).combine_chunks()
    total = _summed(every, every["listed"], every["items"], np.arange(every.num_rows))
    total = total.append_column("place", pc.index_in(total["kind"], pa.array(KINDS)))
    total = total.sort_by([("listed", "descending"), ("place", "ascending"), ("pattern", "ascending")])
    place = total["place"].to_numpy()
    is_pattern = place < len(_PATTERNS)
    kept = np.flatnonzero(~is_pattern | (np.cumsum(is_pattern) <= MOST_PATTERNS))
    return total.drop_columns("place").take(kept[np.argsort(place[kept], kind="stable")])


def literal_rows(kind: str, patterns: list[str], items: list[list[str]]) -> pa.Table:
    """Return literals of one kind that no neuron lists, as rows of `SCHEMA`."""
    columns = [pa.repeat(kind, len(patterns)), patterns, items, np.zeros(len(patterns), np.int64)]
    return pa.table(columns, schema=SCHEMA)


def _listed(table: pa.Table, kind: str, items: pa.ListArray) -> pa.Table:
    """Return each row's neuron-pole, kind, and pattern and items in lower case, as rows of `_LISTED`."""
    flat = items.flatten().dictionary_encode()
    lower = pa.array([name.lower() for name in flat.dictionary.to_pylist()], pa.string()).take(flat.indices)
    lengths = np.concatenate(([0], items.value_lengths().to_numpy())).astype(np.int32)
    folded = pa.ListArray.from_arrays(np.cumsum(lengths, dtype=np.int32), lower)
    columns = [_sets(table), pa.repeat(kind, table.num_rows), pc.binary_join(folded, " "), folded]
    return pa.table(columns, schema=_LISTED)


def _sets(table: pa.Table) -> Int64s:
    """Return a number that identifies each row's neuron-pole."""
    layer, unit = (table[name].to_numpy().astype(np.int64) for name in ("layer", "unit"))
    is_top = pc.equal(table["pole"].cast(pa.string()), "top").to_numpy().astype(np.int64)
    return np.asarray(layer << 33 | unit << 1 | is_top)


def _summed(
    table: pa.Table, listed: Integers | pa.ChunkedArray, items: pa.ChunkedArray, row: Integers | pa.ChunkedArray
) -> pa.Table:
    """Return each kind and pattern once, with the sum of `listed`, and the items of its first `row` in `items`."""
    given = pa.table([table["kind"], table["pattern"], listed, row], names=["kind", "pattern", "n", "row"])
    found = given.group_by(["kind", "pattern"], use_threads=False).aggregate([("n", "sum"), ("row", "min")])
    columns = [found["kind"], found["pattern"], items.take(found["row_min"]), found["n_sum"]]
    return pa.table(columns, names=SCHEMA.names).cast(SCHEMA)
