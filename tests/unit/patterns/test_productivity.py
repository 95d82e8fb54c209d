import math
from collections.abc import Callable, Iterable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.arrays import Bools
from ops.patterns.productivity import productive_sequences, productive_subtrees
from ops.patterns.sequences import Sequences
from ops.patterns.subtree_patterns import Subtrees

LIFT = st.sampled_from([0.5, 1.0, 1.05, 1.2, 2.0, math.nan])
PATTERN = st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple)
RATIO = st.sampled_from([0.0, 1.0, 1.05, 1.5])


def depths_to_subtree(rises, labels):
    """Return a preorder, given how far each node's depth is above its lowest possible value."""
    depths = [0]
    for rise in rises:
        depths.append(1 + min(rise, depths[-1]))
    return tuple(zip(depths, labels, strict=False))


SUBTREE = st.builds(
    depths_to_subtree,
    st.lists(st.integers(0, 3), min_size=1, max_size=4),
    st.lists(st.integers(0, 1), min_size=5, max_size=5),
)


def filtered(
    filter_: Callable[..., Bools], patterns: Sequences | Subtrees, lifts: Iterable[float], ratio: float
) -> Bools:
    """Filter all patterns as one set."""
    return filter_(patterns, np.array(list(lifts), np.float64), ratio, Sequences.of_all(len(patterns)))


def is_kept(pattern, shorter, lifts, ratio):
    return not any(lifts[pattern] < ratio * lifts[other] for other in shorter if other in lifts)


@given(st.dictionaries(PATTERN, LIFT, max_size=15), RATIO)
def test_sequences_are_compared_with_those_one_item_shorter(lifts, ratio):
    patterns = list(lifts)
    found = filtered(productive_sequences, Sequences.from_lists(patterns), lifts.values(), ratio).tolist()
    one_less = [[p[:i] + p[i + 1 :] for i in range(len(p))] for p in patterns]
    assert found == [is_kept(p, less, lifts, ratio) for p, less in zip(patterns, one_less, strict=True)]


def one_node_less(subtree):
    for place, (depth, _) in enumerate(subtree):
        if place + 1 == len(subtree) or subtree[place + 1][0] <= depth:
            yield subtree[:place] + subtree[place + 1 :]
    if sum(depth == 1 for depth, _ in subtree) == 1:
        yield tuple((depth - 1, label) for depth, label in subtree[1:])


@given(st.dictionaries(SUBTREE, LIFT, max_size=15), RATIO)
def test_subtrees_are_compared_with_those_one_node_shorter(lifts, ratio):
    subtrees = list(lifts)
    found = filtered(productive_subtrees, Subtrees.from_lists(subtrees), lifts.values(), ratio).tolist()
    assert found == [is_kept(s, one_node_less(s), lifts, ratio) for s in subtrees]


def test_the_root_goes_only_where_it_has_one_child():
    chain, chain_less = ((0, 1), (1, 2), (2, 3)), ((0, 2), (1, 3))
    fork, fork_less = ((0, 1), (1, 2), (1, 3)), ((0, 1), (1, 2))
    subtrees = Subtrees.from_lists([chain, chain_less, fork, fork_less])
    found = filtered(productive_subtrees, subtrees, [1, 1, 1.2, 1], 1.1)
    assert found.tolist() == [False, True, True, True]


def test_without_a_ratio_or_a_baseline_nothing_is_left_out():
    patterns = Sequences.from_lists([[1], [1, 1]])
    assert filtered(productive_sequences, patterns, [1.0, 1.0], 0).all()
    assert filtered(productive_sequences, patterns, [math.nan, math.nan], 1.05).all()
    assert filtered(productive_sequences, Sequences.from_lists([]), [], 1.05).size == 0


@given(st.lists(st.dictionaries(PATTERN, LIFT, max_size=10), max_size=4), RATIO)
def test_sets_are_compared_within_themselves(sets, ratio):
    distinct = sorted({pattern for own in sets for pattern in own})
    places = Sequences.from_lists([[distinct.index(pattern) for pattern in own] for own in sets])
    lifts = np.array([lift for own in sets for lift in own.values()], np.float64)
    alone = [
        filtered(productive_sequences, Sequences.from_lists(list(own)), own.values(), ratio).tolist() for own in sets
    ]
    together = productive_sequences(Sequences.from_lists(distinct), lifts, ratio, places).tolist()
    assert together == [keep for own in alone for keep in own]
