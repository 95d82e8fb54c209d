"""Activations for testing reducers of the first K: few or many, with or without ties, with much or little room."""

import numpy as np
from hypothesis import strategies as st

NEURONS = 3
Stream = tuple[np.ndarray, np.ndarray, int, int | None, np.random.Generator]


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """Draw values `[sentences, NEURONS]`, the sentences' distinct ids, K, room for candidates, and what draws more."""
    n = draw(st.sampled_from([0, 1, 5, 70, 300]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    levels = draw(st.sampled_from([1, 3, 50, 10**6]))
    values = (rng.integers(-levels, levels + 1, (n, NEURONS)) / 7).astype(np.float32)
    ids = rng.permutation(1000)[:n].astype(np.int64)
    return values, ids, draw(st.sampled_from([1, 2, 7, 130, 400])), draw(st.sampled_from([None, 1, 500])), rng
