from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.priority import last_chosen, priorities, up_to
from ops.shards import LIMIT


@given(
    st.lists(st.sampled_from([0, 1, 5, 2**48, 2**48 + 1, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1), min_size=1),
    st.data(),
)
@settings(deadline=None)
def test_the_sample_is_the_first_by_priority_and_then_position(values: list[int], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(values)))
    step = data.draw(st.integers(1, 5))
    priority, position = np.array(values, np.uint64), np.arange(len(values))[::-1].copy()

    def blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, len(values), step):
            yield priority[start : start + step], position[start : start + step]

    chosen = up_to(priority, position, last_chosen(blocks, size))
    expected = sorted(range(len(values)), key=lambda i: (values[i], int(position[i])))[:size]
    assert np.flatnonzero(chosen).tolist() == sorted(expected)


def test_the_draw_is_uniform_and_another_for_another_seed() -> None:
    hashes = np.random.default_rng(1).integers(0, 2**64, 20_000, dtype=np.uint64)
    one, other = (priorities(hashes, seed, LIMIT) for seed in (0, 1))
    assert len(np.unique(one)) == len(hashes)
    for found in (one, other):
        share = found / 2.0**64
        assert abs(share.mean() - 0.5) < 0.01
        assert np.abs(np.histogram(share, 20, (0, 1))[0] / 1_000 - 1).max() < 0.15
    both = ((one < np.uint64(2**63)) & (other < np.uint64(2**63))).mean()
    assert abs(both - 0.25) < 0.015
