import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ops.mine.candidates import (
    SCHEMA,
    UNION_SCHEMA,
    from_keys,
    least_support,
    mine_candidates,
    of_kind,
    read_candidates,
    to_keys,
    unite,
)
from ops.mine.pattern_kinds import PatternKind
from ops.mine.sentence_sets import SentenceSets
from ops.patterns.mined import Mined
from ops.patterns.sequences import Sequences

PATTERNS = st.lists(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5), max_size=12)


class Items:
    """A kind whose patterns are single items of known sentences."""

    def __init__(self, name: str, sentences: list[set[int]], min_support: float) -> None:
        self.name, self.sentences, self.min_support = name, sentences, min_support

    def mine(self, sets: SentenceSets, least: np.ndarray) -> Mined:
        parent, items, counts = [], [], []
        for places, floor in zip(sets.members.to_lists(), least, strict=True):
            found = []
            for item in range(10):
                own = [p for p in places if item in self.sentences[sets.rows[p]]]
                if len(own) >= floor:
                    documents, sizes = (Counter(sets.documents[some].tolist()) for some in (own, places))
                    squares = sum(n * n for n in documents.values())
                    products = sum(n * sizes[code] for code, n in documents.items())
                    inside = int(sets.in_baseline[own].sum())
                    found.append((item, len(own), inside, len(documents), squares, products))
            columns = np.array(found, np.int64).reshape(-1, 6)
            parent.append(np.full(len(found), -1))
            items.append(columns[:, 0])
            counts.append(columns[:, 1:])
        return Mined.grown(parent, items, counts)


def sets_of(number: list[int], rows: list[list[int]], baseline: list[bool], documents: list[int]) -> SentenceSets:
    every = np.arange(len(baseline))
    return SentenceSets(
        np.array(number), every, Sequences.from_lists(rows), np.array(baseline), np.array(documents, np.int32)
    )


@given(PATTERNS, st.integers(0, 5))
def test_keys_give_back_the_patterns(patterns: list[list[int]], cut: int) -> None:
    keys = to_keys(Sequences.from_lists(patterns))
    assert from_keys(keys).to_lists() == patterns
    assert from_keys(keys[cut:]).to_lists() == patterns[cut:]
    assert from_keys(pa.chunked_array([keys[:cut], keys[cut:]], pa.binary())).to_lists() == patterns
    assert from_keys(keys.take(pa.array(range(len(keys))[::-1], pa.int64()))).to_lists() == patterns[::-1]
    assert len(set(keys.to_pylist())) == len({tuple(p) for p in patterns})


SENTENCES = [{1, 2}, {1}, {1, 3}, {2}, {9}]
MARKS = ([True, False, True, True, True], [40, 40, 8, 8, 8])


def test_candidates_of_several_sets() -> None:
    sets = sets_of([7, 9], [[0, 1, 2, 3], [3, 4]], *MARKS)
    kinds: list[PatternKind] = [Items("word", SENTENCES, 0.5), Items("tag", SENTENCES, 0.75)]
    found = mine_candidates(sets, kinds, 1)
    assert found.schema.equals(SCHEMA)
    rows = [tuple(row[name] for name in SCHEMA.names if name != "key") for row in found.to_pylist()]
    assert rows == [
        (7, "word", 3, 2, 2, 5, 6),
        (7, "word", 2, 2, 2, 2, 4),
        (9, "word", 1, 1, 1, 1, 2),
        (9, "word", 1, 1, 1, 1, 2),
        (7, "tag", 3, 2, 2, 5, 6),
    ]
    assert from_keys(found["key"]).to_lists() == [[1], [2], [2], [9], [1]]


def test_they_are_read_back_for_some_of_the_sets() -> None:
    sets = sets_of([3, 7, 9], [[4], [0, 1, 2, 3], [2, 3]], *MARKS)
    word = Items("word", SENTENCES, 0.5)
    first = mine_candidates(sets.take(np.array([0, 2])), [word, Items("tag", SENTENCES, 0.75)], 1)
    table = pa.concat_tables([first, mine_candidates(sets.take(np.array([1])), [word], 1)]).unify_dictionaries()
    for number, expected in (([3, 9], [[[9]], [[1], [2], [3]]]), ([7], [[[1], [2]]]), ([5, 8], [[], []])):
        found = read_candidates(of_kind(table, "word", np.array(number)), np.array(number))
        patterns = found.patterns.to_lists()
        assert len({tuple(p) for p in patterns}) == len(patterns)
        assert [[patterns[i] for i in own] for own in found.sets.to_lists()] == expected
    assert read_candidates(of_kind(table, "word", np.array([7])), np.array([7])).support.tolist() == [3, 2]
    assert not len(of_kind(SCHEMA.empty_table(), "word", np.array([7])))


def test_too_few_sentences_have_no_candidates() -> None:
    sets = sets_of([0, 1], [[0], []], *MARKS)
    assert mine_candidates(sets, [Items("word", SENTENCES, 0.1)], 2).equals(SCHEMA.empty_table())
    assert mine_candidates(sets, [Items("word", [set()] * 5, 0.1)], 1).equals(SCHEMA.empty_table())
    assert mine_candidates(sets.take(np.zeros(0, np.int64)), [Items("word", SENTENCES, 0.1)], 1).num_rows == 0


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


def test_very_small_shares_are_read_too():
    assert least_support(1e-05, 250_000, 0) == 3
