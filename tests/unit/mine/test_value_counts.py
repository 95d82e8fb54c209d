from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.mine.value_counts import FoundValues, count_in_sets
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
        sizes = Counter[int]()
        for m in members:
            sizes[codes[m]] += 1 if every_sentence else len(lists[m])
        assert found.n_documents[number] == sum(size > 0 for size in sizes.values())
        assert found.n_squares[number] == sum(size**2 for size in sizes.values())
        of_entries = (found.documents, found.squares, found.products)
        for value, own, *by_document in zip(found.value, found.set_of, *of_entries, strict=True):
            if own == number:
                have = Counter(codes[m] for m in members for v in lists[m] if v == value)
                products = sum(n * sizes[code] for code, n in have.items())
                assert by_document == [len(have), sum(n * n for n in have.values()), products]
        for place, own in ((2, members), (3, inside)):
            expected = Counter(value for m in own for value in lists[m])
            assert {e[1]: e[place] for e in entries if e[0] == number and e[place]} == dict(expected)
        n, marked_n = (len(own) if every_sentence else sum(len(lists[m]) for m in own) for own in (members, inside))
        assert (found.n[number], found.marked_n[number]) == (n, marked_n)


@given(LISTS, st.booleans())
def test_values_by_document_are_those_of_one_set_of_all(lists, every_sentence):
    values, documents = Sequences.from_lists(lists), np.arange(len(lists), dtype=np.int32) // 2
    found = FoundValues.by_document(values, documents, 6, every_sentence)
    every, nowhere = Sequences.of_all(len(lists)), np.zeros(len(lists), bool)
    known = count_in_sets(values, every, nowhere, documents, 6, every_sentence)
    assert found.value.tolist() == sorted(known.value.tolist())
    for name in ("count", "squares", "products"):
        ours, theirs = (
            dict(zip(own.value.tolist(), getattr(own, name).tolist(), strict=True)) for own in (found, known)
        )
        assert ours == theirs
    assert (found.n, found.n_squares) == (known.n[0], known.n_squares[0])
