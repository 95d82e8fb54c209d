"""Read text sources into numbered shards of distinct sentences.

    python -m jobs.ingest --out runs/docs --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.ingest --out s3://bucket/run --corpus books='s3://bucket/books/*.parquet'

Writes corpus/ (one file per shard) and rejects/. Ids depend only on the sources, the seed and the options.

What to expect (two cores, November 2026): the packaged docstrings take 25 s, most of it for Ray's start and for reading
64,000 sentences to keep 5,000. JSONL that is already split is read at 12,300 to 36,900 lines per second (`python -m
bench ingest`). A worker uses 500 to 750 MB, regardless of the length of the corpus.
"""

import sys
from typing import TYPE_CHECKING, Any, ClassVar

from jobs.stage.command_line import Job, in_run
from jobs.stage.options import CorpusConfig, part_of

if TYPE_CHECKING:
    from jobs.stage.run import Run
    from jobs.stage.runner import Stage
    from ops.model.load import ModelFacts
    from ops.sources.source_format import Piece, Source


class IngestConfig(CorpusConfig):
    """Options of `ingest`."""

    required: ClassVar[tuple[str, ...]] = ("out", "corpus")


def do_where_named(config: CorpusConfig, record: "Run") -> None:
    """Run the stage if sources were given to a job that may start with it."""
    if config.corpus:
        do(part_of(config, IngestConfig, redo=False), record)


def do(config: IngestConfig, record: "Run") -> None:
    """Run the stage, or the missing part of it."""
    from dataclasses import replace

    from jobs.ingest.plan import plan_ingest
    from jobs.stage.checks import check_sources
    from jobs.stage.runner import StageSpec, run_stage
    from ops.corpus.accounts import account_lines
    from ops.model.load import read_facts
    from ops.model.tokenizer import Tokenizer
    from ops.sources.pieces import named_apart, pieces, source_fingerprint

    config = with_recorded_shard_size(config, record)
    sources = check_sources(config)
    facts = read_facts(config.model, config.model_seed)
    tokenizer = Tokenizer(facts)
    names = ("text_column", "split", "limit", "near_dedup", "shard_size", "on_error", "seed")
    depends_on = {
        "corpus": [f"{s.dataset}:{s.kind}:{source_fingerprint(s)}" for s in sources],
        "tokenizer": tokenizer.fingerprint,
        **{name: getattr(config, name) for name in names},
    }
    own = named_apart([s.dataset for s in sources])

    def plan() -> "list[tuple[int, Piece]]":
        return [(i, replace(p, documents=own[i])) for i, source in enumerate(sources) for p in pieces(source)]

    spec = StageSpec(
        "ingest",
        depends_on,
        lambda stage: write_corpus(config, stage, tokenizer.highest_id, facts, sources, plan()),
        lambda stage, dry_run: plan_ingest(config, stage, dry_run, facts, sources, plan()),
        of_the_run=lambda stage, counts: {
            "corpus": {"fingerprint": stage.fingerprint, "sentences": counts["sentences"]}
        },
        say=lambda counts: print("\n".join(account_lines(counts["sources"])), file=sys.stderr),
    )
    run_stage(spec, config, record)


def with_recorded_shard_size(config: IngestConfig, record: "Run") -> IngestConfig:
    """Return the options with the shard size of the existing or begun corpus, unless they set a different size.

    So a run that was made with a fixed size is resumed and read with this size. The number that `auto` chose may also
    be given as --shard-size.
    """
    entry = record.stage("ingest")
    if entry is None or config.redo:
        return config
    recorded = entry.get("redo", entry)
    if config.shard_size not in ("auto", recorded["config"].get("shard_size")):
        return config
    return config.model_copy(update={"shard_size": recorded["identity"].get("shard_size", config.shard_size)})


def settle_shard_size(config: IngestConfig, stage: "Stage", sentences: int) -> int:
    """Return the number of sentences in a shard, once the corpus's number is known, and record it for later stages."""
    from ops.shards import shard_size

    size = shard_size(sentences) if config.shard_size == "auto" else config.shard_size
    stage.entry["config"] = {**stage.entry["config"], "shard_size": size}
    return size


def write_corpus(
    config: IngestConfig, stage: "Stage", highest_id: int, facts: "ModelFacts", sources: "list[Source]",
    plan: "list[tuple[int, Piece]]",
) -> dict[str, Any]:  # fmt: skip
    """Read all pieces, drop copies, number the other sentences, write corpus/ and rejects/, and return the counts.

    Args:
        config, stage: the options, and the stage, which was begun.
        highest_id, facts: the highest token id of the tokenizer, and the model that it belongs to.
        sources: the sources that --corpus names.
        plan: all pieces, each with the index of its source.

    Raises:
        InputError: a source is broken or empty; everything that was read so far is removed.
    """
    from jobs.ingest.deduplicate import first_copies_step, open_first_copies
    from jobs.ingest.near_duplicates import near_duplicate_steps
    from jobs.ingest.read import open_pieces, read_step
    from jobs.ingest.write import corpus_tables_step, lengths
    from ops.corpus.accounts import account, check_found
    from ops.corpus.meta import check_keys
    from ops.corpus.numbering import number
    from ops.errors import InputError

    store, args = stage.store, {"store": stage.store, "fingerprint": stage.fingerprint}
    options = {"text_column": config.text_column, "on_error": config.on_error, "split": config.split}
    try:
        stage.do(read_step([piece for _, piece in plan], {**args, "facts": facts, "options": options}))
        found = open_pieces(store, [source for source, _ in plan])
        check_found(config.corpus, found)
        check_keys(found.all_keys(), f"--corpus {' '.join(config.corpus)}")
    except InputError:
        # The user will change a source or an option, so the pieces read so far are of no use.
        stage.record.forget("ingest")
        raise
    copies = first_copies_step(found, config.seed if config.limit else None, args)
    stage.do(copies)
    ranges, near = list(copies.items), config.near_dedup is not None
    if config.near_dedup is not None:
        for step in near_duplicate_steps(found, ranges, config.near_dedup, config.seed, args):
            stage.do(step)
    numbering = number(found, open_first_copies(store, ranges, near), len(sources), config.limit)
    datasets = [source.dataset for source in sources]
    writing = {**args, "names": datasets, "ranges": ranges, "near": near, "highest_id": highest_id}
    total = int(numbering.before[-1])
    size = settle_shard_size(config, stage, total)
    stage.do(corpus_tables_step(found, numbering, size, writing))

    shards = -(-total // size)
    accounts = account(config.corpus, datasets, found, numbering, lengths(store, shards, len(sources)), near)
    return {"sentences": total, "shards": shards, "sources": accounts}


JOB = Job("ingest", IngestConfig, in_run(do), __doc__)
