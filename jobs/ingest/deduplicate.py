"""The second step of `ingest`, which finds the first copy of each text and continued documents, by ranges of hashes."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from jobs.engine.item import Item
from jobs.ingest.read import piece_file
from jobs.stage.outputs import Output, partial_file
from jobs.stage.step import Made, Step
from ops.arrays import Arrays, Int64s
from ops.corpus.exact_duplicates import FirstCopies, earlier_sentences, first_copies, hash_range
from ops.corpus.numbering import Pieces
from ops.sampling import LIMIT, priorities
from ops.storage.range_file import read_each_between, write_numbers
from ops.storage.store import Store

PARTITION = 1 << 21  # approximate number of hashes in a range
# which near-duplicates are kept, if --near-dedup is given
NEAR_DUPLICATES = replace(partial_file("ingest", "near"), writer=write_numbers)


def distinct_file(item: Item, kind: str) -> Output:
    """Return the file of a range of hashes of one kind: `texts` or `documents`."""
    name = f"distinct-{kind}-{item['part']:05d}-of-{item['parts']:05d}"
    return replace(partial_file("ingest", name), writer=write_numbers)


def first_copies_step(pieces: Pieces, seed: int | None, store: Store) -> Step:
    """Return the step that finds the first copies; its items depend only on the counts.

    Args:
        seed: the seed of the sample to draw; None if all sentences are kept.
    """
    parts = max(-(-int(max(pieces.sentences.sum(), pieces.documents.sum())) // PARTITION), 1)
    items = [{"part": part, "parts": parts} for part in range(parts)]
    given = {"store": store, "pieces": pieces, "seed": seed}
    return Step(
        name="ingest: first copies", items=items, worker=find_first_copies, args=given, unit="ranges",
        outputs=lambda item: [distinct_file(item, kind) for kind in ("texts", "documents")],
    )  # fmt: skip


def open_first_copies(store: Store, ranges: list[Item], near: bool) -> FirstCopies:
    """Open the first copies that the ranges of hashes found; with `near`, exclude the dropped near-duplicates."""
    names = [distinct_file(item, "texts").path for item in ranges]
    return FirstCopies(store, names, NEAR_DUPLICATES.path if near else None)


def find_first_copies(item: Item, store: Store, pieces: Pieces, seed: int | None) -> Made:
    """Find, for one range of hashes, the first copies of texts, and continued documents.

    Each of the two files is sorted by its first column. The file of texts has `position` (the position of the first
    copy among all usable sentences), `copies` and, if a sample will be drawn, `priority`. The file of documents has
    `run` (the index of a block of consecutive sentences of one document) and `before` (the number of sentences in
    earlier blocks of that document); it lists only blocks with earlier sentences.
    """
    position, high, low = _read_range(item, store, "texts", "place", pieces.first_positions())
    first, copies = first_copies(high, low)
    texts: dict[str, Arrays] = {"position": position[first], "copies": copies}
    if seed is not None:
        texts["priority"] = priorities(low[first], seed, LIMIT)
    run, high, low, sentences = _read_range(item, store, "documents", "run", pieces.first_runs(), "sentences")
    piece = np.searchsorted(pieces.first_runs(), run, "right") - 1
    before = earlier_sentences(high, low, pieces.sources[piece], sentences)
    documents = {"run": run[before > 0], "before": before[before > 0]}
    return {distinct_file(item, "texts"): pa.table(texts), distinct_file(item, "documents"): pa.table(documents)}


def _read_range(item: Item, store: Store, kind: str, number: str, firsts: Int64s, *more: str) -> tuple[Arrays, ...]:
    """Return `number` as an index over all pieces, the hash halves and further columns, sorted by the index."""
    between = hash_range(item["part"], item["parts"])
    columns = (number, "high", "low", *more)
    parts = []
    names = (piece_file(piece, kind).path for piece in range(len(firsts) - 1))
    for first, table in zip(firsts, read_each_between(store, names, "high", *between), strict=False):
        arrays = [table[name].to_numpy() for name in columns]
        parts.append((arrays[0] + first, *arrays[1:]))
    whole = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(whole[0])
    return tuple(column[order] for column in whole)
