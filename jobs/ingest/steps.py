"""The stage `ingest`: sources are read in pieces, copies are dropped, and the other sentences are numbered."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from jobs.ingest.deduplicate import first_copies_step, open_first_copies
from jobs.ingest.job import IngestConfig
from jobs.ingest.near_duplicates import near_duplicate_steps
from jobs.ingest.read import open_pieces, read_step
from jobs.ingest.write import corpus_tables_step, lengths, open_kept_sentences
from jobs.options.configs import CorpusConfig, part_of
from jobs.run_folder.run import Run
from jobs.stage.checks import check_sources
from jobs.stage.columns import check_column, check_source_column
from jobs.stage.dry_run import DryRun
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.step import Steps
from ops.corpus.accounts import account, account_lines, check_found
from ops.corpus.meta import check_keys
from ops.corpus.numbering import number
from ops.corpus.sentences import make_splitter
from ops.errors import InputError, StorageError, counted
from ops.estimate.source_sample import check_samples, sample_source, sampled_sentences
from ops.model.load import ModelFacts, read_facts
from ops.model.tokenizer import Tokenizer
from ops.shards import shard_size
from ops.sources.pieces import named_apart, pieces, source_fingerprint
from ops.sources.source import Piece, Source
from ops.sources.text import hard_broken

ASSUMED = 1_000_000  # number of sentences for a plan, if it cannot be found from the sources

Pieces = list[tuple[int, Piece]]  # each with the index of its source


def ingest_where_named(config: CorpusConfig, run: Run, columns: Mapping[str, str | None] | None = None) -> None:
    """Run the stage if sources were given to a job that may start with it.

    Args:
        columns: by the option that names each, the metadata columns that the job reads; None where it is not given.

    Raises:
        InputError: corpus/ does not have one of the columns, which is found before the sources are read if possible.
    """
    columns = columns or {}
    for flag, column in columns.items():
        check_source_column(config, flag, column)
    if config.corpus:
        ingest(part_of(config, IngestConfig, redo=False), run)
    for flag, column in columns.items():
        check_column(run, flag, column)


def ingest(config: IngestConfig, run: Run) -> None:
    """Run the stage, or the missing part of it."""
    config = with_recorded_shard_size(config, run)
    sources = check_sources(config)
    facts = read_facts(config.model, config.model_seed)
    tokenizer = Tokenizer(facts)
    make_splitter(config.split, tokenizer)  # refuses windows that the model cannot read
    names = ("text_column", "split", "limit", "near_dedup", "shard_size", "on_error", "seed")
    depends_on = {
        "corpus": [f"{s.dataset}:{s.kind}:{source_fingerprint(s)}" for s in sources],
        "tokenizer": tokenizer.fingerprint,
        **{name: getattr(config, name) for name in names},
        **{name: getattr(config, name) for name in ("paragraphs", "delimiter") if getattr(config, name)},
    }
    stage = begin_stage("ingest", config, run, depends_on)
    if stage is None:
        return
    for source in filter(hard_broken, sources):
        stage.say(f"{source.spec}: lines end within sentences (hard line breaks); --paragraphs makes paragraphs rows")
    documents = named_apart([source.dataset for source in sources])
    plan = [(i, replace(piece, documents=documents[i])) for i, source in enumerate(sources) for piece in pieces(source)]
    expected = expect(config, stage, run, tokenizer, sources, plan) if isinstance(run, DryRun) else {}
    steps = ingest_steps(config, stage, tokenizer.highest_id, facts, sources, plan)
    notes = [expected.pop("note")] if expected else []
    counts = stage.complete(steps, {"corpus": expected.get("sentences", 0)}, expected, notes)
    if counts is not None:
        print("\n".join(account_lines(counts["sources"])), file=sys.stderr)


def with_recorded_shard_size(config: IngestConfig, run: Run) -> IngestConfig:
    """Return the options with the shard size of the existing or begun corpus, unless they set a different size.

    So a run that was made with a fixed size is resumed and read with this size. The number that `auto` chose may also
    be given as --shard-size.
    """
    entry = run.stage("ingest")
    if entry is None or config.redo:
        return config
    recorded = entry.get("redo", entry)
    if config.shard_size not in ("auto", recorded["config"].get("shard_size")):
        return config
    return config.model_copy(update={"shard_size": recorded["identity"].get("shard_size", config.shard_size)})


def settle_shard_size(config: IngestConfig, stage: Stage, sentences: int) -> int:
    """Return the number of sentences in a shard, once the corpus's number is known, and record it for later stages."""
    size = shard_size(sentences) if config.shard_size == "auto" else config.shard_size
    stage.entry["config"] = {**stage.entry["config"], "shard_size": size}
    return size


def ingest_steps(
    config: IngestConfig, stage: Stage, highest_id: int, facts: ModelFacts, sources: list[Source], plan: Pieces
) -> Steps:
    """Read all pieces, drop copies, number the other sentences, write corpus/ and rejects/, and return the counts.

    Args:
        highest_id, facts: the highest token id of the tokenizer, and the model that it belongs to.

    Raises:
        InputError: a source is broken or empty; everything that was read so far is removed, unless it is a
            `StorageError`.
    """
    store, given = stage.store, {"store": stage.store, "fingerprint": stage.fingerprint}
    options = {"text_column": config.text_column, "on_error": config.on_error, "split": config.split}
    try:
        yield [read_step([piece for _, piece in plan], {**given, "facts": facts, "options": options})]
        piece_counts = open_pieces(store, [source for source, _ in plan])
        check_found(config.corpus, piece_counts)
        check_keys(piece_counts.all_keys(), f"--corpus {' '.join(config.corpus)}")
    except InputError as error:
        # The user will change a source or an option, so the pieces read so far are of no use.
        if not isinstance(error, StorageError):
            stage.run.forget("ingest")
        raise
    copies = first_copies_step(piece_counts, config.seed if config.limit else None, store)
    yield [copies]
    ranges, near = list(copies.items), config.near_dedup is not None
    if config.near_dedup is not None:
        yield near_duplicate_steps(piece_counts, ranges, config.near_dedup, config.seed, store, stage.fingerprint)
    texts = open_first_copies(store, ranges, near)
    numbering = number(piece_counts, texts, len(sources), config.limit)
    datasets = [source.dataset for source in sources]
    kept = open_kept_sentences(piece_counts, texts, numbering, datasets, ranges)
    total = int(numbering.before[-1])
    size = settle_shard_size(config, stage, total)
    yield [corpus_tables_step(kept, numbering, size, highest_id, stage.fingerprint)]
    shards = -(-total // size)
    accounts = account(config.corpus, datasets, piece_counts, numbering, lengths(store, shards, len(sources)), near)
    stage.of_the_run = {"corpus": {"fingerprint": stage.fingerprint, "sentences": total}}
    return {"sentences": total, "shards": shards, "sources": accounts}


def expect(
    config: IngestConfig, stage: Stage, run: DryRun, tokenizer: Tokenizer, sources: Sequence[Source], plan: Pieces
) -> dict[str, Any]:
    """Return the counts to expect, from the beginnings of some pieces of each source, which later plans read too."""
    samples, splitter = [], make_splitter(config.split, tokenizer)
    for source in range(len(sources)):
        some = [piece for i, piece in plan if i == source]
        seconds = run.timed_s / len(sources)
        samples.append(sample_source(some, tokenizer, splitter, seconds, config.text_column, config.on_error))
    check_samples(config.corpus, samples)
    check_keys(set().union(*(sample.keys for sample in samples)), f"--corpus {' '.join(config.corpus)}")
    is_known = all(sample.share for sample in samples)
    weights = [sample.sentences / (sample.share or 1.0) if is_known else sample.sentences for sample in samples]
    sampled = max(sum(sample.sentences for sample in samples), 1)
    if is_known:
        distinct = len(set().union(*(sample.hashes for sample in samples))) / sampled
        kept = round(sum(weights) * distinct)
        kept = min(kept, config.limit or kept)
        run.reading_s = sum(sample.seconds / (sample.share or 1.0) for sample in samples)
    else:
        kept = config.limit or ASSUMED
        run.reading_s = sum(sample.seconds for sample in samples) / sampled * kept
        assumed = f"for --limit {kept:,}" if config.limit else f"for each {kept:,}"
        run.assumed = f"{assumed} sentences: how many there are is known once ingest is done"
    size = settle_shard_size(config, stage, kept)
    run.sample = sampled_sentences(samples)
    about = "" if all(sample.whole for sample in samples) else "about "
    shards = -(-kept // size)
    note = f"number {about}{kept:,} sentences in {counted(shards, 'shard')} of {size:,}"
    stops = [round(kept * stop / max(sum(weights), 1.0)) for stop in accumulate(weights)]
    kept_of_each = [
        {"dataset": source.dataset, "first_sent_id": first, "kept": stop - first}
        for source, first, stop in zip(sources, [0, *stops], stops, strict=False)
    ]
    return {"sentences": kept, "shards": shards, "sources": kept_of_each, "note": note}
