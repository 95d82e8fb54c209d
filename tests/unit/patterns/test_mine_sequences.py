import os
import re
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.patterns import count_sequences, prefixspan_package
from ops.patterns.sequences import Sequences
from tests.unit.patterns.mined import mine

FOLDER = os.environ.get("ATLAS_TEST_DATA") and os.path.join(os.environ["ATLAS_TEST_DATA"], "corpora")
SENTENCES = st.lists(st.lists(st.integers(0, 4), max_size=8), max_size=10)


def table(patterns: Sequences, support: np.ndarray) -> dict[tuple[int, ...], int]:
    """The patterns and their supports; a pattern listed twice would be lost here, so that is checked."""
    result = {tuple(row): count for row, count in zip(patterns.to_lists(), support.tolist(), strict=True)}
    assert len(result) == len(patterns)
    return result


def brute_force(sentences, min_support, max_length, max_gap) -> dict[tuple[int, ...], int]:
    support: dict[tuple[int, ...], int] = {}
    for row in sentences:
        choices = (c for size in range(1, max_length + 1) for c in combinations(range(len(row)), size))
        within = (c for c in choices if max_gap < 0 or all(b - a - 1 <= max_gap for a, b in pairwise(c)))
        for pattern in {tuple(row[place] for place in choice) for choice in within}:
            support[pattern] = support.get(pattern, 0) + 1
    return {pattern: count for pattern, count in support.items() if count >= min_support}


@given(SENTENCES, st.integers(1, 4), st.integers(1, 5), st.integers(-1, 3))
def test_patterns_and_supports_are_those_of_brute_force(sentences, min_support, max_length, max_gap):
    found = table(*mine(Sequences.from_lists(sentences), min_support, max_length, max_gap))
    assert found == brute_force(sentences, min_support, max_length, max_gap)


def test_going_on_from_a_later_match_is_not_missed():
    """1 .. 2 starts at the second 1 in the first sentence: the first match alone would miss it."""
    database = Sequences.from_lists([[1, 9, 9, 1, 2], [1, 8, 8, 2]])
    for max_gap, count in ((0, 1), (1, 1), (2, 2), (-1, 2)):
        assert table(*mine(database, 1, 2, max_gap))[1, 2] == count


def test_infrequent_items_hold_their_place_within_the_gap():
    database = Sequences.from_lists([[1, 7, 2], [1, 8, 2]])
    assert table(*mine(database, 2, 2, 0)) == {(1,): 2, (2,): 2}
    assert table(*mine(database, 2, 2, 1)) == {(1,): 2, (2,): 2, (1, 2): 2}


def test_codes_may_be_large_and_results_are_reproducible():
    random = np.random.default_rng(0)
    lists = [[int(code) * 100_000 for code in random.integers(0, 6, 12)] for _ in range(300)]
    database = Sequences.from_lists(lists)
    first, second = mine(database, 30, 4, 2), mine(database, 30, 4, 2)
    assert first[0].items.tolist() == second[0].items.tolist()
    assert table(*first) == brute_force(lists, 30, 4, 2)
    assert (first[0].items.dtype, first[0].offsets.dtype, first[1].dtype) == (np.int32, np.int64, np.int64)


def test_a_pattern_comes_after_its_beginnings():
    patterns, _ = mine(Sequences.from_lists([[0, 1, 2, 0, 1]] * 2), 2, 4)
    rows = [tuple(row) for row in patterns.to_lists()]
    assert all(row[:-1] in rows[:place] for place, row in enumerate(rows) if len(row) > 1)


def test_a_limit_below_1_is_refused():
    for support, length in ((0, 2), (2, 0)):
        with pytest.raises(ValueError, match="at least 1"):
            mine(Sequences.from_lists([[1]]), support, length)


@pytest.mark.skipif(not FOLDER or not os.path.isdir(FOLDER), reason="ATLAS_TEST_DATA names no folder of real sentences")
def test_real_sentences_give_what_the_package_gives():
    texts = [
        text
        for file in sorted(Path(FOLDER or "").glob("*.parquet"))
        for text in pq.read_table(file, columns=["text"])["text"].to_pylist()[:300]
    ]
    codes: dict[str, int] = {}
    rows = [[codes.setdefault(word, len(codes)) for word in re.findall(r"\w+", text or "")] for text in texts]
    database = Sequences.from_lists(rows)
    assert len(database) >= 300
    patterns, support = mine(database, 20, 4)
    assert table(patterns, support) == dict(prefixspan_package.mine(database, 20, 4))
    limited, limited_support = mine(database, 20, 4, 3)
    assert count_sequences.count(database, limited, 3).tolist() == limited_support.tolist()
    # Under a limit no pattern is more frequent, and none appears that wasn't there without it.
    without = table(patterns, support)
    assert all(count <= without[pattern] for pattern, count in table(limited, limited_support).items())
