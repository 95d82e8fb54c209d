import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.mine.candidates import SCHEMA, UNION_SCHEMA, Winners, from_keys, least_support, mine_winners, to_keys, unite
from ops.mine.pattern_kinds import PatternKind
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequences import Sequences

PATTERNS = st.lists(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5), max_size=12)


class Items:
    """A kind whose patterns are single items of known sentences."""

    def __init__(self, name: str, sentences: list[set[int]], min_support: float) -> None:
        self.name, self.sentences, self.min_support = name, sentences, min_support

    def mine(self, rows: np.ndarray, min_count: int) -> tuple[Sequences, np.ndarray]:
        support = {i: sum(i in self.sentences[r] for r in rows) for i in range(10)}
        found = [i for i in support if support[i] >= min_count]
        return Sequences.from_lists([[i] for i in found]), np.array([support[i] for i in found], np.int64)

    def find(self, rows: np.ndarray, patterns: Sequences) -> Occurrences:
        places = [[j for j, r in enumerate(rows) if p[0] in self.sentences[r]] for p in patterns.to_lists()]
        found = Sequences.from_lists(places)
        return Occurrences(found.items, found.offsets)


@given(PATTERNS, st.integers(0, 5))
@settings(deadline=None)
def test_keys_give_back_the_patterns(patterns: list[list[int]], cut: int) -> None:
    keys = to_keys(Sequences.from_lists(patterns))
    assert from_keys(keys).to_lists() == patterns
    assert from_keys(keys[cut:]).to_lists() == patterns[cut:]
    assert from_keys(pa.chunked_array([keys[:cut], keys[cut:]], pa.binary())).to_lists() == patterns
    assert from_keys(keys.take(pa.array(range(len(keys))[::-1], pa.int64()))).to_lists() == patterns[::-1]
    assert len(set(keys.to_pylist())) == len({tuple(p) for p in patterns})


def test_candidates_of_one_set_of_winners() -> None:
    sentences = [{1, 2}, {1}, {1, 3}, {2}, {9}]
    winners = Winners(
        7, np.array([0, 1, 2, 3]), np.array([True, False, True, True]), np.array([40, 40, 8, 8], np.int32)
    )
    kinds: list[PatternKind] = [Items("word", sentences, 0.5), Items("tag", sentences, 0.75)]
    found = mine_winners(winners, kinds, 1)
    assert found.schema.equals(SCHEMA)
    rows = [(r["set"], r["kind"], r["support"], r["own"], r["docs"]) for r in found.to_pylist()]
    assert rows == [(7, "word", 3, 2, 2), (7, "word", 2, 2, 2), (7, "tag", 3, 2, 2)]
    assert from_keys(found["key"]).to_lists() == [[1], [2], [1]]
    everywhere = mine_winners(winners._replace(in_baseline=np.ones(4, bool)), kinds, 1)
    assert everywhere["own"].to_pylist() == everywhere["support"].to_pylist()


def test_too_few_winners_have_no_candidates() -> None:
    winners = Winners(0, np.array([0]), np.array([True]), np.array([0], np.int32))
    assert mine_winners(winners, [Items("word", [{1}], 0.1)], 2).equals(SCHEMA.empty_table())
    assert mine_winners(winners, [Items("word", [set()], 0.1)], 1).equals(SCHEMA.empty_table())
    none = Winners(0, np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0, np.int32))
    assert mine_winners(none, [Items("word", [{1}], 0.1)], 1).num_rows == 0


def test_the_union_holds_each_pattern_of_each_kind_once() -> None:
    def table(*rows: tuple[str, int]) -> pa.Table:
        keys = to_keys(Sequences.from_lists([[item] for _, item in rows]))
        numbers = {
            name: pa.array([1] * len(rows), SCHEMA.field(name).type) for name in ("set", "support", "own", "docs")
        }
        columns = {"kind": pa.array([kind for kind, _ in rows], pa.string()), "key": keys, **numbers}
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


def test_very_small_shares_are_read_too():
    assert least_support(1e-05, 250_000, 0) == 3
