"""Read text sources into numbered shards of distinct sentences.

    python -m jobs.ingest --out runs/docs --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.ingest --out s3://bucket/run --corpus books='s3://bucket/books/*.parquet'

Writes corpus/ (one file a shard) and rejects/. Ids depend on the sources, the seed and the options alone.

What to expect (two cores, November 2026): 25 s for the packaged docstrings, most of it Ray's start and the reading of
64,000 sentences to keep 5,000; 12,300 to 36,900 lines a second from JSONL that is split already (`python -m bench
ingest`), at 500 to 750 MB a worker however long the corpus is.
"""

import sys
from typing import TYPE_CHECKING, ClassVar

from jobs.stage.command_line import main
from jobs.stage.options import CorpusConfig, part_of

if TYPE_CHECKING:
    from jobs.stage.run import Run


class IngestConfig(CorpusConfig):
    """Options of `ingest`."""

    required: ClassVar[tuple[str, ...]] = ("out", "corpus")


def run(config: IngestConfig) -> None:
    """Do the stage, or what is missing of it."""
    from jobs.stage.dry_run import open_run

    with open_run(config) as record:
        do(config, record)


def do_where_named(config: CorpusConfig, record: "Run") -> None:
    """Do the stage where a job that may start with it was given sources."""
    if config.corpus:
        do(part_of(config, IngestConfig, redo=False), record)


def do(config: IngestConfig, record: "Run") -> None:
    """Do the stage, or what is missing of it, in an open run."""
    from dataclasses import replace

    from jobs.stage.checks import check_sources
    from jobs.stage.dry_run import DryRun
    from jobs.stage.runner import begin
    from jobs.steps.ingest.deduplicate import first_copies_step, open_first_copies
    from jobs.steps.ingest.near_duplicates import near_duplicate_steps
    from jobs.steps.ingest.read import open_pieces, read_step
    from jobs.steps.ingest.write import corpus_tables_step, truncated
    from ops.corpus.accounts import account, account_lines, check_found
    from ops.corpus.meta import check_keys
    from ops.corpus.numbering import number
    from ops.errors import InputError
    from ops.model.load import read_facts
    from ops.model.tokenizer import Tokenizer
    from ops.sources.pieces import named_apart, pieces, source_fingerprint

    sources = check_sources(config)
    facts = read_facts(config.model)
    tokenizer = Tokenizer(facts)
    names = ("text_column", "split", "limit", "near_dedup", "shard_size", "on_error", "seed")
    identity = {
        "corpus": [f"{s.dataset}:{s.kind}:{source_fingerprint(s)}" for s in sources],
        "tokenizer": tokenizer.fingerprint,
        **{name: getattr(config, name) for name in names},
    }
    counted = ("sentences", "sentences")
    stage = begin("ingest", config, record, identity, config.model_dump(mode="json"), counted)
    if stage is None:
        return
    datasets = [s.dataset for s in sources]
    own = named_apart(datasets)
    plan = [(i, replace(p, documents=own[i])) for i, source in enumerate(sources) for p in pieces(source)]
    near = config.near_dedup is not None
    args = {"store": stage.store, "fingerprint": stage.fingerprint}

    options = {"text_column": config.text_column, "on_error": config.on_error, "split": config.split}
    reading = read_step([piece for _, piece in plan], {**args, "facts": facts, "options": options})
    if isinstance(record, DryRun):
        from jobs.plans.ingest import plan_ingest

        plan_ingest(record, stage, config, sources, plan, reading, tokenizer)
        return
    try:
        stage.do(reading)
        found = open_pieces(stage.store, [source for source, _ in plan])
        check_found(config.corpus, found)
        check_keys(found.all_keys(), f"--corpus {' '.join(config.corpus)}")
    except InputError:
        # The user will change a source or an option: what was read so far belongs to neither.
        record.forget("ingest")
        raise

    copies = first_copies_step(found, config.seed if config.limit else None, args)
    stage.do(copies)
    ranges = list(copies.items)
    if config.near_dedup is not None:
        for step in near_duplicate_steps(found, ranges, config.near_dedup, config.seed, args):
            stage.do(step)
    numbering = number(found, open_first_copies(stage.store, ranges, near), len(sources), config.limit)
    writing = {**args, "names": datasets, "ranges": ranges, "near": near}
    stage.do(corpus_tables_step(found, numbering, config.shard_size, writing))

    total = int(numbering.before[-1])
    shards = -(-total // config.shard_size)
    cut = truncated(stage.store, shards, len(sources))
    accounts = account(config.corpus, datasets, found, numbering, cut, near)
    corpus = {"fingerprint": stage.fingerprint, "sentences": total}
    stage.finish({"sentences": total, "shards": shards, "sources": accounts}, {"corpus": corpus})
    print("\n".join(account_lines(accounts)), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(IngestConfig, "ingest", str(__doc__).splitlines()[0], run))
