import math
from fractions import Fraction

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ops.mine.candidates import (
    SCHEMA,
    UNION_SCHEMA,
    from_keys,
    least_support,
    to_keys,
    unite,
)
from ops.patterns.sequences import Sequences

PATTERNS = st.lists(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5), max_size=12)


@given(PATTERNS, st.integers(0, 5))
def test_keys_give_back_the_patterns(patterns: list[list[int]], cut: int) -> None:
    keys = to_keys(Sequences.from_lists(patterns))
    assert from_keys(keys).to_lists() == patterns
    assert from_keys(keys[cut:]).to_lists() == patterns[cut:]
    assert from_keys(pa.chunked_array([keys[:cut], keys[cut:]], pa.binary())).to_lists() == patterns
    assert from_keys(keys.take(pa.array(range(len(keys))[::-1], pa.int64()))).to_lists() == patterns[::-1]
    assert len(set(keys.to_pylist())) == len({tuple(p) for p in patterns})


def test_the_union_holds_each_pattern_of_each_kind_once() -> None:
    def table(*rows: tuple[str, int]) -> pa.Table:
        keys = to_keys(Sequences.from_lists([[item] for _, item in rows]))
        counts = set(SCHEMA.names) - {"kind", "key"}
        numbers = {name: pa.array([1] * len(rows), SCHEMA.field(name).type) for name in counts}
        columns = {"kind": pa.array([kind for kind, _ in rows], SCHEMA.field("kind").type), "key": keys, **numbers}
        return pa.table({name: columns[name] for name in SCHEMA.names})

    found = unite([table(("word", 1), ("tag", 1)), table(), table(("word", 2), ("word", 1), ("tag", 1))])
    assert found.schema.equals(UNION_SCHEMA)
    items = [p[0] for p in from_keys(found["key"]).to_lists()]
    assert list(zip(found["kind"].to_pylist(), items, strict=True)) == [("word", 1), ("tag", 1), ("word", 2)]
    assert unite([]).equals(UNION_SCHEMA.empty_table())


@given(st.integers(0, 1000), st.integers(0, 20_000), st.integers(0, 50))
def test_the_least_support_is_the_least_count_with_the_share(per_mille, n, min_count):
    wanted = math.ceil(Fraction(per_mille, 1000) * n)
    assert least_support(per_mille / 1000, n, min_count) == max(wanted, min_count, 1)
