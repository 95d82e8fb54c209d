"""The steps of `ingest --near-dedup`, which find near-duplicates among distinct sentences and what each one copies."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.engine.item import Item
from jobs.ingest.deduplicate import NEAR_DUPLICATES, open_first_copies
from jobs.ingest.read import piece_file
from jobs.stage.outputs import Output, partial_file, read_partial, read_partials, write_partial
from jobs.stage.runner import Step
from ops.arrays import Int64s
from ops.corpus.exact_duplicates import hash_range
from ops.corpus.minhash import MinHasher, banding
from ops.corpus.near_duplicates import candidate_pairs, distinct_pairs, places_of, similar_groups, similar_pairs
from ops.corpus.near_files import as_matrix, write_pairs, write_signatures
from ops.corpus.piece_counts import Pieces
from ops.shards import spans
from ops.storage.range_file import read_each_between, take_rows, write_numbers
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.store import Store

RUN = 1 << 18  # number of positions in a block
PARTITION = 1 << 22  # number of band hashes in a range


def run_file(item: Item, kind: str) -> Output:
    """Return a file of a block of consecutive positions, by its kind.

    The kinds are the `signatures` of the block's distinct sentences and the hashes of their `bands`. The kind `later`
    holds the pairs to compare whose later sentence is in the block. The kind `similar` holds the similar pairs whose
    earlier sentence is in the block.
    """
    return partial_file("ingest", f"near-{kind}-{item['run']:05d}")


def pairs_file(item: Item) -> Output:
    """Return the file of the pairs of sentences that share a band hash in one range of hashes."""
    return partial_file("ingest", f"near-pairs-{item['part']:05d}-of-{item['parts']:05d}")


def near_duplicate_steps(
    pieces: Pieces,
    ranges: list[Item],
    threshold: float,
    seed: int,
    args: Item,
    run: int = RUN,
    partition: int = PARTITION,
) -> list[Step]:
    """Return the steps: signatures, pairs to compare, their comparison, and the file that later steps read.

    The two sentences of a pair may be in any two blocks of positions, and no worker holds all signatures. So each pair
    carries the signature of its later sentence to the block of the earlier one.

    Args:
        pieces: the pieces that were read.
        ranges: the items of the step that found the first copies.
        threshold: the minimum similarity (Jaccard) of near-duplicates.
        seed: the seed of the signatures.
        args: the run's folder and the stage's fingerprint.
        run, partition: the number of positions in a block, and the approximate number of band hashes in a range.
    """
    sentences = int(pieces.sentences.sum())
    bands, rows = banding(threshold)
    runs: list[Item] = [{"run": i, "positions": list(span)} for i, span in enumerate(spans(sentences, run))]
    parts = max(-(-sentences * bands // partition), 1)
    partitions: list[Item] = [{"part": part, "parts": parts} for part in range(parts)]
    signing = {**args, "pieces": pieces, "ranges": ranges, "bands": bands, "rows": rows, "seed": seed}
    signed = {**args, "runs": runs}
    comparing = {**signed, "threshold": threshold}

    def files(*kinds: str) -> Callable[[Item], list[Output]]:
        return lambda item: [run_file(item, kind) for kind in kinds]

    return [
        Step("ingest: signatures", runs, files("signatures", "bands"), RunSigner, signing, "runs"),
        Step("ingest: candidates", partitions, lambda item: [pairs_file(item)], BandRange, signed, "ranges"),
        Step("ingest: pairs", runs, files("later"), LaterSigner, {**args, "parts": partitions}, "runs"),
        Step("ingest: comparison", runs, files("similar"), PairComparer, comparing, "runs"),
        Step("ingest: near-duplicates", [{}], lambda _: [NEAR_DUPLICATES], NearFinder, {**signed, "ranges": ranges}),
    ]


class RunSigner:
    """Commits, for each block of positions, the signatures of its distinct sentences and the hashes of their bands."""

    def __init__(
        self, store: Store, pieces: Pieces, ranges: list[Item], bands: int, rows: int, seed: int, fingerprint: str
    ) -> None:
        self.store, self.pieces, self.fingerprint = store, pieces, fingerprint
        self.texts = open_first_copies(self.store, ranges, near=False)
        self.banding, self.signer = (bands, rows), MinHasher(seed)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Process one block; memory holds its positions, their texts in some pieces and one segment of hashes."""
        first, stop = item["positions"]
        found = self.texts.between(first, stop - 1)["position"].to_numpy()

        def footer(kind: str, rows: int) -> dict[bytes, bytes]:
            return run_file(item, kind).footer(self.fingerprint, rows)

        def write(paths: dict[str, str]) -> None:
            write_signatures(paths, self._texts(found), self.signer, self.banding, footer)

        self.store.commit_several({kind: run_file(item, kind).path for kind in ("signatures", "bands")}, write)
        return {}

    def _texts(self, found: Int64s) -> Iterator[tuple[Int64s, list[str]]]:
        firsts = self.pieces.first_positions()

        def read(piece: int, here: slice) -> list[tuple[Int64s, pa.Table]]:
            position = found[here]
            with self.store.parquet(piece_file(piece, "sentences").path) as file:
                return [(position[own], table) for own, table in take_rows(file, position - firsts[piece], ["text"])]

        for parts in side_by_side(lambda piece: read(*piece), self.pieces.split(found), LARGE_FILES_AT_ONCE):
            for position, table in parts:
                yield position, table["text"].to_pylist()


class BandRange:
    """Commits, for each range of hashes, the pairs of sentences to compare: `one` and `other`, the later sentence."""

    def __init__(self, store: Store, runs: list[Item], fingerprint: str) -> None:
        self.store, self.runs, self.fingerprint = store, runs, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Process one range of hashes."""
        between = hash_range(item["part"], item["parts"])
        files = [run_file(run, "bands").path for run in self.runs]
        whole = pa.concat_tables(read_each_between(self.store, files, "hash", *between))
        pairs = candidate_pairs(whole["hash"].to_numpy(), whole["position"].to_numpy())
        table = pa.table({"one": pairs[:, 0], "other": pairs[:, 1]})
        write_partial(self.store, pairs_file(item), table, self.fingerprint, write=write_numbers)
        return {}


class LaterSigner:
    """Commits, for each block of positions, the distinct pairs whose later sentence is in it.

    Columns: `one` (the earlier sentence), `other` (the later one) and the `signature` of `other`; sorted by `one`.
    Memory holds the block's pairs without their signatures; their number is limited by their window.
    """

    def __init__(self, store: Store, parts: list[Item], fingerprint: str) -> None:
        self.store, self.parts, self.fingerprint = store, parts, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Process one block of positions."""
        first, stop = item["positions"]
        files = (pairs_file(part).path for part in self.parts)
        found = pa.concat_tables(read_each_between(self.store, files, "other", first, stop - 1))
        pairs = distinct_pairs(np.column_stack((found["one"].to_numpy(), found["other"].to_numpy())))
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        output, signed = run_file(item, "later"), read_signatures(self.store, item)
        footer = output.footer(self.fingerprint, len(pairs))
        self.store.commit(output.path, lambda path: write_pairs(path, pairs, *signed, footer))
        return {}


class PairComparer:
    """Commits, for each block of positions, the similar pairs `one` and `other` whose earlier sentence is in it."""

    def __init__(self, store: Store, runs: list[Item], threshold: float, fingerprint: str) -> None:
        self.store, self.runs, self.threshold, self.fingerprint = store, runs, threshold, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Process one block; memory holds its signatures, and its pairs from a few other blocks."""
        position, column = read_signatures(self.store, item)
        signature = as_matrix(column)
        found = [np.zeros((0, 2), np.int64)]
        for pairs in self._pairs(*item["positions"]):
            one, other = (pairs[name].to_numpy() for name in ("one", "other"))
            later = as_matrix(pairs["signature"].combine_chunks())
            similar = similar_pairs(signature, np.searchsorted(position, one), later, self.threshold)
            found.append(np.column_stack((one[similar], other[similar])))
        whole = np.concatenate(found)
        table = pa.table({"one": whole[:, 0], "other": whole[:, 1]})
        write_partial(self.store, run_file(item, "similar"), table, self.fingerprint, write=write_numbers)
        return {}

    def _pairs(self, first: int, stop: int) -> Iterator[pa.Table]:
        files = (run_file(run, "later").path for run in self.runs)
        # The number of pairs with the same earlier sentence is unlimited, so few files are read ahead.
        return read_each_between(self.store, files, "one", first, stop - 1, LARGE_FILES_AT_ONCE)


def read_signatures(store: Store, item: Item) -> tuple[Int64s, pa.FixedSizeBinaryArray]:
    """Return the positions of a block's distinct sentences, ascending, and their short signatures."""
    table = read_partial(store, run_file(item, "signatures"))
    return table["position"].to_numpy(), table["signature"].combine_chunks()


class NearFinder:
    """Commits the groups of near-duplicates as `position`, `first` and `copies`, sorted by position.

    `first` is the position that is kept, and `copies` is the total number of occurrences of the group's texts. Memory
    grows with the number of sentences that are similar to another one: about 50 bytes for each, and 50 for each pair.
    """

    def __init__(self, store: Store, ranges: list[Item], runs: list[Item], fingerprint: str) -> None:
        self.store, self.runs, self.fingerprint = store, runs, fingerprint
        self.texts = open_first_copies(self.store, ranges, near=False)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Group all similar pairs and write the near-duplicates."""
        similar = pa.concat_tables(read_partials(self.store, [run_file(run, "similar") for run in self.runs]))
        pairs = distinct_pairs(np.column_stack((similar["one"].to_numpy(), similar["other"].to_numpy())))
        named = np.unique(pairs)
        grouped, first, total = similar_groups(np.searchsorted(named, pairs), self._copies(named))
        table = pa.table({"position": named[grouped], "first": named[first], "copies": total})
        write_partial(self.store, NEAR_DUPLICATES, table, self.fingerprint, write=write_numbers)
        return {}

    def _copies(self, named: Int64s) -> Int64s:
        """Return how often the texts at these ascending positions occur."""
        found = np.zeros(len(named), np.int64)
        for group in self.texts.groups("copies"):
            at, here = places_of(group["position"].to_numpy(), named)
            found[at] = group["copies"].to_numpy()[here]
        return found
