"""The first steps that `ingest --near-dedup` adds: signatures of the distinct sentences, and the pairs to compare."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.stage.layout import Output, near_run_file, pairs_file, piece_file
from jobs.steps.ingest.deduplicate import open_first_copies
from ops.corpus.exact_duplicates import hash_range
from ops.corpus.minhash import PERMUTATIONS, MinHasher, band_hashes, short_signatures
from ops.corpus.near_duplicates import candidate_pairs
from ops.corpus.piece_counts import Pieces
from ops.storage.range_file import SortedWriter, read_each_between, take_rows, write_numbers
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.store import Store

SIGNED_FILES = ("signatures", "bands")
SIGNATURES = pa.schema([("position", pa.int64()), ("signature", pa.binary(PERMUTATIONS))])
BANDS = pa.schema([("hash", pa.uint64()), ("position", pa.int64())])

Numbers = npt.NDArray[np.int64]


def signed_outputs(item: Item) -> list[Output]:
    """Return the files of a run of positions."""
    return [near_run_file(item["run"], kind) for kind in SIGNED_FILES]


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
        names = {kind: near_run_file(item["run"], kind).path for kind in SIGNED_FILES}
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

        for parts in side_by_side(lambda piece: read(*piece), self.pieces.split(found), LARGE_FILES_AT_ONCE):
            for position, table in parts:
                yield position, table["text"].to_pylist()

    def _footer(self, item: Item, kind: str, rows: int) -> dict[bytes, bytes]:
        return near_run_file(item["run"], kind).footer(self.fingerprint, rows)


class BandRange:
    """Commits for each range of hashes the pairs of sentences to compare, as `one` and `other`, the later one."""

    def __init__(self, store: Store, runs: list[Item], fingerprint: str) -> None:
        self.store, self.runs, self.fingerprint = store, runs, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one range."""
        between = hash_range(item["part"], item["parts"])
        files = [near_run_file(run["run"], "bands").path for run in self.runs]
        whole = pa.concat_tables(read_each_between(self.store, files, "hash", *between))
        pairs = candidate_pairs(whole["hash"].to_numpy(), whole["position"].to_numpy())
        table = pa.table({"one": pairs[:, 0], "other": pairs[:, 1]})
        output = pairs_file(item["part"], item["parts"])
        table = table.replace_schema_metadata(output.footer(self.fingerprint, len(pairs)))
        self.store.commit(output.path, partial(write_numbers, table))
        return {}
