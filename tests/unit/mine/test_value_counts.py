from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.mine.value_counts import ValueCounts, count_sentences, count_tokens, count_values, profile
from ops.patterns.sequences import Sequences
from ops.statistics.association import measures

LISTS = st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=8)
COUNTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12)


@settings(deadline=None)
@given(LISTS)
def test_tokens_and_sentences_are_counted_apart(lists):
    sequences = Sequences.from_lists(lists)
    tokens, sentences = count_tokens(sequences, 6), count_sentences(sequences, 6)
    by_token = Counter(item for row in lists for item in row)
    by_sentence = Counter(item for row in lists for item in set(row))
    assert (tokens.count.tolist(), tokens.n) == ([by_token[v] for v in range(6)], sum(map(len, lists)))
    assert (sentences.count.tolist(), sentences.n) == ([by_sentence[v] for v in range(6)], len(lists))


@settings(deadline=None)
@given(st.lists(st.integers(-1, 3)), st.data())
def test_taking_a_part_off_leaves_the_rest(codes, data):
    part = np.array(data.draw(st.lists(st.booleans(), min_size=len(codes), max_size=len(codes))), dtype=bool)
    values = np.array(codes, dtype=np.int64)
    left = count_values(values, 4).without(count_values(values[part], 4))
    rest = count_values(values[~part], 4)
    assert (left.count.tolist(), left.n) == (rest.count.tolist(), rest.n)
    assert rest.n == sum(code >= 0 for code in values[~part])
    again = left.merge(count_values(values[part], 4))
    assert again.n == count_values(values, 4).n


@settings(deadline=None)
@given(COUNTS, st.integers(0, 4), st.integers(0, 5))
def test_a_profile_keeps_what_is_asked_for_in_order(counts, min_count, max_values):
    here, there = (np.array(column) for column in zip(*counts, strict=True))
    found = profile(ValueCounts(here, 10), ValueCounts(there, 50), min_count, max_values)
    g2 = measures(here, 10, there, 50).g2
    rows = [v for v in range(len(counts)) if here[v] + there[v] > 0 and here[v] >= min_count]
    rows.sort(key=lambda v: (-g2[v], -here[v], v))
    rows = rows[:max_values] if max_values else rows
    assert found.value.tolist() == rows
    assert found.count.tolist() == here[rows].tolist()
    assert found.baseline_count.tolist() == there[rows].tolist()
    assert found.measures.g2.tolist() == g2[rows].tolist()
    assert (found.n, found.baseline_n) == (10, 50)


def test_a_property_nobody_has_gives_no_rows():
    nothing = count_values([], 0)
    assert profile(nothing, nothing).value.size == 0


def test_a_value_only_the_baseline_has_is_a_row_unless_a_floor_is_set():
    here, there = ValueCounts(np.array([4, 0]), 4), ValueCounts(np.array([2, 2]), 4)
    assert profile(here, there).value.tolist() == [0, 1]
    assert profile(here, there).measures.share.tolist() == [pytest.approx(1), pytest.approx(0)]
    assert profile(here, there, min_count=1).value.tolist() == [0]
