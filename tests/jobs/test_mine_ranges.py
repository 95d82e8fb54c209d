"""Ranges of neurons that are mined: their length follows from K alone, and one is known by its neurons."""

from pathlib import Path

import pyarrow as pa
import pytest

from jobs.mine.steps import candidates_file
from jobs.stage.ranges import neuron_ranges, range_part
from ops.storage.store import Store


@pytest.mark.parametrize(("k", "neurons"), [(1, 64), (1_000, 64), (2_500, 64), (5_000, 32), (10_000, 16), (50_000, 16)])
def test_with_many_winners_a_range_is_shorter(k: int, neurons: int) -> None:
    ranges = neuron_ranges(9_216 + 1, k)
    assert ranges[0] == {"range": 0, "first": 0, "stop": neurons}
    assert ranges[-1] == {"range": 9_216 // neurons, "first": 9_216, "stop": 9_217}


def test_a_range_of_another_length_is_not_taken_for_one(tmp_path: Path) -> None:
    store, long, short = Store(str(tmp_path)), neuron_ranges(128, 1)[0], neuron_ranges(128, 10_000)[0]
    candidates_file(long).commit(store, pa.table({"set": [1]}), "print")
    assert candidates_file(long).is_whole(store, "print")
    assert not candidates_file(short).is_whole(store, "print")
    # The later one takes its place, and so do parts of tables.
    assert candidates_file(long).path == candidates_file(short).path
    assert range_part("patterns", long).path == range_part("patterns", short).path
    assert range_part("patterns", long).name != range_part("patterns", short).name
