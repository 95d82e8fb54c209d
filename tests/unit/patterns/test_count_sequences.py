from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from ops.patterns import count_sequences
from ops.patterns.sequence_trie import SequenceTrie
from ops.patterns.sequences import Sequences

ITEMS = st.integers(0, 4)
SENTENCES = st.lists(st.lists(ITEMS, max_size=9), max_size=12)
PATTERNS = st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=4), max_size=12)
GAPS = st.integers(-1, 3)


def contains(sentence: list[int], pattern: list[int], max_gap: int) -> bool:
    """The rule in its simplest form: every way to match the next item, one after the other."""
    ends = {place for place, item in enumerate(sentence) if item == pattern[0]}
    for item in pattern[1:]:
        ends = {
            place
            for place, other in enumerate(sentence)
            if other == item and any(place > end and (max_gap < 0 or place - end - 1 <= max_gap) for end in ends)
        }
    return bool(ends)


@given(SENTENCES, PATTERNS, GAPS, st.sampled_from([1, 3, 100]))
def test_count_and_occurrences_are_those_of_brute_force(sentences, patterns, max_gap, chunk):
    wanted = [[i for i, row in enumerate(sentences) if contains(row, pattern, max_gap)] for pattern in patterns]
    database, candidates = Sequences.from_lists(sentences), Sequences.from_lists(patterns)
    with patch.object(count_sequences, "CHUNK", chunk):
        assert count_sequences.count(database, candidates, max_gap).tolist() == [len(rows) for rows in wanted]
        found = count_sequences.occurrences(database, SequenceTrie.build(candidates), max_gap)
    assert [found.sentences[a:b].tolist() for a, b in zip(found.offsets, found.offsets[1:], strict=False)] == wanted


def test_a_later_start_can_be_the_only_one_within_the_gap():
    database = Sequences.from_lists([[1, 9, 9, 1, 2], [1, 9, 9, 2]])
    patterns = Sequences.from_lists([[1, 2], [1, 2, 1]])
    assert count_sequences.count(database, patterns, 0).tolist() == [1, 0]
    assert count_sequences.count(database, patterns, 1).tolist() == [1, 0]
    assert count_sequences.count(database, patterns, 2).tolist() == [2, 0]


def test_many_matches_at_every_level_outgrow_the_first_buffer():
    database = Sequences.from_lists([[0] * 40] * 3)
    patterns = Sequences.from_lists([[0] * length for length in range(1, 12)])
    assert count_sequences.count(database, patterns, 2).tolist() == [3] * 11
