from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.audit.audited_neurons import read_dataset_winners
from ops.schema import schema
from ops.storage.store import Store
from ops.topk.neurons import Neurons

PART = np.array([0, 0, 1, 1, -1, 1, 0, 1] + [0] * 30, np.int32)


@pytest.fixture
def run(tmp_path: Path) -> Store:
    rows = [
        {"layer": layer, "unit": unit, "pole": pole, "rank": rank + 1, "sent_id": 100 + row}
        for layer, unit in ((1, 0), (1, 1))
        for pole, winners in (("bottom", [3, 0, 4, 2, 6]), ("top", [7, 1, 5, *range(8, 30)]))
        for rank, row in enumerate(winners)
    ]
    layout = pa.schema([field for field in schema("topk") if field.name in rows[0]])
    elsewhere = {"layer": 1, "unit": 2, "pole": "top", "rank": 1, "sent_id": 104}
    for name, own in (("topk_by_dataset", rows), ("topk", [*rows, elsewhere])):
        (tmp_path / name).mkdir()
        pq.write_table(pa.Table.from_pylist(own, layout), tmp_path / name / "part-00000.parquet", row_group_size=7)
    return Store(str(tmp_path))


def read(run: Store, most: int, numbers: list[int]) -> dict[int, list[int]]:
    sentences = SimpleNamespace(rows=lambda ids: ids - 100)
    found = read_dataset_winners(run, Neurons((3,)), sentences, np.array(numbers), "topk_by_dataset", PART, most)  # type: ignore[arg-type]
    return {number: rows.tolist() for number, rows in found}


def test_sets_have_the_first_winners_of_each_data_set_by_row(run: Store) -> None:
    assert read(run, 2, [0]) == {0: [0, 2, 3, 6], 1: [1, 5, 7, 8]}
    assert read(run, 1, [0, 1]) == {number: rows for own in (0, 2) for number, rows in
                                                       ((own, [0, 3]), (own + 1, [1, 7]))}  # fmt: skip


def test_a_set_without_a_winner_in_the_data_sets_is_there(run: Store) -> None:
    assert read(run, 1, [1, 2]) == {2: [0, 3], 3: [1, 7], 5: []}
