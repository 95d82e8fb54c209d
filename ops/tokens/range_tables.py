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

TABLES = ("peaks", "token_activations")


def range_tables(
    store: Store, names: Iterable[str], neurons: Neurons, first: int, stop: int, wanted: Sequence[str] = TABLES
) -> dict[str, Iterator[pa.Table]]:
    """Return the row groups of each table; no neuron is split between two row groups.

    Args:
        names: the paths of the files of all pieces, at least one.
        first, stop: the range of neurons, from index `first` to `stop` - 1.
        wanted: the names of the tables; only `negative_tokens` is of hard negatives.
    """
    sets = set_number(first, 0), set_number(stop - 1, len(POLES) - 1)
    found = read_each_between(store, names, "set", *sets)
    rows = pa.concat_tables(found).sort_by([("set", "ascending"), ("rank", "ascending")]).combine_chunks()
    winners = rows.filter(pc.invert(rows["is_negative"]))

    def of(table: str) -> pa.Table:
        if table == "token_activations":
            return token_rows(winners, neurons)
        if table == "negative_tokens":
            return token_rows(rows.filter(rows["is_negative"]), neurons, table)
        own, peak, documents = (winners[name].to_numpy() for name in ("set", "peak", "document"))
        return peak_rows(neurons, own, winners["words"], winners["tags"], peak, documents)

    tables = {table: of(table) for table in wanted}
    return {
        name: row_groups(table, neurons.number(table["layer"].to_numpy(), table["unit"].to_numpy()), group_rows(name))
        for name, table in tables.items()
    }


def token_rows(rows: pa.Table, neurons: Neurons, table: str = "token_activations") -> pa.Table:
    """Return a piece's rows as rows of `token_activations/`, or of another table with the same columns."""
    neuron, pole = neuron_and_pole(rows["set"].to_numpy())
    layer, unit = neurons.layer_and_unit(neuron)
    poles = pa.array(np.array(POLES, object)[pole], pa.string())
    kept = {name: rows[name] for name in ("rank", "sent_id", "tokens", "starts", "ends", "activations")}
    return pa.table({"layer": layer, "unit": unit, "pole": poles, **kept}).cast(schema(table))
