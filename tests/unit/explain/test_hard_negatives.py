"""Hard negatives against a plain program that looks at one sentence after another."""

from statistics import median
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.explain.examples import hard_negatives

# Few values, so that scores and activations are often equal.
sentence = st.tuples(
    st.sampled_from([-2.5, 0.0, 1.0, 2.0]), st.sampled_from([-1.0, -0.5, 0.0, 0.5, 2.0]), st.booleans()
)


def plain(rows: list[Any], threshold: float, pole: str, is_sparse: bool, most: int) -> list[int]:
    middle = median(activation for _, activation, _ in rows)
    found = []
    for place, (score, activation, won) in enumerate(rows):
        quiet = activation <= middle if pole == "top" else activation >= middle
        if (activation == 0 if is_sparse else quiet) and not won and score >= threshold:
            found.append((-score, activation if pole == "top" else -activation, place))
    return [place for _, _, place in sorted(found)[:most]]


@given(
    st.lists(sentence, min_size=1, max_size=30),
    st.sampled_from([-1.0, 1.0, 1.5]),
    st.sampled_from(["top", "bottom"]),
    st.booleans(),
    st.integers(1, 6),
)
def test_they_are_those_of_a_plain_program(
    rows: list[Any], threshold: float, pole: str, is_sparse: bool, most: int
) -> None:
    scores, activations, won = (np.array(column) for column in zip(*rows, strict=True))
    found = hard_negatives(scores, threshold, activations.astype(np.float32), won, pole, is_sparse, most)
    assert found.tolist() == plain(rows, threshold, pole, is_sparse, most)


def test_the_median_of_two_float32_neighbours_is_between_them() -> None:
    """In float32 the mean of the two is one of them, so that both would count as the median or lower."""
    low = np.float32(1 + 2**-23)
    activations = np.array([low, np.nextafter(low, np.float32(2))], np.float32)
    nobody = np.zeros(2, bool)
    assert hard_negatives(np.ones(2), 0.0, activations, nobody, "top").tolist() == [0]
    assert hard_negatives(np.ones(2), 0.0, activations, nobody, "bottom").tolist() == [1]
