"""The hard negatives of every neuron and pole, sorted by sentence."""

import pyarrow as pa
import pyarrow.compute as pc

from ops.schema import concatenate
from ops.storage.store import Store
from ops.storage.tables import read_parts
from ops.tokens.winners import SCHEMA
from ops.topk.neurons import Neurons

COLUMNS = ["layer", "unit", "pole", "quantile", "rank", "sent_id", "activation"]


def hard_negatives(store: Store, neurons: Neurons) -> pa.Table:
    """Return the hard negatives of `examples/` with the columns of `first_winners`, sorted by sentence and set."""
    found = []
    for table in read_parts(store, "examples", COLUMNS):
        negatives = table.filter(pc.is_null(table["quantile"]))
        negatives = negatives.append_column("set", pa.array(neurons.set_numbers(negatives)))
        found.append(negatives.select(SCHEMA.names).cast(SCHEMA))
    return concatenate(SCHEMA, found).sort_by([("sent_id", "ascending"), ("set", "ascending")])
