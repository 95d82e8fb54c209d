"""One shard's part of the positions tables: arrays by kind and variant, and the texts of the label check."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ops.arrays import Arrays, Float32s
from ops.positions.shard import PositionsResult
from ops.positions.sums import Key, Totals
from ops.reducers.grouped_moments import GroupedMoments
from ops.storage.arrays import read_arrays, write_arrays

# The names of arrays begin with these. Their other parts are the kind and the variant of values, and the attribute of
# moments; or the variant of the features of texts.
_MOMENTS, _COUNTS, _SUMS, _TEXTS, _VECTORS = "moments", "counts", "sums", "texts", "vectors"


class Features(NamedTuple):
    """The texts of the label check.

    Attributes:
        tokens: for each text's id, its token ids.
        vectors: for each variant and each id of a measured text, the mean of the last layer's states.
    """

    tokens: dict[int, list[int]]
    vectors: dict[str, dict[int, Float32s]]


def to_table(result: PositionsResult) -> pa.Table:
    """Return a shard's result as a table of arrays, without the moments of kinds and variants that have no values."""
    totals = result.sums.result()
    arrays: dict[str, Arrays] = {}
    for (kind, variant), moments in totals.moments.items():
        if len(moments.ids):
            arrays |= {f"{_MOMENTS}/{kind}/{variant}/{name}": values for name, values in vars(moments).items()}
    for part, by_key in ((_COUNTS, totals.counts), (_SUMS, totals.sums)):
        arrays |= {f"{part}/{kind}/{variant}": values for (kind, variant), values in by_key.items()}
    texts = sorted(result.features.items())
    lengths = [(sent_id, len(tokens)) for sent_id, (tokens, _) in texts]
    arrays[f"{_TEXTS}/lengths"] = np.array(lengths, np.int64).reshape(-1, 2)
    arrays[f"{_TEXTS}/tokens"] = np.array([token for _, (tokens, _) in texts for token in tokens], np.int64)
    for variant in dict.fromkeys(name for _, (_, vectors) in texts for name in vectors):
        own = [(sent_id, vectors[variant]) for sent_id, (_, vectors) in texts if variant in vectors]
        arrays[f"{_VECTORS}/{variant}/ids"] = np.array([sent_id for sent_id, _ in own], np.int64)
        arrays[f"{_VECTORS}/{variant}/values"] = np.stack([vector for _, vector in own])
    return write_arrays(**arrays)


def merge(tables: Iterable[pa.Table], variants: Iterable[str] = ()) -> tuple[Totals, Features]:
    """Merge the tables of shards in the given order, so that rounding is the same in every run.

    Args:
        tables: the tables of `to_table`.
        variants: the variants of the features; each gets an entry, even if no text has features under it.
    """
    totals, features = Totals(), Features({}, {name: {} for name in variants})
    for table in tables:
        totals = totals.merge(_read(table, features))
    return totals, features


def _read(table: pa.Table, features: Features) -> Totals:
    """Return the totals from a table of `to_table`; the texts of the label check are added to `features`."""
    parts: dict[str, dict[tuple[str, ...], Arrays]] = defaultdict(dict)
    for name, values in read_arrays(table).items():
        part, *key = name.split("/")
        parts[part][tuple(key)] = values
    lengths, tokens = (parts[_TEXTS][name,] for name in ("lengths", "tokens"))
    pieces = np.split(tokens, np.cumsum(lengths[:, 1])[:-1]) if len(lengths) else []
    features.tokens.update(zip(lengths[:, 0].tolist(), (piece.tolist() for piece in pieces), strict=True))
    vectors = parts[_VECTORS]
    for variant in dict.fromkeys(variant for variant, _ in vectors):
        ids = vectors[variant, "ids"].tolist()
        features.vectors.setdefault(variant, {}).update(zip(ids, vectors[variant, "values"], strict=True))
    moments: dict[Key, dict[str, Arrays]] = defaultdict(dict)
    for (kind, variant, name), values in parts[_MOMENTS].items():
        moments[kind, variant][name] = values
    counts, sums = (
        {(kind, variant): values for (kind, variant), values in parts[part].items()} for part in (_COUNTS, _SUMS)
    )
    return Totals({key: GroupedMoments(**own) for key, own in moments.items()}, counts, sums)
