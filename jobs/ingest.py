"""Read text sources into numbered shards of distinct sentences.

    python -m jobs.ingest --out runs/docs --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.ingest --out s3://bucket/run --corpus books='s3://bucket/books/*.parquet'

Writes corpus/ (one file a shard) and rejects/. Ids depend on the sources, the seed and the options alone.
"""

import json
import sys
import time
from dataclasses import asdict
from typing import Annotated, Any, Literal

import pyarrow.parquet as pq
from pydantic import BeforeValidator, Field

from jobs._assemble import Pieces, assemble, report
from jobs._config import StageConfig, main
from jobs._engine import Item, fan_out, pool_size
from jobs._progress import Progress
from jobs._record import Run
from ops.errors import InputError
from ops.ingest import BLOCK_SCHEMA, Judge
from ops.model import ModelFacts, read_facts
from ops.read_source import Piece, check_source, pieces, read_piece, source_fingerprint
from ops.sources import Source, parse_source
from ops.split_sentences import SentenceSplitter
from ops.storage import Store, is_whole, shard_footer
from ops.tokens import Tokenizer

STAGE = "ingest"


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class IngestConfig(StageConfig):
    """Options of `ingest`."""

    model: str = Field(
        "sample", description="Hugging Face id, local directory, or sample (the packaged all-MiniLM-L6-v2)"
    )
    corpus: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        (), description="pydocs, or a file or glob of .txt .csv .jsonl .parquet, NAME= in front; repeatable"
    )
    text_column: str = Field("text", description="column that holds the text")
    split: Literal["sentences", "none"] = Field(
        "sentences", description="split the text, or take a row as one sentence"
    )
    limit: int | None = Field(None, ge=1, description="at most so many sentences, a uniform sample drawn after dedup")
    shard_size: int = Field(100_000, ge=1, description="sentences of a shard")
    on_error: Literal["fail", "reject"] = Field(
        "fail", description="a broken place in a source: fail, or record and go on"
    )


def run(config: IngestConfig) -> None:
    """Do the stage, or what is missing of it."""
    started = time.monotonic()
    record = Run(config.out)
    sources = check_sources(config)
    facts = read_facts(config.model)
    tokenizer = Tokenizer(facts)
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
    try:
        with Progress(STAGE, len(plan), "pieces", len(plan) - len(todo)) as progress:
            for done in fan_out(todo, PieceReader, args, workers=pool_size(config.workers)):
                progress.add(done["sentences"])
        blocks = Pieces(record.store, [partial(name) for name in names], [i for i, _ in plan])
        size, datasets = config.shard_size, [s.dataset for s in sources]
        counts = assemble(record.store, blocks, config.corpus, datasets, config.limit, config.seed, size, fingerprint)
    except InputError:
        # The user will change a source or an option: what was read so far belongs to neither.
        record.drop(STAGE)
        raise
    record.record["corpus"] = {"fingerprint": fingerprint, "sentences": counts["sentences"]}
    record.finish(STAGE, counts, time.monotonic() - started)
    if not config.keep_partials:
        record.store.delete(f"_partials/{STAGE}")
    report(counts)


def check_sources(config: IngestConfig) -> list[Source]:
    """Give the sources, each looked into.

    Raises:
        InputError: none is named, or one cannot be read.
    """
    if not config.corpus:
        raise InputError("--corpus is missing: name pydocs, or a file or glob of .txt .csv .jsonl .parquet")
    sources = [parse_source(spec) for spec in config.corpus]
    for source in sources:
        check_source(source, config.text_column)
    return sources


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
            with pq.ParquetWriter(path, BLOCK_SCHEMA, compression="zstd") as writer:
                for block in judge.blocks(rows):
                    writer.write_table(block)
                    counts["sentences"] += block.num_rows
                footer = shard_footer(self.fingerprint, item["name"], counts["sentences"])
                writer.add_key_value_metadata({**footer, b"atlas.counts": json.dumps({"rows": judge.rows}).encode()})

        self.store.commit(partial(item["name"]), write)
        return counts


if __name__ == "__main__":
    sys.exit(main(IngestConfig, STAGE, str(__doc__).splitlines()[0], run))
