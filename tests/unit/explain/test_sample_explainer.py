import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.explain.sample_explainer import top_places


@given(st.integers(1, 30), st.integers(0, 2**16), st.data())
def test_the_top_places_are_those_of_a_stable_sort(n: int, seed: int, data: st.DataObject) -> None:
    values = np.random.default_rng(seed).integers(-4, 4, n).astype(np.float32)
    size = data.draw(st.integers(1, n))
    expected = np.sort(np.argsort(-values, kind="stable")[:size])
    assert top_places(values, size).tolist() == expected.tolist()
