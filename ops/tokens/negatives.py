"""The hard negatives of every neuron and pole, sorted by sentence."""

import pyarrow as pa
import pyarrow.compute as pc

from ops.schema import concatenate
from ops.storage.store import Store
from ops.storage.tables import read_parts
from ops.tokens.winners import SCHEMA
from ops.topk.neurons import POLES, Neurons, set_number

COLUMNS = ["layer", "unit", "pole", "quantile", "rank", "sent_id", "activation"]


def hard_negatives(store: Store, neurons: Neurons) -> pa.Table:
    """Return the hard negatives of `examples/` with the columns of `first_winners`, sorted by sentence and set."""
    found = []
    for table in read_parts(store, "examples", COLUMNS):
        own = table.filter(pc.is_null(table["quantile"]))
        neuron = neurons.number(own["layer"].to_numpy(), own["unit"].to_numpy())
        sets = set_number(neuron, pc.index_in(own["pole"], pa.array(POLES)).to_numpy().astype("int64"))
        columns = [own["sent_id"], pa.array(sets), own["rank"], own["activation"]]
        found.append(pa.table(columns, names=SCHEMA.names).cast(SCHEMA))
    return concatenate(SCHEMA, found).sort_by([("sent_id", "ascending"), ("set", "ascending")])
