"""The pilot is of a size that a corpus can spare, and is read back as it was laid out."""

import numpy as np

from ops.positions.pilot import pilot_size, pilot_table, read_pilot
from ops.positions.similarity import Panel


def test_the_size_is_a_fiftieth_within_bounds() -> None:
    assert [pilot_size(n) for n in (20, 3_000, 5_000, 1_000_000)] == [20, 512, 512, 2_048]


def test_the_pilot_is_read_back() -> None:
    means = {"default": np.arange(6, dtype=np.float32).reshape(2, 3), "none": np.ones((2, 3), np.float32)}
    panel = Panel(np.array([7, 5, 7]), np.arange(18, dtype=np.float32).reshape(2, 3, 3))
    found, read, norms = read_pilot(pilot_table(means, panel, np.arange(4, dtype=np.float32)))
    assert norms.tolist() == [0, 1, 2, 3]
    assert np.array_equal(read.sent_ids, panel.sent_ids)
    assert np.array_equal(read.states, panel.states)
    assert found.keys() == means.keys()
    assert all(np.array_equal(found[name], mean) for name, mean in means.items())
