"""The first winners and the hard negatives of every neuron and pole, sorted by sentence."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Float32s, Int64s, places_among
from ops.schema import concatenate
from ops.storage.store import Store
from ops.storage.tables import read_parts
from ops.topk.neurons import POLES, Neurons, neuron_and_pole
from ops.topk.winner_groups import winner_groups

SCHEMA = pa.schema(
    [
        ("sent_id", pa.int64()),
        ("set", pa.int64()),
        ("is_negative", pa.bool_()),  # whether it is a hard negative; otherwise a winner
        ("rank", pa.int32()),
        ("activation", pa.float32()),
    ]
)
_NEGATIVE = ["layer", "unit", "pole", "quantile", "rank", "sent_id", "activation"]


class Winners(NamedTuple):
    """Winners or hard negatives `[winners]`, sorted by sentence.

    Attributes:
        sentence: the index of each winner's sentence among the given sentences.
        layer, unit: the layer and unit of each winner's neuron; layers are numbered as in the tables.
        sign: 1 at the pole `top`, -1 at `bottom`, so that activation times sign is high for winners of both poles.
        activation: the pooled activation that `topk/` or `examples/` contains.
    """

    sentence: Int64s
    layer: Int64s
    unit: Int64s
    sign: Float32s
    activation: Float32s


def first_winners(store: Store, neurons: Neurons, top: int, negatives: bool = False) -> pa.Table:
    """Return the winners of `topk/` up to rank `top` with the columns of `SCHEMA`, sorted by sentence and set.

    Only the returned rows and one row group are in memory. With `negatives`, the hard negatives of `examples/` are too.
    """
    tables = []
    for part in read_parts(store, "examples", _NEGATIVE) if negatives else ():
        rows = part.filter(pc.is_null(part["quantile"]))
        tables.append(_wanted(rows, neurons.set_numbers(rows), True))
    for sets, rows in winner_groups(store, neurons, None, ("sent_id", "rank", "activation")):
        tables.append(_wanted(rows, sets, False).filter(pc.less_equal(rows["rank"], top)))
    return concatenate(SCHEMA, tables).sort_by([("sent_id", "ascending"), ("set", "ascending")])


def _wanted(rows: pa.Table, sets: Int64s, is_negative: bool) -> pa.Table:
    rows = rows.append_column("set", pa.array(sets))
    rows = rows.append_column("is_negative", pa.repeat(pa.scalar(is_negative), len(rows)))
    return rows.select(SCHEMA.names).cast(SCHEMA)


def place_winners(wanted: pa.Table, sent_ids: Int64s, neurons: Neurons) -> Winners:
    """Return what is in rows of `SCHEMA`, with the index of each sentence among these ascending ids, `[sentences]`.

    Raises:
        RuntimeError: a winner's sentence is not among the ids.
    """
    wanted_ids = wanted["sent_id"].to_numpy()
    sentence, is_known = places_among(sent_ids, wanted_ids)
    if not is_known.all():
        raise RuntimeError(f"tokens: sentence {wanted_ids[~is_known][0]} is to be read and not in sentences/")
    neuron, pole = neuron_and_pole(wanted["set"].to_numpy())
    layer, unit = neurons.layer_and_unit(neuron)
    sign = np.where(pole == POLES.index("top"), 1, -1).astype(np.float32)
    return Winners(sentence, layer.astype(np.int64), unit.astype(np.int64), sign, wanted["activation"].to_numpy())
