"""The rows of the tables of `tokens` for one range of neurons, collected from all pieces."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.mine.sentence_sets import row_groups
from ops.schema import group_rows, schema
from ops.storage.range_file import read_each_between
from ops.storage.store import Store
from ops.tokens.peaks import peak_rows
from ops.topk.neurons import POLES, Neurons, neuron_and_pole, set_number


def range_tables(
    store: Store, names: Iterable[str], neurons: Neurons, first: int, stop: int, wanted: Sequence[str]
) -> dict[str, Iterator[pa.Table]]:
    """Return the row groups of each table; no neuron is split between two row groups.

    Args:
        names: the paths of the files of all pieces, at least one.
        first, stop: the range of neurons, from index `first` to `stop` - 1.
        wanted: the names of the tables, of which only `negative_tokens` is of hard negatives.
    """
    sets = set_number(first, 0), set_number(stop - 1, len(POLES) - 1)
    pieces = read_each_between(store, names, "set", *sets)
    rows = pa.concat_tables(pieces).sort_by([("set", "ascending"), ("rank", "ascending")]).combine_chunks()
    groups = {}
    for name in wanted:
        table_rows = rows.filter(pc.equal(rows["is_negative"], name == "negative_tokens"))
        table = peak_rows(neurons, table_rows) if name == "peaks" else token_rows(table_rows, neurons, name)
        numbers = neurons.number(table["layer"].to_numpy(), table["unit"].to_numpy())
        groups[name] = row_groups(table, numbers, group_rows(name))
    return groups


def token_rows(rows: pa.Table, neurons: Neurons, table: str = "token_activations") -> pa.Table:
    """Return a piece's rows as rows of `token_activations/`, or of another table with the same columns."""
    neuron, pole = neuron_and_pole(rows["set"].to_numpy())
    layer, unit = neurons.layer_and_unit(neuron)
    poles = pa.array(np.array(POLES, object)[pole], pa.string())
    kept = {name: rows[name] for name in ("rank", "sent_id", "tokens", "starts", "ends", "activations")}
    return pa.table({"layer": layer, "unit": unit, "pole": poles, **kept}).cast(schema(table))
