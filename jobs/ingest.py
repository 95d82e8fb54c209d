"""Read text sources into numbered shards of distinct sentences.

    python -m jobs.ingest --out runs/docs --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.ingest --out s3://bucket/run --corpus books='s3://bucket/books/*.parquet'

Writes corpus/ (one file a shard) and rejects/. Ids depend on the sources, the seed and the options alone.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, Field

from jobs._config import StageConfig, main
from jobs._engine import Item, check_out, cluster_cpus, connect, fan_out
from jobs._progress import Progress
from jobs._record import Run
from ops.dedup import first_copies
from ops.errors import InputError
from ops.ingest import BLOCK_SCHEMA, Judge
from ops.model import ModelFacts, read_facts
from ops.plan import LIMIT, draw
from ops.read_source import Piece, check_source, pieces, read_piece, source_fingerprint
from ops.schema import schema
from ops.sources import parse_source
from ops.split_sentences import SentenceSplitter
from ops.storage import Store, is_whole, shard_footer
from ops.tables import write_part
from ops.tokens import Tokenizer

STAGE = "ingest"


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class IngestConfig(StageConfig):
    """Options of `ingest`."""

    model: str = Field("sample", description="Hugging Face id, local directory, or sample (the packaged all-MiniLM-L6-v2)")
    corpus: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        (), description="pydocs, or a file or glob of .txt .csv .jsonl .parquet, NAME= in front; repeatable"
    )
    text_column: str = Field("text", description="column that holds the text")
    split: Literal["sentences", "none"] = Field("sentences", description="split the text, or take a row as one sentence")
    limit: int | None = Field(None, ge=1, description="at most so many sentences, a uniform sample drawn after dedup")
    shard_size: int = Field(100_000, ge=1, description="sentences of a shard")
    on_error: Literal["fail", "reject"] = Field("fail", description="a broken place in a source: fail, or record and go on")


def run(config: IngestConfig) -> None:
    """Do the stage, or what is missing of it."""
    started = time.monotonic()
    check_out(config.out)
    if not config.corpus:
        raise InputError("--corpus is missing: name pydocs, or a file or glob of .txt .csv .jsonl .parquet")
    sources = [parse_source(spec) for spec in config.corpus]
    for source in sources:
        check_source(source, config.text_column)
    facts = read_facts(config.model)
    tokenizer = Tokenizer(facts)
    record = Run(config.out)
    identity = {
        "corpus": [f"{s.dataset}:{s.kind}:{source_fingerprint(s)}" for s in sources],
        "tokenizer": tokenizer.fingerprint,
        "text_column": config.text_column,
        "split": config.split,
        "limit": config.limit,
        "shard_size": config.shard_size,
        "on_error": config.on_error,
        "seed": config.seed,
    }
    fingerprint = record.begin(STAGE, identity, config.model_dump(mode="json"), config.redo)
    if record.complete(STAGE):
        print(f"{STAGE}: done before, {record.require(STAGE)['counts']['sentences']:,} sentences", file=sys.stderr)
        return
    plan = [(i, piece) for i, source in enumerate(sources) for piece in pieces(source)]
    names = [f"piece-{n:05d}" for n in range(len(plan))]
    todo = [
        {"name": name, "piece": asdict(piece)}
        for name, (_, piece) in zip(names, plan, strict=True)
        if not is_whole(record.store, partial(name), fingerprint, name)
    ]
    options = {"text_column": config.text_column, "on_error": config.on_error, "split": config.split}
    args = {"out": config.out, "facts": facts, "fingerprint": fingerprint, "options": options}
    with Progress(STAGE, len(plan), "pieces", len(plan) - len(todo)) as progress:
        if todo:
            connect(config.workers)
            workers = cluster_cpus() if config.workers == "auto" else config.workers
            for done in fan_out(todo, PieceReader, args, workers=workers):
                progress.add(done["sentences"])
    blocks = Pieces(record.store, [partial(name) for name in names], [i for i, _ in plan])
    counts = assemble(record.store, blocks, config, [s.dataset for s in sources], fingerprint)
    record.finish(STAGE, counts, time.monotonic() - started)
    if not config.keep_partials:
        record.store.delete(f"_partials/{STAGE}")
    report(counts)


def partial(name: str) -> str:
    """Give the path of a piece's partial file."""
    return f"_partials/{STAGE}/{name}.parquet"


class PieceReader:
    """Reads one piece of a source after another into partial files."""

    def __init__(self, out: str, facts: ModelFacts, fingerprint: str, options: dict[str, Any]) -> None:
        self.store, self.fingerprint, self.options = Store(out), fingerprint, options
        self.tokenizer = Tokenizer(facts)
        self.splitter = SentenceSplitter() if options["split"] == "sentences" else None

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Read one piece and commit its sentences."""
        judge = Judge(self.tokenizer, self.splitter)
        rows = read_piece(Piece(**item["piece"]), self.options["text_column"], self.options["on_error"])
        counts = {"sentences": 0}

        def write(path: str) -> None:
            import pyarrow.parquet as pq

            with pq.ParquetWriter(path, BLOCK_SCHEMA, compression="zstd") as writer:
                for block in judge.blocks(rows):
                    writer.write_table(block)
                    counts["sentences"] += block.num_rows
                footer = shard_footer(self.fingerprint, item["name"], counts["sentences"])
                writer.add_key_value_metadata({**footer, b"atlas.counts": json.dumps({"rows": judge.rows}).encode()})

        self.store.commit(partial(item["name"]), write)
        return counts


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
    store: Store, pieces: Pieces, config: IngestConfig, datasets: list[str], fingerprint: str
) -> dict[str, Any]:
    """Number the distinct sentences, write corpus/ and rejects/, and give the accounting of every source.

    Raises:
        InputError: a source gave no sentence.
        RuntimeError: the accounting does not add up.
    """
    high, low, owner, found = [], [], [], np.zeros(len(datasets), np.int64)
    reasons: list[dict[str, int]] = [{} for _ in datasets]
    for _, source, block in pieces.blocks(["hash_high", "hash_low", "reason"]):
        usable = pc.is_null(block["reason"])
        found[source] += block.num_rows
        for reason in pc.drop_null(block["reason"]).to_pylist():
            reasons[source][reason] = reasons[source].get(reason, 0) + 1
        high.append(block["hash_high"].filter(usable).to_numpy())
        low.append(block["hash_low"].filter(usable).to_numpy())
        owner.append(np.full(len(high[-1]), source, np.int32))
    rows = pieces.rows()
    rejected = np.array([sum(r.values()) for r in reasons])
    for i, dataset in enumerate(datasets):
        if found[i] == rejected[i]:
            raise InputError(
                f"--corpus {config.corpus[i]}: gave no sentence ({dataset}: {rows[i]:,} rows read, "
                f"rejected: {reasons[i] or 'none'}); see --split and --text-column"
            )
    sources = np.concatenate(owner)
    first, copies = first_copies(np.concatenate(high), np.concatenate(low))
    chosen = draw(len(first), config.limit or len(first), config.seed, LIMIT)
    keep = np.zeros(len(sources), np.int64)
    keep[first[chosen]] = copies[chosen]
    kept = np.bincount(sources[keep > 0], minlength=len(datasets))
    distinct = np.bincount(sources[first], minlength=len(datasets))
    cut = _write_corpus(store, pieces, keep, config.shard_size, datasets, fingerprint)
    _write_rejects(store, pieces, datasets, fingerprint)
    starts = np.concatenate([[0], np.cumsum(kept)[:-1]])
    accounts = [
        {
            "source": config.corpus[i],
            "dataset": datasets[i],
            "rows": rows[i],
            "sentences": int(found[i]),
            "kept": int(kept[i]),
            "copies": int(found[i] - rejected[i] - distinct[i]),
            "rejected": int(rejected[i]),
            "not_sampled": int(distinct[i] - kept[i]),
            "truncated": int(cut[i]),
            "reject_reasons": reasons[i],
            "first_sent_id": int(starts[i]),
        }
        for i in range(len(datasets))
    ]
    total = int(kept.sum())
    return {"sentences": total, "shards": -(-total // config.shard_size), "sources": accounts}


def _write_corpus(
    store: Store, pieces: Pieces, keep: np.ndarray, size: int, datasets: list[str], fingerprint: str
) -> np.ndarray:
    """Write the shards and give the truncated sentences of each source; `keep` holds copies by usable sentence."""
    waiting: list[pa.Table] = []
    held = part = sent_id = place = 0
    cut = np.zeros(len(datasets), np.int64)
    earlier: dict[tuple[int, str], int] = {}
    last, within = -1, {}

    def flush(behind: int) -> None:
        nonlocal waiting, held, part
        whole = pa.concat_tables(waiting)
        shard, waiting = whole.slice(0, behind), [whole.slice(behind)]
        held -= shard.num_rows
        groups = [shard.slice(start, 65_536) for start in range(0, shard.num_rows, 65_536)]
        write_part(store, "corpus", part, schema("corpus"), groups, fingerprint)
        part += 1

    several = {s for s in pieces.sources if pieces.sources.count(s) > 1}
    for n, source, block in pieces.blocks():
        if source in several:
            if n != last:
                for key, behind in within.items():
                    earlier[key] = earlier.get(key, 0) + behind
                last, within = n, {}
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


def _shift(block: pa.Table, source: int, earlier: dict[tuple[int, str], int], within: dict[tuple[int, str], int]) -> pa.Table:
    """Let `sent_in_doc` go on where a document's earlier pieces ended."""
    documents, places = block["doc_id"].to_pylist(), block["sent_in_doc"].to_pylist()
    shifted = []
    for document, place in zip(documents, places, strict=True):
        within[source, document] = place + 1
        shifted.append(place + earlier.get((source, document), 0))
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
            raise RuntimeError(f"{STAGE}: the counts of {a['source']} do not add up: {a}")
        print(
            f"{STAGE}: {a['dataset']}: {a['sentences']:,} sentences = {a['kept']:,} kept + {a['copies']:,} further copies"
            f" + {a['rejected']:,} rejected + {a['not_sampled']:,} not sampled; {a['truncated']:,} cut at the model's limit",
            file=sys.stderr,
        )


if __name__ == "__main__":
    sys.exit(main(IngestConfig, STAGE, str(__doc__).splitlines()[0], run))
