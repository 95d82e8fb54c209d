"""What `ingest --near-dedup` adds: which distinct sentences are near-duplicates, and of which one."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.stage.layout import Output, near_duplicates_file, near_run_file, pairs_file
from jobs.stage.runner import Step
from jobs.steps.ingest.deduplicate import open_first_copies
from jobs.steps.ingest.near_candidates import SIGNATURES, BandRange, RunSigner, pair_outputs, signed_outputs
from ops.corpus.minhash import PERMUTATIONS, banding
from ops.corpus.near_duplicates import distinct_pairs, places_of, similar_groups, similar_pairs
from ops.corpus.piece_counts import Pieces
from ops.shards import spans
from ops.storage.range_file import GROUP_ROWS, read_each, read_each_between, write_numbers
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE
from ops.storage.store import Store

RUN = 1 << 18  # positions
PARTITION = 1 << 22  # hashes of bands
PAIRS = pa.schema([("one", pa.int64()), ("other", pa.int64()), SIGNATURES.field("signature")])

Numbers = npt.NDArray[np.int64]


def near_duplicate_steps(
    pieces: Pieces,
    ranges: list[Item],
    threshold: float,
    seed: int,
    args: Item,
    run: int = RUN,
    partition: int = PARTITION,
) -> list[Step]:
    """Return the steps: signatures, pairs to compare, their comparison, and the file that the later steps read.

    A pair's sentences are of any two runs of positions, and no worker holds all signatures: each pair takes that of its
    later sentence along to the run of the earlier one.

    Args:
        pieces: what was read.
        ranges: the items of the step that found the first copies.
        threshold: least similarity (Jaccard) of near-duplicates.
        seed: that of the signatures.
        args: the run's folder and the stage's fingerprint.
        run, partition: positions of a run, and hashes of bands of a range, about.
    """
    sentences = int(pieces.sentences.sum())
    bands, rows = banding(threshold)
    runs: list[Item] = [{"run": i, "positions": list(span)} for i, span in enumerate(spans(sentences, run))]
    parts = max(-(-sentences * bands // partition), 1)
    partitions: list[Item] = [{"part": part, "parts": parts} for part in range(parts)]
    signing = {**args, "pieces": pieces, "ranges": ranges, "bands": bands, "rows": rows, "seed": seed}
    comparing = {**args, "runs": runs, "threshold": threshold}
    whole = [near_duplicates_file()]
    return [
        Step("ingest: signatures", runs, signed_outputs, RunSigner, signing, "runs"),
        Step("ingest: candidates", partitions, pair_outputs, BandRange, {**args, "runs": runs}, "ranges"),
        Step("ingest: pairs", runs, later_outputs, LaterSigner, {**args, "parts": partitions}, "runs"),
        Step("ingest: comparison", runs, similar_outputs, PairComparer, comparing, "runs"),
        Step("ingest: near-duplicates", [{}], lambda _: whole, NearFinder, {**args, "ranges": ranges, "runs": runs}),
    ]


def later_outputs(item: Item) -> list[Output]:
    """Return the file of the pairs whose later sentence is of a run of positions."""
    return [near_run_file(item["run"], "later")]


def similar_outputs(item: Item) -> list[Output]:
    """Return the file of the similar pairs whose earlier sentence is of a run of positions."""
    return [near_run_file(item["run"], "similar")]


class LaterSigner:
    """Commits for each run of positions the pairs whose later sentence is in it, each once, with that one's signature.

    `one`, the earlier sentence, `other`, `signature` of `other`, by `one`. Memory is that of the run's pairs, without
    signatures: so many as their window allows.
    """

    def __init__(self, store: Store, parts: list[Item], fingerprint: str) -> None:
        self.store, self.parts, self.fingerprint = store, parts, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one run."""
        first, stop = item["positions"]
        files = (pairs_file(part["part"], part["parts"]).path for part in self.parts)
        found = pa.concat_tables(read_each_between(self.store, files, "other", first, stop - 1))
        pairs = distinct_pairs(np.column_stack((found["one"].to_numpy(), found["other"].to_numpy())))
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        (output,) = later_outputs(item)
        self.store.commit(output.path, partial(self._write, item["run"], pairs, output))
        return {}

    def _write(self, run: int, pairs: Numbers, output: Output, path: str) -> None:
        position, signature = read_signatures(self.store, run)
        # Signatures are random bits: nothing is gained by compressing them.
        compression = {"one": "zstd", "other": "zstd", "signature": "none"}
        with pq.ParquetWriter(path, PAIRS, compression=compression, use_dictionary=False) as writer:
            for at in range(0, len(pairs), GROUP_ROWS):
                one, other = pairs[at : at + GROUP_ROWS].T
                signed = signature.take(pa.array(np.searchsorted(position, other)))
                writer.write_table(pa.table([pa.array(one), pa.array(other), signed], schema=PAIRS))
            writer.add_key_value_metadata(output.footer(self.fingerprint, len(pairs)))


class PairComparer:
    """Commits for each run of positions the pairs `one` and `other` that are similar and whose earlier one is in it."""

    def __init__(self, store: Store, runs: list[Item], threshold: float, fingerprint: str) -> None:
        self.store, self.runs, self.threshold, self.fingerprint = store, runs, threshold, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one run; memory is that of its signatures, and of its pairs out of a few other runs."""
        position, column = read_signatures(self.store, item["run"])
        signature = as_matrix(column)
        found = [np.zeros((0, 2), np.int64)]
        for pairs in self._pairs(*item["positions"]):
            one, other = (pairs[name].to_numpy() for name in ("one", "other"))
            later = as_matrix(pairs["signature"].combine_chunks())
            similar = similar_pairs(signature, np.searchsorted(position, one), later, self.threshold)
            found.append(np.column_stack((one[similar], other[similar])))
        whole = np.concatenate(found)
        (output,) = similar_outputs(item)
        table = pa.table({"one": whole[:, 0], "other": whole[:, 1]})
        table = table.replace_schema_metadata(output.footer(self.fingerprint, len(whole)))
        self.store.commit(output.path, partial(write_numbers, table))
        return {}

    def _pairs(self, first: int, stop: int) -> Iterator[pa.Table]:
        files = (near_run_file(run["run"], "later").path for run in self.runs)
        # A sentence may be the earlier one of pairs without number: few files are ahead.
        return read_each_between(self.store, files, "one", first, stop - 1, LARGE_FILES_AT_ONCE)


def read_signatures(store: Store, run: int) -> tuple[Numbers, pa.FixedSizeBinaryArray]:
    """Return the positions of a run's distinct sentences, ascending, and their short signatures."""
    with store.parquet(near_run_file(run, "signatures").path) as file:
        table = file.read()
    return table["position"].to_numpy(), table["signature"].combine_chunks()


def as_matrix(signatures: pa.FixedSizeBinaryArray) -> npt.NDArray[np.uint8]:
    """Return signatures as a matrix `[signatures, 128]` of the same memory."""
    matrix = np.frombuffer(signatures.buffers()[1] or b"", np.uint8).reshape(-1, PERMUTATIONS)
    return matrix[signatures.offset : signatures.offset + len(signatures)]


class NearFinder:
    """Commits the groups of near-duplicates as `position`, `first` and `copies`, by position.

    `first` is the position that is kept, `copies` how often the texts of its group occur together. Memory grows with
    the sentences that are similar to another one: about 50 bytes for each, and 50 for each pair.
    """

    def __init__(self, store: Store, ranges: list[Item], runs: list[Item], fingerprint: str) -> None:
        self.store, self.runs, self.fingerprint = store, runs, fingerprint
        self.texts = open_first_copies(self.store, ranges, near=False)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do the whole."""
        files = (near_run_file(run["run"], "similar").path for run in self.runs)
        similar = pa.concat_tables(table.replace_schema_metadata() for table in read_each(self.store, files))
        pairs = distinct_pairs(np.column_stack((similar["one"].to_numpy(), similar["other"].to_numpy())))
        named = np.unique(pairs)
        grouped, first, total = similar_groups(np.searchsorted(named, pairs), self._copies(named))
        table = pa.table({"position": named[grouped], "first": named[first], "copies": total})
        output = near_duplicates_file()
        table = table.replace_schema_metadata(output.footer(self.fingerprint, table.num_rows))
        self.store.commit(output.path, partial(write_numbers, table))
        return {}

    def _copies(self, named: Numbers) -> Numbers:
        """Return how often the texts of these ascending positions occur."""
        found = np.zeros(len(named), np.int64)
        for group in self.texts.groups("copies"):
            at, here = places_of(group["position"].to_numpy(), named)
            found[at] = group["copies"].to_numpy()[here]
        return found
