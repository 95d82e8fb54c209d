"""The step of `ingest` that --near-dedup adds: which distinct sentences are near-duplicates, and of which one."""

from collections.abc import Iterator
from functools import partial as bind
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from jobs._distinct import NEAR_FILE, FirstCopies, write_numbers
from jobs._engine import Item, fan_out
from jobs._pieces import Pieces, partial
from jobs._progress import Progress
from ops.corpus.exact_duplicates import hash_range
from ops.corpus.minhash import PERMUTATIONS, MinHasher, band_hashes, banding, short_signatures
from ops.corpus.near_duplicates import candidate_pairs, distinct_pairs, representatives, similar_pairs
from ops.shards import spans
from ops.storage.range_file import SortedWriter, read_between, read_groups, take_rows
from ops.storage.store import Store, is_whole, shard_footer

RUN = 1 << 18  # positions
PARTITION = 1 << 22  # hashes of bands
NEAR = "near"
KINDS = ("signatures", "bands")
SIGNATURES = pa.schema([("position", pa.int64()), ("signature", pa.binary(PERMUTATIONS))])
BANDS = pa.schema([("hash", pa.uint64()), ("position", pa.int64())])

Numbers = npt.NDArray[np.int64]


def find_near(
    out: str, pieces: Pieces, ranges: list[Item], threshold: float, seed: int, fingerprint: str, workers: int
) -> None:
    """Do what is missing of the step: signatures, pairs to compare, and the file that the later steps read."""
    store = Store(out)
    bands, rows = banding(threshold)
    args: dict[str, Any] = {"out": out, "fingerprint": fingerprint}
    runs = sign_items(pieces)
    todo = [item for item in runs if not is_signed(store, item, fingerprint)]
    with Progress("ingest: signatures", len(runs), "runs", len(runs) - len(todo)) as progress:
        more = {"pieces": pieces, "ranges": ranges, "bands": bands, "rows": rows, "seed": seed}
        for _ in fan_out(todo, RunSigner, {**args, **more}, workers=workers):
            progress.add()
    parts = pair_items(pieces, bands)
    todo = [item for item in parts if not is_paired(store, item, fingerprint)]
    with Progress("ingest: candidates", len(parts), "ranges", len(parts) - len(todo)) as progress:
        for _ in fan_out(todo, BandRange, {**args, "runs": runs}, workers=workers):
            progress.add()
    if not is_whole(store, NEAR_FILE, fingerprint, NEAR):
        more = {"ranges": ranges, "runs": runs, "parts": parts, "threshold": threshold}
        for _ in fan_out([{}], NearFinder, {**args, **more}, workers=1):
            pass


def sign_items(pieces: Pieces, run: int = RUN) -> list[Item]:
    """Return runs of positions as items, of `run` each: a function of the counts alone."""
    total = int(pieces.sentences.sum())
    return [{"run": number, "positions": list(span)} for number, span in enumerate(spans(total, run))]


def pair_items(pieces: Pieces, bands: int, partition: int = PARTITION) -> list[Item]:
    """Return the ranges of bands' hashes as items of at most about `partition` each: a function of the counts alone."""
    parts = max(-(-int(pieces.sentences.sum()) * bands // partition), 1)
    return [{"part": part, "parts": parts} for part in range(parts)]


def is_signed(store: Store, item: Item, fingerprint: str) -> bool:
    """Tell whether the files of a run of positions are in place."""
    return all(is_whole(store, _file(_signed(item, kind)), fingerprint, _signed(item, kind)) for kind in KINDS)


def is_paired(store: Store, item: Item, fingerprint: str) -> bool:
    """Tell whether the file of a range of hashes is in place."""
    return is_whole(store, _file(_paired(item)), fingerprint, _paired(item))


def _signed(item: Item, kind: str) -> str:
    return f"near-{kind}-{item['run']:05d}"


def _paired(item: Item) -> str:
    return f"near-pairs-{item['part']:05d}-of-{item['parts']:05d}"


def _file(name: str) -> str:
    return f"_partials/ingest/{name}.parquet"


class RunSigner:
    """Commits for each run of positions the signatures of its distinct sentences and the hashes of their bands."""

    def __init__(
        self, out: str, pieces: Pieces, ranges: list[Item], bands: int, rows: int, seed: int, fingerprint: str
    ) -> None:
        self.store, self.pieces, self.fingerprint = Store(out), pieces, fingerprint
        self.texts = FirstCopies(self.store, ranges, near=False)
        self.bands, self.rows, self.signer = bands, rows, MinHasher(seed)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one run; memory is that of its positions, of a row group's texts and of one segment of hashes."""
        self.store.commit_several({kind: _file(_signed(item, kind)) for kind in KINDS}, bind(self._write, item))
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
        for piece, here in self.pieces.split(found):
            position = found[here]
            with self.store.parquet(partial(piece, "sentences")) as file:
                for own, table in take_rows(file, position - self.pieces.first_positions()[piece], ["text"]):
                    yield position[own], table["text"].to_pylist()

    def _footer(self, item: Item, kind: str, rows: int) -> dict[bytes, bytes]:
        return shard_footer(self.fingerprint, _signed(item, kind), rows)


class BandRange:
    """Commits for each range of hashes the pairs of sentences to compare, as `one` and `other`, the later one."""

    def __init__(self, out: str, runs: list[Item], fingerprint: str) -> None:
        self.store, self.runs, self.fingerprint = Store(out), runs, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one range."""
        between = hash_range(item["part"], item["parts"])
        files = [_file(_signed(run, "bands")) for run in self.runs]
        whole = pa.concat_tables(read_between(self.store, name, "hash", *between) for name in files)
        pairs = candidate_pairs(whole["hash"].to_numpy(), whole["position"].to_numpy())
        table = pa.table({"one": pairs[:, 0], "other": pairs[:, 1]})
        table = table.replace_schema_metadata(shard_footer(self.fingerprint, _paired(item), len(pairs)))
        self.store.commit(_file(_paired(item)), bind(write_numbers, table))
        return {}


class NearFinder:
    """Compares the pairs and commits the groups of near-duplicates as `position`, `first` and `copies`, by position.

    `first` is the position that is kept, `copies` how often the texts of its group occur together. Memory grows with
    the sentences that are to be compared with another: about 200 bytes for each, and 100 for each pair.
    """

    def __init__(
        self, out: str, ranges: list[Item], runs: list[Item], parts: list[Item], threshold: float, fingerprint: str
    ) -> None:
        self.store, self.runs, self.parts = Store(out), runs, parts
        self.texts = FirstCopies(self.store, ranges, near=False)
        self.threshold, self.fingerprint = threshold, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do the whole."""
        pairs = self._pairs()
        named = np.unique(pairs)
        places = np.searchsorted(named, pairs)
        places = places[similar_pairs(self._signatures(named), places, self.threshold)]
        kept = representatives(len(named), places)
        grouped = np.zeros(len(named), bool)
        dropped = kept != np.arange(len(named))
        grouped[dropped] = grouped[kept[dropped]] = True
        total = np.zeros(len(named), np.int64)
        np.add.at(total, kept, self._copies(named))
        first = kept[grouped]
        table = pa.table({"position": named[grouped], "first": named[first], "copies": total[first]})
        table = table.replace_schema_metadata(shard_footer(self.fingerprint, NEAR, table.num_rows))
        self.store.commit(NEAR_FILE, bind(write_numbers, table))
        return {}

    def _pairs(self) -> Numbers:
        found = []
        for part in self.parts:
            with self.store.parquet(_file(_paired(part))) as file:
                own = file.read()
            found.append(np.column_stack((own["one"].to_numpy(), own["other"].to_numpy())))
        return distinct_pairs(np.concatenate(found))

    def _signatures(self, named: Numbers) -> npt.NDArray[np.uint8]:
        """Return the signatures of these ascending positions, `[positions, 128]`."""
        found = np.empty((len(named), PERMUTATIONS), np.uint8)
        for run in self.runs:
            for group in read_groups(self.store, _file(_signed(run, "signatures"))):
                at, here = _among(group["position"].to_numpy(), named)
                column = group["signature"].combine_chunks()
                signed = np.frombuffer(column.buffers()[1], np.uint8).reshape(-1, PERMUTATIONS)
                found[at] = signed[column.offset :][here]
        return found

    def _copies(self, named: Numbers) -> Numbers:
        """Return how often the texts of these ascending positions occur."""
        found = np.zeros(len(named), np.int64)
        for group in self.texts.groups("copies"):
            at, here = _among(group["position"].to_numpy(), named)
            found[at] = group["copies"].to_numpy()[here]
        return found


def _among(position: Numbers, named: Numbers) -> tuple[Numbers, Numbers]:
    """Return the places in `named`, and those in `position`, of what stands in both; both ascend."""
    first, stop = np.searchsorted(named, [position[0], position[-1] + 1])
    at = np.arange(first, stop)
    here = np.searchsorted(position, named[at])
    both = position[here] == named[at]
    return at[both], here[both]
