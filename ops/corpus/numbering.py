"""The choice of the sentences to keep, and their ids, computed from counts by source and by position."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int64s, UInt64s, places_among
from ops.corpus.corpus_tokens import TOKEN_COLUMNS
from ops.corpus.exact_duplicates import FirstCopies
from ops.corpus.meta import meta_structs
from ops.corpus.piece_counts import Pieces
from ops.sampling import in_sample, sample_cutoff
from ops.schema import schema

UNIT = 1 << 16  # number of positions in a block whose kept sentences are counted together


@dataclass(frozen=True)
class Numbering:
    """The sentences that are kept, and how many of them precede each position.

    Attributes:
        last: the priority and position of the sample's last sentence; None if all distinct sentences are kept.
        distinct, kept: number of distinct and of kept sentences of each source.
        near: number of texts of each source that were dropped as near-duplicates.
        before: number of kept sentences before each block of `UNIT` positions, and their total, `[units + 1]`.
    """

    last: tuple[int, int] | None
    distinct: Int64s
    kept: Int64s
    near: Int64s
    before: Int64s


def number(pieces: Pieces, texts: FirstCopies, sources: int, limit: int | None) -> Numbering:
    """Count the distinct and the kept sentences by source and by position, holding only these counts in memory.

    Args:
        pieces: the pieces that were read.
        texts: the distinct sentences.
        sources: number of sources.
        limit: maximum number of sentences to keep, drawn as a seeded uniform sample; None keeps all.
    """

    def blocks() -> Iterator[tuple[UInt64s, Int64s]]:
        for group in texts.groups("priority"):
            yield group["priority"].to_numpy(), group["position"].to_numpy()

    last = sample_cutoff(blocks, limit) if limit is not None and limit < texts.total() else None
    firsts = pieces.first_positions()
    starts = firsts[np.searchsorted(pieces.sources, np.arange(sources))]

    def by_source(position: Int64s) -> Int64s:
        return np.bincount(np.searchsorted(starts, position, "right") - 1, minlength=sources)

    units = -(-int(firsts[-1]) // UNIT)
    distinct, kept, near = (np.zeros(sources, np.int64) for _ in range(3))
    each = np.zeros(units, np.int64)
    for group in texts.groups() if last is None else texts.groups("priority"):
        position = group["position"].to_numpy()
        distinct += by_source(position)
        if last is not None:
            position = position[in_sample(group["priority"].to_numpy(), position, last)]
        kept += by_source(position)
        each += np.bincount(position // UNIT, minlength=units)
    for position in texts.dropped():
        near += by_source(position)
    return Numbering(last, distinct, kept, near, np.concatenate([[0], np.cumsum(each)]))


def corpus_parts(numbering: Numbering, size: int, together: int) -> Iterator[dict[str, Any]]:
    """Yield blocks of consecutive shards with at least `together` sentences each; the last block may have fewer.

    Each block has the `ids` of its sentences (first, stop), the range of `positions` that contains them, and the number
    of sentences to `skip` at the start of this range.
    """
    total = int(numbering.before[-1])
    step = -(-together // size) * size
    for first in range(0, total, step):
        stop = min(first + step, total)
        start = int(np.searchsorted(numbering.before, first, "right")) - 1
        end = int(np.searchsorted(numbering.before, stop, "left"))
        yield {
            "ids": [first, stop],
            "positions": [start * UNIT, end * UNIT],
            "skip": first - int(numbering.before[start]),
        }


def reject_parts(pieces: Pieces, together: int) -> Iterator[dict[str, Any]]:
    """Yield blocks of consecutive pieces with about `together` rejects each: `part`, `pieces` (first, stop), `rows`."""
    place = (np.cumsum(pieces.rejects) - pieces.rejects) // together
    cuts = [0, *(np.flatnonzero(np.diff(place)) + 1).tolist(), len(place)]
    for part, (first, stop) in enumerate(pairwise(cuts)):
        yield {"part": part, "pieces": [first, stop], "rows": int(pieces.rejects[first:stop].sum())}


def sentences_before(run: Int64s, known: Int64s, before: Int64s) -> Int64s:
    """Return for each of these document blocks the number of the document's sentences before it, `[runs]`.

    Args:
        run: indices of document blocks, `[runs]`.
        known: the ascending indices of the blocks that continue a document.
        before: the number of the document's sentences before each block in `known`.
    """
    place, is_known = places_among(known, run)
    found = np.zeros(len(run), np.int64)
    found[is_known] = before[place]
    return found


def corpus_rows(
    table: pa.Table, dataset: str, sent_id: int, before: Int64s, copies: Int64s, keys: list[str]
) -> pa.Table:
    """Return sentences of a piece with the columns of corpus/, followed by `TOKEN_COLUMNS`.

    Args:
        table: some of the piece's sentences, in their order.
        dataset: the name of the source's dataset.
        sent_id: the id of the first sentence; the other ids follow consecutively.
        before: number of the document's sentences before each sentence's document block, `[sentences]`.
        copies: how often each sentence occurs, `[sentences]`.
        keys: the metadata keys of all sources.
    """
    columns = {
        "sent_id": pa.array(np.arange(sent_id, sent_id + table.num_rows)),
        "text": table["text"],
        "dataset": pa.array([dataset] * table.num_rows, pa.string()),
        "doc_id": table["doc_id"],
        "meta": meta_structs(table["meta"], keys) if keys else None,
        "sent_in_doc": pc.add(table["place"], pa.array(before, pa.int32())),
        "n_tokens": table["n_tokens"],
        "n_copies": pa.array(copies, pa.int32()),
    }
    found = schema("corpus", keys)
    named = pa.table({n: columns[n] for n in found.names}).cast(found)
    for name in TOKEN_COLUMNS.names:
        named = named.append_column(name, table[name])
    return named
