from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from ops.storage.store import Store
from ops.topk.neurons import Neurons
from ops.topk.pilot import Pilot

EDGES = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(("equal_lengths", "gpu"), [(False, None), (True, "NVIDIA H100 (9.0)")])
def test_a_file_gives_back_the_pilot(tmp_path: Path, equal_lengths: bool, gpu: str | None) -> None:
    path = tmp_path / "pilot.parquet"
    Pilot(EDGES, Neurons((1, 2)), equal_lengths, gpu, excess=2.5).write(str(path), {b"mine": b"1"})
    assert pq.read_schema(path).metadata[b"mine"] == b"1"
    found = Pilot.read(Store(str(tmp_path)), "pilot.parquet")
    np.testing.assert_array_equal(found.edges, EDGES)
    assert (found.neurons, found.equal_lengths, found.gpu) == (Neurons((1, 2)), equal_lengths, gpu)
    assert found.excess == 2.5
