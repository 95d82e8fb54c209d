"""The second half of `ingest`: the pieces' sentences, first copies only and numbered, become the tables."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ops.dedup import first_copies
from ops.errors import InputError
from ops.plan import LIMIT, draw
from ops.schema import group_rows, schema
from ops.storage import Store
from ops.tables import write_part

Places = Counter[tuple[int, str]]


class Pieces:
    """The partial files of all pieces, in the order of the plan."""

    def __init__(self, store: Store, names: list[str], sources: list[int]) -> None:
        self.store, self.names, self.sources = store, names, sources

    def blocks(self, columns: list[str] | None = None) -> Iterator[tuple[int, int, pa.Table]]:
        """Give (number of the piece, number of its source, row group) one after another."""
        for n, (name, source) in enumerate(zip(self.names, self.sources, strict=True)):
            with self.store.parquet(name) as file:
                for group in range(file.num_row_groups):
                    yield n, source, file.read_row_group(group, columns=columns)

    def rows(self) -> list[int]:
        """Give the rows that were read for each source."""
        found = [0] * (max(self.sources) + 1)
        for name, source in zip(self.names, self.sources, strict=True):
            with self.store.parquet(name) as file:
                found[source] += json.loads(file.metadata.metadata[b"atlas.counts"])["rows"]
        return found


def assemble(
    store: Store,
    pieces: Pieces,
    specs: tuple[str, ...],
    datasets: list[str],
    limit: int | None,
    seed: int,
    shard_size: int,
    fingerprint: str,
) -> dict[str, Any]:
    """Number the distinct sentences, write corpus/ and rejects/, and give the accounting of every source.

    Args:
        specs, datasets: how the user named each source, and its dataset's name.
        limit: at most so many distinct sentences, a uniform sample.

    Raises:
        InputError: a source gave no sentence.
    """
    high, low, owner, found = [], [], [], np.zeros(len(datasets), np.int64)
    reasons: list[Counter[str]] = [Counter() for _ in datasets]
    for _, source, block in pieces.blocks(["hash_high", "hash_low", "reason"]):
        usable = pc.is_null(block["reason"])
        found[source] += block.num_rows
        reasons[source].update(pc.drop_null(block["reason"]).to_pylist())
        high.append(block["hash_high"].filter(usable).to_numpy())
        low.append(block["hash_low"].filter(usable).to_numpy())
        owner.append(np.full(len(high[-1]), source, np.int32))
    rows = pieces.rows()
    rejected = np.array([sum(r.values()) for r in reasons])
    for i, dataset in enumerate(datasets):
        if found[i] == rejected[i]:
            raise InputError(
                f"--corpus {specs[i]}: gave no sentence ({dataset}: {rows[i]:,} rows read, "
                f"rejected: {dict(reasons[i]) or 'none'}); see --split and --text-column"
            )
    sources = np.concatenate(owner)
    first, copies = first_copies(np.concatenate(high), np.concatenate(low))
    chosen = draw(len(first), limit or len(first), seed, LIMIT)
    keep = np.zeros(len(sources), np.int64)
    keep[first[chosen]] = copies[chosen]
    kept = np.bincount(sources[keep > 0], minlength=len(datasets))
    distinct = np.bincount(sources[first], minlength=len(datasets))
    cut = _write_corpus(store, pieces, keep, shard_size, datasets, fingerprint)
    _write_rejects(store, pieces, datasets, fingerprint)
    starts = np.concatenate([[0], np.cumsum(kept)[:-1]])
    accounts = [
        {
            "source": specs[i],
            "dataset": datasets[i],
            "rows": rows[i],
            "sentences": int(found[i]),
            "kept": int(kept[i]),
            "copies": int(found[i] - rejected[i] - distinct[i]),
            "rejected": int(rejected[i]),
            "not_sampled": int(distinct[i] - kept[i]),
            "truncated": int(cut[i]),
            "reject_reasons": dict(sorted(reasons[i].items())),
            "first_sent_id": int(starts[i]),
        }
        for i in range(len(datasets))
    ]
    total = int(kept.sum())
    return {"sentences": total, "shards": -(-total // shard_size), "sources": accounts}


def _write_corpus(
    store: Store, pieces: Pieces, keep: npt.NDArray[np.int64], size: int, datasets: list[str], fingerprint: str
) -> npt.NDArray[np.int64]:
    """Write the shards and give the truncated sentences of each source; `keep` holds copies by usable sentence."""
    waiting: list[pa.Table] = []
    held = part = sent_id = place = 0
    cut = np.zeros(len(datasets), np.int64)
    earlier, within = Places(), Places()
    last = -1

    def flush(behind: int) -> None:
        nonlocal waiting, held, part
        whole = pa.concat_tables(waiting)
        shard, waiting = whole.slice(0, behind), [whole.slice(behind)]
        held -= shard.num_rows
        groups = [shard.slice(start, group_rows("corpus")) for start in range(0, shard.num_rows, group_rows("corpus"))]
        write_part(store, "corpus", part, schema("corpus"), groups, fingerprint)
        part += 1

    several = {s for s in pieces.sources if pieces.sources.count(s) > 1}
    for n, source, block in pieces.blocks():
        if source in several:
            if n != last:
                earlier.update(within)
                within.clear()
                last = n
            block = _shift(block, source, earlier, within)
        usable = block.filter(pc.is_null(block["reason"]))
        copies = keep[place : place + usable.num_rows]
        place += usable.num_rows
        kept = usable.filter(pa.array(copies > 0))
        cut[source] += pc.sum(kept["cut"].cast(pa.int64())).as_py() or 0
        columns = {
            "sent_id": pa.array(np.arange(sent_id, sent_id + kept.num_rows)),
            "text": kept["text"],
            "dataset": pa.array([datasets[source]] * kept.num_rows, pa.string()),
            "doc_id": kept["doc_id"],
            "meta": kept["meta"],
            "sent_in_doc": kept["sent_in_doc"],
            "n_tokens": kept["n_tokens"],
            "n_copies": pa.array(copies[copies > 0], pa.int32()),
        }
        sent_id += kept.num_rows
        waiting.append(pa.table(columns).cast(schema("corpus")))
        held += kept.num_rows
        while held >= size:
            flush(size)
    if held:
        flush(held)
    return cut


def _shift(block: pa.Table, source: int, earlier: Places, within: Places) -> pa.Table:
    """Let `sent_in_doc` go on where a document's earlier pieces ended."""
    documents, places = block["doc_id"].to_pylist(), block["sent_in_doc"].to_pylist()
    shifted = []
    for document, place in zip(documents, places, strict=True):
        within[source, document] = place + 1
        shifted.append(place + earlier[source, document])
    column = block.schema.get_field_index("sent_in_doc")
    return block.set_column(column, "sent_in_doc", pa.array(shifted, pa.int32()))


def _write_rejects(store: Store, pieces: Pieces, datasets: list[str], fingerprint: str) -> None:
    def batches() -> Iterator[pa.Table]:
        for _, source, block in pieces.blocks(["doc_id", "text", "reason"]):
            gone = block.filter(pc.is_valid(block["reason"]))
            names = pa.array([datasets[source]] * gone.num_rows, pa.string())
            yield pa.table([names, gone["doc_id"], gone["text"], gone["reason"]], names=schema("rejects").names)

    write_part(store, "rejects", 0, schema("rejects"), batches(), fingerprint)


def report(counts: dict[str, Any]) -> None:
    """Print what became of every source, and check that nothing vanished.

    Raises:
        RuntimeError: a source's counts do not add up.
    """
    for a in counts["sources"]:
        if a["sentences"] != a["kept"] + a["copies"] + a["rejected"] + a["not_sampled"]:
            raise RuntimeError(f"ingest: the counts of {a['source']} do not add up: {a}")
        print(
            f"ingest: {a['dataset']}: {a['sentences']:,} sentences = {a['kept']:,} kept"
            f" + {a['copies']:,} further copies"
            f" + {a['rejected']:,} rejected + {a['not_sampled']:,} not sampled;"
            f" {a['truncated']:,} cut at the model's limit",
            file=sys.stderr,
        )
