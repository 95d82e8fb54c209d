"""The rows of the file that `respond --to` writes."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ops.respond.measure import Corpus, Measured
from ops.schema import table
from ops.schema.responses import RESPONSES


def response_rows(corpus: Corpus, measured: Measured, texts: Sequence[str], first: int) -> pa.Table:
    """Return a row for each text and unit; `first` is the number of the first text."""
    units = len(corpus.neurons)
    layer, unit = corpus.neurons.layer_and_unit(np.arange(units))
    tail, rank = measured.tail.ravel(), measured.rank.ravel()
    numbers = np.arange(first, first + len(texts), dtype=np.int32)
    pole = pa.array(np.where(tail > 0, "top", "bottom"), pa.string(), mask=np.isnan(tail))
    columns = {
        "number": np.repeat(numbers, units),
        "text": pa.array(texts, pa.string()).take(pa.array(np.repeat(np.arange(len(texts)), units))),
        "layer": np.tile(layer, len(texts)), "unit": np.tile(unit, len(texts)),
        "activation": measured.activation.ravel(), "z": measured.z.ravel().astype(np.float32),
        "tail": np.abs(tail).astype(np.float32), "tail_like": np.abs(measured.tail_like.ravel()).astype(np.float32),
        "pole": pole, "rank": pa.array(rank, pa.int32(), mask=rank == 0),
    }  # fmt: skip
    return table(RESPONSES.arrow, columns)
