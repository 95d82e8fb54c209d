import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.explain.known_literals import KnownLiterals, beside, from_table, one_after_another, to_table
from ops.explain.some_occurrences import of_literals
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequences import Sequences

SENTENCES, LITERALS = 7, 3
MANY = st.lists(st.sets(st.integers(0, SENTENCES - 1)), min_size=LITERALS, max_size=LITERALS)


def having(lists: list[set[int]]) -> Occurrences:
    found = Sequences.from_lists([sorted(own) for own in lists])
    return Occurrences(found.items, found.offsets)


def sets(found: Occurrences) -> list[set[int]]:
    return [set(own.tolist()) for own in np.split(found.sentences, found.offsets[1:-1])]


@given(st.lists(MANY, min_size=1, max_size=4))
def test_runs_follow_each_other(runs: list[list[set[int]]]) -> None:
    found = one_after_another((having(run), SENTENCES) for run in runs)
    assert sets(found) == [
        {SENTENCES * number + place for number, run in enumerate(runs) for place in run[literal]}
        for literal in range(LITERALS)
    ]
    assert all(np.all(np.diff(own) > 0) for own in np.split(found.sentences, found.offsets[1:-1]))


@given(MANY, MANY, st.permutations(range(LITERALS)))
def test_literals_are_chosen_and_put_beside_others(
    lists: list[set[int]], more: list[set[int]], order: list[int]
) -> None:
    assert sets(of_literals(having(lists), np.array(order, np.int64))) == [lists[literal] for literal in order]
    assert sets(beside(having(lists), having(more))) == [*lists, *more]
    assert sets(from_table(to_table(having(lists)))) == lists


@given(MANY, st.lists(st.booleans(), min_size=SENTENCES, max_size=SENTENCES))
def test_sentences_are_counted_and_left_out(lists: list[set[int]], keep: list[bool]) -> None:
    known, kept = KnownLiterals(having(lists), SENTENCES), np.flatnonzero(keep)
    assert known.support(kept).tolist() == [len(own & set(kept.tolist())) for own in lists]
    some = known.of(np.array(keep, bool))
    assert some.sentences == len(kept)
    assert sets(some.found) == [{place for place, number in enumerate(kept.tolist()) if number in own} for own in lists]
