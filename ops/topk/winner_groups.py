"""The rows of `topk/` or `topk_by_dataset/` of some neurons, a row group at a time."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int64s
from ops.storage.store import Store
from ops.storage.tables import part_name
from ops.topk.neurons import POLES, Neurons, part_of, set_number


def winner_groups(
    store: Store, neurons: Neurons, numbers: Int64s | None, columns: tuple[str, ...] = ("sent_id",), table: str = "topk"
) -> Iterator[tuple[Int64s, pa.Table]]:
    """Yield the rows of some neurons with the requested columns, preceded by the set number (`set_number`) of each row.

    Rows come in the order of the table; a row group without any of these neurons is skipped.

    Args:
        store: the run's folder.
        neurons: all neurons of the run.
        numbers: the indices of the neurons to read; None for all neurons.
        columns: the columns to read in addition to the neuron and the pole.
        table: `topk` or `topk_by_dataset`.
    """
    names = store.table_files(table) if numbers is None else [part_name(table, p) for p in np.unique(part_of(numbers))]
    for name in names:
        with store.parquet(name) as file:
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group, columns=["layer", "unit", "pole", *columns])
                neuron = neurons.number(rows["layer"].to_numpy(), rows["unit"].to_numpy())
                own = np.ones(len(neuron), np.bool_) if numbers is None else np.isin(neuron, numbers)
                if own.any():
                    pole = pc.index_in(rows["pole"], pa.array(POLES)).to_numpy().astype(np.int64)
                    yield set_number(neuron[own], pole[own]), rows.select(columns).filter(pa.array(own))
