"""Return the winners and a uniform baseline sample words, part-of-speech tags and parses.

    python -m jobs.annotate --out runs/docs --preset small
    ray job submit --working-dir . -- python -m jobs.annotate --out s3://bucket/run --preset paper

Writes sentences/. Needs topk/ (jobs.topk). One process a core, one thread each.
"""

import sys
import time
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from jobs._config import StageConfig, main
from jobs._engine import Item, fan_out, pool_size
from jobs._progress import Progress
from jobs._record import Run
from ops.schema import group_rows, schema
from ops.sentences.codes import (
    CODED_SCHEMA,
    VOCABULARY_FILE,
    coded_table,
    codes_file,
    sentence_table,
    vocabulary,
    vocabulary_columns,
)
from ops.sentences.pipeline import SHIPPED, Annotator, describe, load_pipeline
from ops.shards import BASELINE, Shards, draw
from ops.storage.store import Store, is_whole, shard_footer
from ops.storage.tables import part_name, read_parts, write_part

STAGE = "annotate"
WANTED, BASELINE_MARK, WINNER = 1, 2, 4


class AnnotateConfig(StageConfig):
    """Options of `annotate`."""

    pipeline: str = Field(
        SHIPPED, description="spaCy pipeline: english (shipped), blank (words only), a package or a directory"
    )
    scope: Literal["named", "all"] = Field("named", description="sentences that other tables name, or the whole corpus")
    baseline_size: int | None = Field(
        None, ge=0, description="sentences of the uniform baseline sample; none given: all"
    )


def run(config: AnnotateConfig) -> None:
    """Do the stage, or what is missing of it."""
    started = time.monotonic()
    record = Run(config.out)
    corpus, topk = record.require("ingest"), record.require("topk")
    pipeline = load_pipeline(config.pipeline)
    identity = {
        "pipeline": describe(pipeline),
        "scope": config.scope,
        "baseline_size": config.baseline_size,
        "seed": config.seed,
    }
    fingerprint = record.begin(STAGE, identity, config.model_dump(mode="json"), config.redo)
    if record.complete(STAGE):
        print(f"{STAGE}: done before, {record.require(STAGE)['counts']['sentences']:,} sentences", file=sys.stderr)
        return
    shards = Shards(corpus["counts"]["sentences"], corpus["config"]["shard_size"])
    sizes = want(record.store, shards, config)
    todo = [
        {"shard": i, "span": shards.span(i)}
        for i in range(len(shards))
        if not is_whole(record.store, partial(i), fingerprint, f"shard-{i}")
    ]
    args = {"out": config.out, "pipeline": config.pipeline, "fingerprint": fingerprint}
    work = ("sentences", sum(sizes))
    with Progress(STAGE, len(shards), "shards", len(shards) - len(todo), work) as progress:
        for done in fan_out(todo, ShardAnnotator, args, workers=pool_size(config.workers)):
            progress.add(done["sentences"])
    counts = publish(record.store, len(shards), fingerprint)
    if counts["sentences"] != sum(sizes):
        raise RuntimeError(f"{STAGE}: {sum(sizes)} sentences were to be annotated, {counts['sentences']} were")
    if counts["sentences"] and not counts["trees"]:
        print(
            f"{STAGE}: {config.pipeline} gives no constituency trees; tree stays null, no subtrees are mined",
            file=sys.stderr,
        )
    record.finish(STAGE, {**counts, "scored": topk["counts"]["scored"]}, time.monotonic() - started)
    if not config.keep_partials:
        record.store.delete(f"_partials/{STAGE}")


def partial(shard: int) -> str:
    """Return the path of a shard's partial file."""
    return f"_partials/{STAGE}/shard-{shard:05d}.parquet"


def stored(shard: int) -> str:
    """Return the path of a shard's codes, which mining reads."""
    return codes_file(shard)


def wanted_file() -> str:
    """Return the path of the marks of all sentences, a byte each."""
    return f"_partials/{STAGE}/wanted.bin"


def want(store: Store, shards: Shards, config: AnnotateConfig) -> list[int]:
    """Commit which sentences are to be annotated, a byte for each of the corpus, and return how many each shard has."""
    marks = np.zeros(shards.sentences, np.uint8)
    for table in read_parts(store, "topk", ["sent_id"]):
        marks[table["sent_id"].to_numpy()] = WANTED | WINNER
    for table in read_parts(store, "activations", ["sent_id"]):
        marks[table["sent_id"].to_numpy()] |= WANTED
    scored = np.ones(shards.sentences, bool)
    for table in read_parts(store, "unscored", ["sent_id"]):
        scored[table["sent_id"].to_numpy()] = False
    candidates = np.flatnonzero(scored)
    size = len(candidates) if config.baseline_size is None or config.scope == "all" else config.baseline_size
    marks[candidates[draw(len(candidates), size, config.seed, BASELINE)]] |= WANTED | BASELINE_MARK
    if config.scope == "all":
        marks |= WANTED
    store.commit(wanted_file(), marks.tofile)
    return [int(np.count_nonzero(marks[slice(*shards.span(i))])) for i in range(len(shards))]


class ShardAnnotator:
    """Annotates the wanted sentences of one shard after another."""

    def __init__(self, out: str, pipeline: str, fingerprint: str) -> None:
        import torch

        torch.set_num_threads(1)
        self.store, self.fingerprint = Store(out), fingerprint
        self.annotator = Annotator(pipeline)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Annotate one shard; its codes are put in place first, so that the partial file says that both are there."""
        shard = item["shard"]
        first, stop = item["span"]
        with self.store.filesystem.open_input_file(self.store.path(wanted_file())) as file:
            marks = np.frombuffer(file.read_at(stop - first, first), np.uint8)
        wanted = np.flatnonzero(marks)
        marks = marks[wanted]
        with self.store.parquet(part_name("corpus", shard)) as file:
            corpus = file.read().take(pa.array(wanted))
        found = self.annotator.annotate(corpus["text"].to_pylist())
        table = sentence_table(corpus, found, pa.array(marks & BASELINE_MARK > 0), pa.array(marks & WINNER > 0))
        footer = shard_footer(self.fingerprint, f"shard-{shard}", table.num_rows)
        coded = coded_table(table)
        self.store.commit(stored(shard), lambda path: _write(path, coded, CODED_SCHEMA.with_metadata(footer)))
        described = schema("sentences").with_metadata(footer)
        self.store.commit(partial(shard), lambda path: _write(path, table.cast(schema("sentences")), described))
        return {"shard": shard, "sentences": table.num_rows}


def _write(path: str, table: pa.Table, described: pa.Schema) -> None:
    with pq.ParquetWriter(path, described, compression="zstd") as writer:
        writer.write_table(table.replace_schema_metadata(described.metadata), row_group_size=group_rows("sentences"))


def publish(store: Store, shards: int, fingerprint: str) -> dict[str, int]:
    """Write sentences/ from the partial files, and the store's vocabulary; return the counts."""
    counts = dict.fromkeys(("sentences", "baseline", "winners", "tagged", "trees"), 0)
    for shard in range(shards):
        with store.parquet(partial(shard)) as file:
            groups = [file.read_row_group(i) for i in range(file.num_row_groups)]
        counts["sentences"] += write_part(store, "sentences", shard, schema("sentences"), groups, fingerprint)
        for group in groups:
            counts["baseline"] += group["is_baseline"].to_numpy().sum().item()
            counts["winners"] += group["is_winner"].to_numpy().sum().item()
            counts["tagged"] += group.num_rows - group["tags"].null_count
            counts["trees"] += group.num_rows - group["tree"].null_count

    def tables() -> Any:
        for shard in range(shards):
            with store.parquet(stored(shard)) as file:
                yield file.read(columns=vocabulary_columns())

    names = vocabulary(tables())
    store.commit(VOCABULARY_FILE, lambda path: pq.write_table(names, path, compression="zstd"))
    return counts


if __name__ == "__main__":
    sys.exit(main(AnnotateConfig, STAGE, str(__doc__).splitlines()[0], run))
