from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.mine.value_counts import FoundValues, count_in_sets, distinct_values, occurrences_of
from ops.patterns.sequences import Sequences

LISTS = st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=1, max_size=8)


@given(LISTS, st.booleans(), st.data())
def test_values_are_counted_in_each_set_as_by_hand(lists, every_sentence, data):
    places = st.lists(st.integers(0, len(lists) - 1), unique=True)
    sets = data.draw(st.lists(places, max_size=5))
    marked = data.draw(st.lists(st.booleans(), min_size=len(lists), max_size=len(lists)))
    codes = data.draw(st.lists(st.integers(0, 3), min_size=len(lists), max_size=len(lists)))
    documents = np.array(codes, np.int32)
    values = Sequences.from_lists(lists)
    found = count_in_sets(values, Sequences.from_lists(sets), np.array(marked, bool), documents, 6, every_sentence)
    entries = list(zip(found.set_of, found.value, found.count, found.marked, strict=True))
    assert len({(number, value) for number, value, *_ in entries}) == len(entries)
    for number, members in enumerate(sets):
        inside = [m for m in members if marked[m]]
        own_documents = zip(found.value, found.documents, found.set_of, strict=True)
        in_documents = {value: n for value, n, own in own_documents if own == number}
        assert in_documents == {v: len({codes[m] for m in members if v in lists[m]}) for v in in_documents}
        for place, own in ((2, members), (3, inside)):
            expected = Counter(value for m in own for value in lists[m])
            assert {e[1]: e[place] for e in entries if e[0] == number and e[place]} == dict(expected)
        n, marked_n = (len(own) if every_sentence else sum(len(lists[m]) for m in own) for own in (members, inside))
        assert (found.n[number], found.marked_n[number]) == (n, marked_n)


@given(LISTS)
def test_each_value_once_and_where_it_is(lists):
    once = distinct_values(Sequences.from_lists(lists), 6)
    assert once.to_lists() == [list(dict.fromkeys(row)) for row in lists]
    wanted = np.array([4, 0, 3])
    found = occurrences_of(once, wanted, 6)
    for value, first, stop in zip(wanted, found.offsets[:-1], found.offsets[1:], strict=True):
        assert found.sentences[first:stop].tolist() == [i for i, row in enumerate(lists) if value in row]


@given(st.lists(st.integers(0, 5), max_size=12), st.integers(6, 40))
def test_only_values_that_occur_are_listed_however_many_there_are(codes, n_values):
    found = FoundValues.of(np.array(codes, np.int32), n_values, 99)
    assert dict(zip(found.value.tolist(), found.count.tolist(), strict=True)) == Counter(codes)
    assert found.value.tolist() == sorted(set(codes))
    assert (found.value.dtype, found.n) == (np.dtype(np.int64), 99)
