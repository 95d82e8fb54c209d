from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.storage.store import Store
from ops.topk.neurons import NEURONS_PER_PART, POLES, Neurons, set_number
from ops.topk.winner_groups import winner_groups

WIDTHS = (200, 100)  # the second part of the table begins within the second layer
ROWS = [
    (layer, unit, pole, rank, 7 * unit + rank)
    for layer, width in enumerate(WIDTHS, 1)
    for unit in range(width)
    for pole in POLES
    for rank in (1, 2, 3)
]


@pytest.fixture(params=["topk", "topk_by_dataset"])
def table(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(tmp_path: Path, table: str) -> Store:
    (tmp_path / table).mkdir()
    whole = [row for row in ROWS if number(row) < NEURONS_PER_PART], [r for r in ROWS if number(r) >= NEURONS_PER_PART]
    for part, rows in enumerate(whole):
        columns = dict(zip(("layer", "unit", "pole", "rank", "sent_id"), zip(*rows, strict=True), strict=True))
        types = (pa.int16(), pa.int32(), pa.string(), pa.int32(), pa.int64())
        arrays = [pa.array(values, kind) for values, kind in zip(columns.values(), types, strict=True)]
        made = pa.table(arrays, names=list(columns))
        pq.write_table(made, tmp_path / table / f"part-{part:05d}.parquet", row_group_size=50)
    return Store(str(tmp_path))


def number(row: tuple[int, int, str, int, int]) -> int:
    return sum(WIDTHS[: row[0] - 1]) + row[1]


def test_rows_are_those_of_the_neurons_in_the_order_of_the_table(run: Store, table: str) -> None:
    for wanted in (None, [0], [3, 199, 200], [255, 256], [299]):
        numbers = None if wanted is None else np.array(wanted)
        found = list(winner_groups(run, Neurons(WIDTHS), numbers, ("rank", "sent_id"), table))
        expected = [row for row in ROWS if wanted is None or number(row) in wanted]
        assert [n for sets, _ in found for n in sets.tolist()] == [
            set_number(number(row), POLES.index(row[2])) for row in expected
        ]
        assert [r for _, rows in found for r in rows["sent_id"].to_pylist()] == [row[4] for row in expected]
        assert [r for _, rows in found for r in rows["rank"].to_pylist()] == [row[3] for row in expected]
        assert all(len(sets) == rows.num_rows > 0 for sets, rows in found)
