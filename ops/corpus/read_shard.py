"""Reading a shard of corpus/ for a pass of the model over it."""

import numpy as np
import pyarrow as pa

from ops.shards import Ids
from ops.storage.store import Store
from ops.storage.tables import part_name


def read_shard(store: Store, shard: int, rows: Ids | None = None) -> tuple[Ids, list[str], Ids]:
    """Read ids, texts and token counts of a shard, or of some of its sentences (ascending ids)."""
    with store.parquet(part_name("corpus", shard)) as file:
        table = file.read(columns=["sent_id", "text", "n_tokens"])
    if rows is not None:
        table = table.take(pa.array(np.searchsorted(table["sent_id"].to_numpy(), rows)))
    return table["sent_id"].to_numpy(), table["text"].to_pylist(), table["n_tokens"].to_numpy()
