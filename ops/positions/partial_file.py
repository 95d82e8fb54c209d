"""One shard's part of the positions tables: its totals, and the texts of the label check, as arrays."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ops.arrays import Float32s, Int64s
from ops.positions.shard import PositionsResult
from ops.positions.sums import Totals
from ops.storage.arrays import read_arrays, write_arrays


class Features(NamedTuple):
    """The measured texts of the label check, by ascending id.

    Attributes:
        sent_ids: the ids of the texts, `[texts]`.
        lengths: the number of tokens of each text, `[texts]`.
        tokens: the token ids, text after text, `[tokens]`.
        vectors: the mean of the last layer's states under `default` and each variant, `[texts, 1 + variants, width]`;
            NaN under a variant that has no position for each token of the text. Its shape is `[0]` without texts.
    """

    sent_ids: Int64s
    lengths: Int64s
    tokens: Int64s
    vectors: Float32s


def to_table(result: PositionsResult) -> pa.Table:
    """Return a shard's result as a table of arrays."""
    texts = sorted(result.features, key=lambda text: text[0])
    features = Features(
        np.array([sent_id for sent_id, _, _ in texts], np.int64),
        np.array([len(tokens) for _, tokens, _ in texts], np.int64),
        np.array([token for _, tokens, _ in texts for token in tokens], np.int64),
        np.array([vectors for _, _, vectors in texts], np.float32),
    )
    return write_arrays(**result.sums.result().to_arrays(), **features._asdict())


def merge(tables: Iterable[pa.Table]) -> tuple[Totals, Features]:
    """Merge the tables of `to_table` in the order of the shards, so that rounding is the same in every run."""
    totals, features = Totals(), []
    for table in tables:
        arrays = read_arrays(table)
        features.append([arrays.pop(name) for name in Features._fields])
        totals = totals.merge(Totals.from_arrays(arrays))
    with_texts = [columns for columns in features if len(columns[0])] or features[:1]
    return totals, Features(*(np.concatenate(column) for column in zip(*with_texts, strict=True)))
