"""The partial file of one piece of a shard: a row for each winner and hard negative among its sentences."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ops.model.tokenizer import PlacedTokens
from ops.sentences.codes import document_codes
from ops.storage.tables import COMPRESSION
from ops.tokens.read_tokens import TokenActivations
from ops.tokens.winners import Winners

GROUP_ROWS = 4_096


def piece_rows(
    wanted: pa.Table, winners: Winners, placed: list[PlacedTokens], sentences: pa.Table, found: TokenActivations
) -> pa.Table:  # fmt: skip
    """Return the piece's winners and hard negatives token by token, sorted by set, winners first, and rank.

    Args:
        wanted: their rows with the columns of `ops.tokens.winners.SCHEMA`.
        winners: the same, with their places.
        sentences: the `dataset`, `doc_id`, `words` and `tags` of the sentences.
    """
    whole = np.concatenate([[0], np.cumsum([len(p.strings) for p in placed])]).astype(np.int32)
    spans = [span for p in placed for span in p.spans]
    starts, ends = ([None if span is None else span[side] for span in spans] for side in (0, 1))
    by_sentence = {
        "tokens": pa.ListArray.from_arrays(whole, pa.array([s for p in placed for s in p.strings], pa.string())),
        "starts": pa.ListArray.from_arrays(whole, pa.array(starts, pa.int32())),
        "ends": pa.ListArray.from_arrays(whole, pa.array(ends, pa.int32())),
        "words": sentences["words"],
        "tags": sentences["tags"],
        "document": document_codes(sentences["dataset"], sentences["doc_id"]),
    }
    order = pa.array(np.lexsort([wanted[name].to_numpy() for name in ("rank", "is_negative", "set")]))
    activations = pa.ListArray.from_arrays(found.offsets.astype(np.int32), pa.array(found.values))
    at = pa.array(winners.sentence).take(order)
    return pa.table(
        {
            **{name: wanted[name].take(order) for name in ("set", "is_negative", "rank", "sent_id")},
            "activations": activations.take(order),
            "peak": pa.array(found.peak).take(order),
            **{name: column.take(at) for name, column in by_sentence.items()},
        }
    )


def write_rows(rows: pa.Table, path: str) -> None:
    """Write a piece's rows and their schema's metadata, so that they can be read by ranges of sets."""
    pq.write_table(rows, path, row_group_size=GROUP_ROWS, compression=COMPRESSION, write_page_checksum=True)
