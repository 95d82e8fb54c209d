"""The step of `ingest` that --near-dedup adds: which distinct sentences are near-duplicates, and of which one."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.stage.layout import Output, near_duplicates_file, pairs_file, piece_file, signed_file
from jobs.stage.step import Step
from jobs.steps.ingest.deduplicate import open_first_copies
from ops.corpus.exact_duplicates import hash_range
from ops.corpus.minhash import PERMUTATIONS, MinHasher, band_hashes, banding, short_signatures
from ops.corpus.near_duplicates import candidate_pairs, distinct_pairs, places_of, similar_groups, similar_pairs
from ops.corpus.piece_counts import Pieces
from ops.shards import spans
from ops.storage.range_file import SortedWriter, read_each_between, read_groups_of_each, take_rows, write_numbers
from ops.storage.side_by_side import AHEAD, side_by_side
from ops.storage.store import Store

RUN = 1 << 18  # positions
PARTITION = 1 << 22  # hashes of bands
SIGNED_FILES = ("signatures", "bands")
SIGNATURES = pa.schema([("position", pa.int64()), ("signature", pa.binary(PERMUTATIONS))])
BANDS = pa.schema([("hash", pa.uint64()), ("position", pa.int64())])

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
    """Return the steps: signatures, pairs to compare, and the file that the later steps read.

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
    comparing = {**args, "ranges": ranges, "runs": runs, "parts": partitions, "threshold": threshold}
    return [
        Step("ingest: signatures", runs, signed_outputs, RunSigner, signing, "runs"),
        Step("ingest: candidates", partitions, pair_outputs, BandRange, {**args, "runs": runs}, "ranges"),
        Step("ingest: near-duplicates", [{}], lambda _: [near_duplicates_file()], NearFinder, comparing),
    ]


def signed_outputs(item: Item) -> list[Output]:
    """Return the files of a run of positions."""
    return [signed_file(item["run"], kind) for kind in SIGNED_FILES]


def pair_outputs(item: Item) -> list[Output]:
    """Return the file of a range of bands' hashes."""
    return [pairs_file(item["part"], item["parts"])]


class RunSigner:
    """Commits for each run of positions the signatures of its distinct sentences and the hashes of their bands."""

    def __init__(
        self, store: Store, pieces: Pieces, ranges: list[Item], bands: int, rows: int, seed: int, fingerprint: str
    ) -> None:
        self.store, self.pieces, self.fingerprint = store, pieces, fingerprint
        self.texts = open_first_copies(self.store, ranges, near=False)
        self.bands, self.rows, self.signer = bands, rows, MinHasher(seed)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one run; memory is that of its positions, of their texts in some pieces and of one segment of hashes."""
        names = {kind: signed_file(item["run"], kind).path for kind in SIGNED_FILES}
        self.store.commit_several(names, partial(self._write, item))
        return {}

    def _write(self, item: Item, paths: dict[str, str]) -> None:
        first, stop = item["positions"]
        found = self.texts.between(first, stop - 1)["position"].to_numpy()
        with (
            # Signatures are random bits: nothing is gained by compressing them.
            pq.ParquetWriter(paths["signatures"], SIGNATURES, compression="none", use_dictionary=False) as signatures,
            SortedWriter(paths["bands"], BANDS) as bands,
        ):
            for position, texts in self._texts(found):
                signed = self.signer(texts)
                low = pa.py_buffer(short_signatures(signed))
                column = pa.Array.from_buffers(pa.binary(PERMUTATIONS), len(texts), [None, low])
                signatures.write_table(pa.table([pa.array(position), column], schema=SIGNATURES))
                hashes = band_hashes(signed, self.bands, self.rows)
                bands.add(hashes.ravel(), np.repeat(position, self.bands))
            signatures.add_key_value_metadata(self._footer(item, "signatures", len(found)))
            bands.finish(self._footer(item, "bands", len(found) * self.bands))

    def _texts(self, found: Numbers) -> Iterator[tuple[Numbers, list[str]]]:
        firsts = self.pieces.first_positions()

        def read(piece: int, here: slice) -> list[tuple[Numbers, pa.Table]]:
            position = found[here]
            with self.store.parquet(piece_file(piece, "sentences").path) as file:
                return [(position[own], table) for own, table in take_rows(file, position - firsts[piece], ["text"])]

        for parts in side_by_side(lambda piece: read(*piece), self.pieces.split(found), AHEAD):
            for position, table in parts:
                yield position, table["text"].to_pylist()

    def _footer(self, item: Item, kind: str, rows: int) -> dict[bytes, bytes]:
        return signed_file(item["run"], kind).footer(self.fingerprint, rows)


class BandRange:
    """Commits for each range of hashes the pairs of sentences to compare, as `one` and `other`, the later one."""

    def __init__(self, store: Store, runs: list[Item], fingerprint: str) -> None:
        self.store, self.runs, self.fingerprint = store, runs, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one range."""
        between = hash_range(item["part"], item["parts"])
        files = [signed_file(run["run"], "bands").path for run in self.runs]
        whole = pa.concat_tables(read_each_between(self.store, files, "hash", *between))
        pairs = candidate_pairs(whole["hash"].to_numpy(), whole["position"].to_numpy())
        table = pa.table({"one": pairs[:, 0], "other": pairs[:, 1]})
        output = pairs_file(item["part"], item["parts"])
        table = table.replace_schema_metadata(output.footer(self.fingerprint, len(pairs)))
        self.store.commit(output.path, partial(write_numbers, table))
        return {}


class NearFinder:
    """Compares the pairs and commits the groups of near-duplicates as `position`, `first` and `copies`, by position.

    `first` is the position that is kept, `copies` how often the texts of its group occur together. Memory grows with
    the sentences that are to be compared with another: about 200 bytes for each, and 100 for each pair.
    """

    def __init__(
        self, store: Store, ranges: list[Item], runs: list[Item], parts: list[Item], threshold: float, fingerprint: str
    ) -> None:
        self.store, self.runs, self.parts = store, runs, parts
        self.texts = open_first_copies(self.store, ranges, near=False)
        self.threshold, self.fingerprint = threshold, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do the whole."""
        pairs = self._pairs()
        named = np.unique(pairs)
        places = np.searchsorted(named, pairs)
        places = places[similar_pairs(self._signatures(named), places, self.threshold)]
        grouped, first, total = similar_groups(places, self._copies(named))
        table = pa.table({"position": named[grouped], "first": named[first], "copies": total})
        output = near_duplicates_file()
        table = table.replace_schema_metadata(output.footer(self.fingerprint, table.num_rows))
        self.store.commit(output.path, partial(write_numbers, table))
        return {}

    def _pairs(self) -> Numbers:

        def read(part: Item) -> Numbers:
            with self.store.parquet(pairs_file(part["part"], part["parts"]).path) as file:
                own = file.read()
            return np.column_stack((own["one"].to_numpy(), own["other"].to_numpy()))

        return distinct_pairs(np.concatenate(list(side_by_side(read, self.parts))))

    def _signatures(self, named: Numbers) -> npt.NDArray[np.uint8]:
        """Return the signatures of these ascending positions, `[positions, 128]`."""
        found = np.empty((len(named), PERMUTATIONS), np.uint8)
        files = (signed_file(run["run"], "signatures").path for run in self.runs)
        for group in read_groups_of_each(self.store, files):
            at, here = places_of(group["position"].to_numpy(), named)
            column = group["signature"].combine_chunks()
            signed = np.frombuffer(column.buffers()[1], np.uint8).reshape(-1, PERMUTATIONS)
            found[at] = signed[column.offset :][here]
        return found

    def _copies(self, named: Numbers) -> Numbers:
        """Return how often the texts of these ascending positions occur."""
        found = np.zeros(len(named), np.int64)
        for group in self.texts.groups("copies"):
            at, here = places_of(group["position"].to_numpy(), named)
            found[at] = group["copies"].to_numpy()[here]
        return found
