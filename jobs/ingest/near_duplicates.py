"""The steps of `ingest --near-dedup`, which find near-duplicates among distinct sentences and what each one copies."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.ingest.deduplicate import NEAR_DUPLICATES, open_first_copies
from jobs.ingest.read import piece_file
from jobs.stage.outputs import Output, Written, partial_file, read_partial, read_partials
from jobs.stage.step import Made, Step
from ops.arrays import Int64s, UInt8s, places_among
from ops.corpus.exact_duplicates import hash_range
from ops.corpus.minhash import PERMUTATIONS, MinHasher, band_hashes, banding, short_signatures
from ops.corpus.near_duplicates import candidate_pairs, distinct_pairs, similar_groups, similar_pairs
from ops.corpus.numbering import Pieces
from ops.shards import spans
from ops.storage.range_file import GROUP_ROWS, SortedWriter, read_each_between, take_rows, write_numbers
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.store import Store

SIGNATURES = pa.schema([("position", pa.int64()), ("signature", pa.binary(PERMUTATIONS))])
BANDS = pa.schema([("hash", pa.uint64()), ("position", pa.int64())])
PAIRS = pa.schema([("one", pa.int64()), ("other", pa.int64()), SIGNATURES.field("signature")])
# Signatures are random bits.
UNCOMPRESSED = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}

BLOCK = 1 << 18  # number of positions in a block
PARTITION = 1 << 22  # approximate number of band hashes in a range


def block_file(item: Item, kind: str) -> Output:
    """Return a file of a block of consecutive positions, by its kind.

    The kinds are the `signatures` of the block's distinct sentences and the hashes of their `bands`. The kind `later`
    holds the pairs to compare whose later sentence is in the block. The kind `similar` holds the similar pairs whose
    earlier sentence is in the block.
    """
    return replace(partial_file("ingest", f"near-{kind}-{item['block']:05d}"), writer=write_numbers)


def pairs_file(item: Item) -> Output:
    """Return the file of the pairs of sentences that share a band hash in one range of hashes."""
    name = f"near-pairs-{item['part']:05d}-of-{item['parts']:05d}"
    return replace(partial_file("ingest", name), writer=write_numbers)


def near_duplicate_steps(
    pieces: Pieces, ranges: list[Item], threshold: float, seed: int, store: Store, fingerprint: str
) -> list[Step]:
    """Return the steps: signatures, pairs to compare, their comparison, and the file that later steps read.

    The two sentences of a pair may be in any two blocks of positions, and no worker holds all signatures. So each pair
    carries the signature of its later sentence to the block of the earlier one.
    """
    sentences = int(pieces.sentences.sum())
    bands, rows = banding(threshold)
    blocks: list[Item] = [{"block": i, "positions": list(span)} for i, span in enumerate(spans(sentences, BLOCK))]
    parts = max(-(-sentences * bands // PARTITION), 1)
    partitions: list[Item] = [{"part": part, "parts": parts} for part in range(parts)]
    signing = {"pieces": pieces, "ranges": ranges, "bands": bands, "rows": rows, "seed": seed}
    signed = {"store": store, "blocks": blocks}

    def files(*kinds: str) -> Callable[[Item], list[Output]]:
        return lambda item: [block_file(item, kind) for kind in kinds]

    return [
        Step(
            name="ingest: signatures", items=blocks, outputs=files("signatures", "bands"), worker=sign_block,
            args={**signing, "store": store, "fingerprint": fingerprint}, unit="blocks",
        ),
        Step(
            name="ingest: candidates", items=partitions, outputs=lambda item: [pairs_file(item)], worker=find_pairs,
            args=signed, unit="ranges",
        ),
        Step(
            name="ingest: pairs", items=blocks, outputs=files("later"), worker=sign_later,
            args={"store": store, "parts": partitions}, unit="blocks",
        ),
        Step(
            name="ingest: comparison", items=blocks, outputs=files("similar"), worker=compare_pairs,
            args={**signed, "threshold": threshold}, unit="blocks",
        ),
        Step(
            name="ingest: near-duplicates", items=[{}], outputs=lambda _: [NEAR_DUPLICATES], worker=group_similar,
            args={**signed, "ranges": ranges},
        ),
    ]  # fmt: skip


def sign_block(
    item: Item, store: Store, pieces: Pieces, ranges: list[Item], bands: int, rows: int, seed: int, fingerprint: str
) -> Item:
    """Commit, for one block of positions, the signatures of its distinct sentences and the hashes of their bands.

    Memory holds the block's positions, their texts in some pieces and a segment of hashes.
    """
    first, stop = item["positions"]
    positions = open_first_copies(store, ranges, near=False).between(first, stop - 1)["position"].to_numpy()
    signer = MinHasher(seed)
    files = {kind: block_file(item, kind) for kind in ("signatures", "bands")}

    def write(paths: dict[str, str]) -> None:
        with (
            pq.ParquetWriter(paths["signatures"], SIGNATURES, **UNCOMPRESSED) as signatures,
            SortedWriter(paths["bands"], BANDS) as hashes,
        ):
            for position, texts in _texts_at(positions, store, pieces):
                signed = signer(texts)
                low = pa.py_buffer(short_signatures(signed))
                column = pa.Array.from_buffers(pa.binary(PERMUTATIONS), len(texts), [None, low])
                signatures.write_table(pa.table([pa.array(position), column], schema=SIGNATURES))
                hashes.add(band_hashes(signed, bands, rows).ravel(), np.repeat(position, bands))
            signatures.add_key_value_metadata(files["signatures"].footer(fingerprint, len(positions)))
            hashes.finish(files["bands"].footer(fingerprint, len(positions) * bands))

    store.commit_several({kind: file.path for kind, file in files.items()}, write)
    return {"sentences": 0}


def _texts_at(positions: Int64s, store: Store, pieces: Pieces) -> Iterator[tuple[Int64s, list[str]]]:
    """Yield the texts at ascending positions, some at a time, each time preceded by their positions."""
    firsts = pieces.first_positions()

    def read(piece: int, here: slice) -> list[tuple[Int64s, pa.Table]]:
        position = positions[here]
        with store.parquet(piece_file(piece, "sentences").path) as file:
            return [(position[rows], table) for rows, table in take_rows(file, position - firsts[piece], ["text"])]

    for parts in side_by_side(lambda piece: read(*piece), pieces.split(positions), LARGE_FILES_AT_ONCE):
        for position, table in parts:
            yield position, table["text"].to_pylist()


def find_pairs(item: Item, store: Store, blocks: list[Item]) -> Made:
    """Find, for one range of hashes, the pairs of sentences to compare: `one` and `other`, the later sentence."""
    files = [block_file(block, "bands").path for block in blocks]
    between = hash_range(item["part"], item["parts"])
    hashes = pa.concat_tables(read_each_between(store, files, "hash", *between))
    pairs = candidate_pairs(hashes["hash"].to_numpy(), hashes["position"].to_numpy())
    return {pairs_file(item): _pair_table(pairs)}


def _pair_table(pairs: Int64s) -> pa.Table:
    return pa.table({"one": pairs[:, 0], "other": pairs[:, 1]})


def sign_later(item: Item, store: Store, parts: list[Item]) -> Made:
    """Find, for one block of positions, the distinct pairs whose later sentence is in it.

    Columns: `one` (the earlier sentence), `other` (the later one) and the `signature` of `other`; sorted by `one`.
    Memory holds the block's pairs without their signatures; their number is limited by their window.
    """
    first, stop = item["positions"]
    files = (pairs_file(part).path for part in parts)
    table = pa.concat_tables(read_each_between(store, files, "other", first, stop - 1))
    pairs = distinct_pairs(np.column_stack((table["one"].to_numpy(), table["other"].to_numpy())))
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    position, signature = read_signatures(store, item)

    def write(path: str, footer: dict[bytes, bytes]) -> None:
        compression = {"one": "zstd", "other": "zstd", "signature": "none"}
        with pq.ParquetWriter(path, PAIRS, **{**UNCOMPRESSED, "compression": compression}) as writer:
            for at in range(0, len(pairs), GROUP_ROWS):
                one, other = pairs[at : at + GROUP_ROWS].T
                signed = signature.take(pa.array(np.searchsorted(position, other)))
                writer.write_table(pa.table([pa.array(one), pa.array(other), signed], schema=PAIRS))
            writer.add_key_value_metadata(footer)

    return {block_file(item, "later"): Written(len(pairs), write)}


def as_matrix(signatures: pa.FixedSizeBinaryArray) -> UInt8s:
    """Return signatures as a matrix `[signatures, 128]` that shares their memory."""
    matrix = np.frombuffer(signatures.buffers()[1] or b"", np.uint8).reshape(-1, PERMUTATIONS)
    return matrix[signatures.offset : signatures.offset + len(signatures)]


def compare_pairs(item: Item, store: Store, blocks: list[Item], threshold: float) -> Made:
    """Find, for one block of positions, the similar pairs `one` and `other` whose earlier sentence is in it.

    Memory holds the block's signatures, and its pairs from a few other blocks.
    """
    position, column = read_signatures(store, item)
    signature = as_matrix(column)
    similar = [np.zeros((0, 2), np.int64)]
    first, stop = item["positions"]
    files = (block_file(block, "later").path for block in blocks)
    # The number of pairs with the same earlier sentence is unlimited, so few files are read ahead.
    for pairs in read_each_between(store, files, "one", first, stop - 1, LARGE_FILES_AT_ONCE):
        one, other = (pairs[name].to_numpy() for name in ("one", "other"))
        later = as_matrix(pairs["signature"].combine_chunks())
        mask = similar_pairs(signature, np.searchsorted(position, one), later, threshold)
        similar.append(np.column_stack((one[mask], other[mask])))
    return {block_file(item, "similar"): _pair_table(np.concatenate(similar))}


def read_signatures(store: Store, item: Item) -> tuple[Int64s, pa.FixedSizeBinaryArray]:
    """Return the positions of a block's distinct sentences, ascending, and their short signatures."""
    table = read_partial(store, block_file(item, "signatures"))
    return table["position"].to_numpy(), table["signature"].combine_chunks()


def group_similar(item: Item, store: Store, ranges: list[Item], blocks: list[Item]) -> Made:
    """Group all similar pairs into near-duplicates: `position`, `first` and `copies`, sorted by position.

    `first` is the position that is kept, and `copies` is the total number of occurrences of the group's texts. Memory
    grows with the number of sentences that are similar to another one: about 50 bytes for each, and 50 for each pair.
    """
    similar = pa.concat_tables(read_partials(store, [block_file(block, "similar") for block in blocks]))
    pairs = distinct_pairs(np.column_stack((similar["one"].to_numpy(), similar["other"].to_numpy())))
    named = np.unique(pairs)
    copies = np.zeros(len(named), np.int64)
    for group in open_first_copies(store, ranges, near=False).groups("copies"):
        index, is_named = places_among(named, group["position"].to_numpy())
        copies[index] = group["copies"].to_numpy()[is_named]
    grouped, first, total = similar_groups(np.searchsorted(named, pairs), copies)
    table = pa.table({"position": named[grouped], "first": named[first], "copies": total})
    return {NEAR_DUPLICATES: table}
