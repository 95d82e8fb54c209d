"""Read text sources into numbered shards of distinct sentences.

    python -m jobs.ingest --out runs/docs --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.ingest --out s3://bucket/run --corpus books='s3://bucket/books/*.parquet'

Writes corpus/ (one file a shard) and rejects/. Ids depend on the sources, the seed and the options alone.
"""

import sys
import time
from collections import Counter
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field

from jobs._assemble import Assembler, Numbering, is_written, number, table_items, truncated
from jobs._config import StageConfig, main
from jobs._distinct import FirstCopies, HashRange, distinct_items, is_distinct
from jobs._engine import fan_out, pool_size
from jobs._near import find_near
from jobs._pieces import PieceReader, Pieces, is_read
from jobs._progress import Progress
from jobs._record import Run
from ops.errors import InputError
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer
from ops.sources.pieces import check_source, pieces, source_fingerprint
from ops.sources.presets import PRESETS
from ops.sources.spec import READABLE, Source, parse_source

STAGE = "ingest"


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class IngestConfig(StageConfig):
    """Options of `ingest`."""

    model: str = Field(
        "sample", description="Hugging Face id, local directory, or sample (the packaged all-MiniLM-L6-v2)"
    )
    corpus: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        (),
        description=f"pydocs, a preset ({' '.join(PRESETS)}), hf:ORG/NAME[:CONFIG][:SPLIT], or a path, glob or URI "
        "of .txt .csv .jsonl .parquet; NAME= in front; repeatable",
    )
    text_column: str = Field("text", description="column that holds the text")
    split: Literal["sentences", "none"] = Field(
        "sentences", description="split the text, or take a row as one sentence"
    )
    limit: int | None = Field(None, ge=1, description="at most so many sentences, a uniform sample drawn after dedup")
    near_dedup: float | None = Field(
        None,
        gt=0,
        le=1,
        description="drop near-duplicates: of texts this similar (Jaccard) the first is kept; e.g. 0.8",
    )
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
        "near_dedup": config.near_dedup,
        "shard_size": config.shard_size,
        "on_error": config.on_error,
        "seed": config.seed,
    }
    fingerprint = record.begin(STAGE, identity, config.model_dump(mode="json"), config.redo)
    if record.complete(STAGE):
        print(f"{STAGE}: done before, {record.require(STAGE)['counts']['sentences']:,} sentences", file=sys.stderr)
        return
    plan = [(i, piece) for i, source in enumerate(sources) for piece in pieces(source)]
    workers = pool_size(config.workers)
    store = record.store

    todo = [
        {"number": n, "piece": asdict(piece)} for n, (_, piece) in enumerate(plan) if not is_read(store, n, fingerprint)
    ]
    options = {"text_column": config.text_column, "on_error": config.on_error, "split": config.split}
    args = {"out": config.out, "facts": facts, "fingerprint": fingerprint, "options": options}
    try:
        with Progress(STAGE, len(plan), "pieces", len(plan) - len(todo)) as progress:
            for done in fan_out(todo, PieceReader, args, workers=workers):
                progress.add(done["sentences"])
        found = Pieces.read(store, [i for i, _ in plan])
        check_found(config.corpus, sources, found)
    except InputError:
        # The user will change a source or an option: what was read so far belongs to neither.
        record.drop(STAGE)
        raise

    ranges = distinct_items(found)
    todo = [item for item in ranges if not is_distinct(store, item, fingerprint)]
    args = {"out": config.out, "pieces": found, "fingerprint": fingerprint}
    with Progress(f"{STAGE}: first copies", len(ranges), "ranges", len(ranges) - len(todo)) as progress:
        for _ in fan_out(todo, HashRange, {**args, "seed": config.seed if config.limit else None}, workers=workers):
            progress.add()
    near = config.near_dedup is not None
    if config.near_dedup is not None:
        find_near(config.out, found, ranges, config.near_dedup, config.seed, fingerprint, workers)
    numbering = number(found, FirstCopies(store, ranges, near), len(sources), config.limit)

    size = config.shard_size
    items = table_items(found, numbering, size)
    todo = [item for item in items if not is_written(store, item, size, fingerprint)]
    args |= {
        "names": [s.dataset for s in sources],
        "ranges": ranges,
        "last": numbering.last,
        "size": size,
        "near": near,
    }
    with Progress(f"{STAGE}: tables", len(items), "parts", len(items) - len(todo)) as progress:
        for done in fan_out(todo, Assembler, args, workers=workers):
            progress.add(done["sentences"])

    total = int(numbering.before[-1])
    shards = -(-total // size)
    accounts = account(config.corpus, sources, found, numbering, truncated(store, shards, len(sources)))
    if near:
        for source, texts in zip(accounts, numbering.near.tolist(), strict=True):
            source["near_copies"] = texts
    counts = {"sentences": total, "shards": shards, "sources": accounts}
    record.record["corpus"] = {"fingerprint": fingerprint, "sentences": total}
    record.finish(STAGE, counts, time.monotonic() - started)
    if not config.keep_partials:
        store.delete(f"_partials/{STAGE}")
    report(counts)


def check_sources(config: IngestConfig) -> list[Source]:
    """Return the sources, each looked into.

    Raises:
        InputError: none is named, or one cannot be read.
    """
    if not config.corpus:
        raise InputError(f"--corpus is missing: name {READABLE}")
    sources = [parse_source(spec) for spec in config.corpus]
    for source in sources:
        check_source(source, config.text_column)
    return sources


def check_found(specs: tuple[str, ...], sources: list[Source], pieces: Pieces) -> None:
    """Refuse a source that gave no sentence.

    Raises:
        InputError: one did, named with what was read and rejected.
    """
    for i, source in enumerate(sources):
        own = pieces.sources == i
        if not pieces.sentences[own].sum():
            raise InputError(
                f"--corpus {specs[i]}: gave no sentence ({source.dataset}: {pieces.rows[own].sum():,} rows read, "
                f"rejected: {reject_reasons(pieces, i) or 'none'}); see --split and --text-column"
            )


def reject_reasons(pieces: Pieces, source: int) -> dict[str, int]:
    """Count a source's rejects by reason."""
    found: Counter[str] = Counter()
    for piece in np.flatnonzero(pieces.sources == source):
        found.update(pieces.reasons[piece])
    return dict(sorted(found.items()))


def account(
    specs: tuple[str, ...], sources: list[Source], pieces: Pieces, numbering: Numbering, cut: npt.NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Say of every source what became of its sentences; `cut` counts the truncated ones of each."""
    starts = np.cumsum(numbering.kept) - numbering.kept
    accounts = []
    for i, source in enumerate(sources):
        own = pieces.sources == i
        usable, rejected = int(pieces.sentences[own].sum()), int(pieces.rejects[own].sum())
        distinct, kept = int(numbering.distinct[i]), int(numbering.kept[i])
        accounts.append(
            {
                "source": specs[i],
                "dataset": source.dataset,
                "rows": int(pieces.rows[own].sum()),
                "sentences": usable + rejected,
                "kept": kept,
                "copies": usable - distinct,
                "rejected": rejected,
                "not_sampled": distinct - kept,
                "truncated": int(cut[i]),
                "reject_reasons": reject_reasons(pieces, i),
                "first_sent_id": int(starts[i]),
            }
        )
    return accounts


def report(counts: dict[str, Any]) -> None:
    """Print what became of every source, and check that nothing vanished.

    Raises:
        RuntimeError: a source's counts do not add up.
    """
    for a in counts["sources"]:
        if a["sentences"] != a["kept"] + a["copies"] + a["rejected"] + a["not_sampled"]:
            raise RuntimeError(f"ingest: the counts of {a['source']} do not add up: {a}")
        nearly = f" (of which {a['near_copies']:,} nearly so)" if "near_copies" in a else ""
        print(
            f"ingest: {a['dataset']}: {a['sentences']:,} sentences = {a['kept']:,} kept"
            f" + {a['copies']:,} further copies{nearly}"
            f" + {a['rejected']:,} rejected + {a['not_sampled']:,} not sampled;"
            f" {a['truncated']:,} cut at the model's limit",
            file=sys.stderr,
        )


if __name__ == "__main__":
    sys.exit(main(IngestConfig, STAGE, str(__doc__).splitlines()[0], run))
