"""The rows of a range of neurons in the tables of `tokens`, from all pieces."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from ops.mine.row_groups import row_groups
from ops.schema import group_rows
from ops.storage.range_file import read_each_between
from ops.storage.store import Store
from ops.tokens.partial_file import token_rows
from ops.tokens.peaks import peak_rows
from ops.topk.neurons import POLES, Neurons, set_number


def range_tables(
    store: Store, names: Iterable[str], neurons: Neurons, first: int, stop: int
) -> dict[str, Iterator[pa.Table]]:
    """Return the row groups of each table, no neuron cut in two.

    Args:
        store: the run's folder.
        names: the files of all pieces.
        neurons: the model's.
        first, stop: of these the range's first one, and where it ends.
    """
    sets = set_number(first, 0), set_number(stop - 1, len(POLES) - 1)
    found = read_each_between(store, names, "set", *sets)
    rows = pa.concat_tables(found).sort_by([("set", "ascending"), ("rank", "ascending")]).combine_chunks()
    own, peak, documents = (rows[name].to_numpy() for name in ("set", "peak", "document"))
    peaks = peak_rows(neurons, own, rows["words"], rows["tags"], peak, documents)
    tables = {"peaks": peaks, "token_activations": token_rows(rows, neurons)}
    return {
        name: row_groups(table, neurons.number(table["layer"].to_numpy(), table["unit"].to_numpy()), group_rows(name))
        for name, table in tables.items()
    }
