"""The rows of `topk/` or `topk_by_dataset/` of some neurons, a row group at a time."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ops.arrays import Int64s
from ops.storage.range_file import read_groups_of_each
from ops.storage.store import Store
from ops.storage.tables import part_name
from ops.topk.neurons import Neurons, neuron_and_pole, part_of


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
    for rows in read_groups_of_each(store, names, ["layer", "unit", "pole", *columns]):
        sets, rows = neurons.set_numbers(rows), rows.select(columns)
        if numbers is not None:
            wanted = np.isin(neuron_and_pole(sets)[0], numbers)
            sets, rows = sets[wanted], rows.filter(pa.array(wanted))
        if len(sets):
            yield sets, rows
