"""The plan of `ingest`: its pieces, and estimates of sentences, time and bytes from the beginnings of some pieces."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from jobs.ingest.job import IngestConfig, settle_shard_size
from jobs.ingest.read import read_step
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import by_workers, of_all, spread_seconds
from jobs.stage.runner import Stage
from ops.corpus.meta import check_keys
from ops.corpus.split_sentences import SentenceSplitter
from ops.errors import counted
from ops.estimate.source_sample import SourceSample, check_samples, sample_source, sampled_sentences
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.sources.formats import format_of
from ops.sources.source_format import Piece, Source

ASSUMED = 1_000_000  # number of sentences, if it cannot be found from the sources
HASH_BYTES = 40  # size per sentence in the partial files, in addition to its text


def plan_ingest(
    config: IngestConfig,
    stage: Stage,
    record: DryRun,
    facts: ModelFacts,
    sources: Sequence[Source],
    plan: Sequence[tuple[int, Piece]],
) -> Plan:
    """Return what the stage would do.

    Args:
        config, stage, record: the options, the stage, which was begun, and the run.
        facts: the model, whose tokenizer counts tokens.
        sources: the sources that --corpus names.
        plan: all pieces, each with the index of its source.

    Raises:
        InputError: a source is empty, or the part of it that was read is broken.
    """
    step = read_step([piece for _, piece in plan], {})
    tokenizer, splitter = Tokenizer(facts), SentenceSplitter() if config.split == "sentences" else None
    samples = []
    for number in range(len(sources)):
        own = [piece for source, piece in plan if source == number]
        seconds = record.timed_s / len(sources)
        samples.append(sample_source(own, tokenizer, splitter, seconds, config.text_column, config.on_error))
    check_samples(config.corpus, samples)
    check_keys(set().union(*(s.keys for s in samples)), f"--corpus {' '.join(config.corpus)}")

    kept, seconds, usable = _expected(record, config, samples)
    found, exact = max(sum(s.sentences for s in samples), 1), all(sample.whole for sample in samples)
    size = settle_shard_size(config, stage, kept)
    missing, shards = stage.missing(step), -(-kept // size)
    per_sentence = sum(s.bytes for s in samples) / found
    writing = kept * sum(s.write_seconds for s in samples) / found
    work = [f"read {of_all(len(missing), len(step.items), 'piece')} of {counted(len(sources), 'source')}"]
    drop = "drop copies" if config.near_dedup is None else "drop copies and near-duplicates (not in the time)"
    work.append(f"{drop}, number {'' if exact else 'about '}{counted(kept, 'sentence')}")
    work[-1] += f" (--limit of {counted(usable, 'sentence')})" if config.limit and kept < usable else ""
    work.append(f"write {counted(shards, 'shard')} of {counted(size, 'sentence')}")
    read_s = seconds * len(missing) / len(step.items)
    told = sorted({format_of(s.kind).told_by for s, sample in zip(sources, samples, strict=True) if not sample.whole})
    read = f"read {counted(sum(s.rows for s in samples), 'row')} in {sum(s.seconds for s in samples):.1f} s"
    basis = [f"{read}, {'that is all of them' if not told else f'and {chr(32).join([*told])} for the rest'}"]
    if not exact:
        basis.append("further copies outside these rows are not counted: there may be fewer sentences")
    basis.append(by_workers(stage.workers))
    record.sample = sampled_sentences(samples, [s.dataset for s in sources])
    return Plan(
        work,
        spread_seconds(record, len(missing), stage.workers, read_s) + 2 * writing,
        round(kept * per_sentence),
        round(usable * (per_sentence + HASH_BYTES)),
        basis,
        counts={"sentences": kept, "shards": shards, "sources": _kept_of_each(kept, samples, sources)},
    )


def _kept_of_each(kept: int, samples: Sequence[SourceSample], sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Return each source's counts that `topk` needs: its share of the kept sentences, and its first sentence id."""
    scaled = [s.scaled(s.sentences) for s in samples]
    weights = [float(s.sentences) if None in scaled else own or 0.0 for s, own in zip(samples, scaled, strict=True)]
    stops = [round(kept * stop / max(sum(weights), 1.0)) for stop in accumulate(weights)]
    return [
        {"dataset": source.dataset, "first_sent_id": first, "kept": stop - first}
        for source, first, stop in zip(sources, [0, *stops], stops, strict=False)
    ]


def _expected(record: DryRun, config: IngestConfig, samples: Sequence[SourceSample]) -> tuple[int, float, int]:
    """Return the number of sentences that would be kept, the seconds to read all, and the number before --limit."""
    found = sum(s.sentences for s in samples)
    sentences = [s.scaled(s.sentences) for s in samples]
    seconds = [s.scaled(s.seconds) for s in samples]
    if any(s is None for s in sentences):
        usable = config.limit or ASSUMED
        reading = sum(s.seconds for s in samples) / max(found, 1) * usable
        said = f"for --limit {usable:,}" if config.limit else f"for each {usable:,}"
        record.assumed = f"{said} sentences: how many there are is known once ingest is done"
        return usable, reading, usable
    distinct = len(set().union(*(s.hashes for s in samples))) / max(found, 1)
    usable = round(sum(s or 0.0 for s in sentences) * distinct)
    return min(usable, config.limit or usable), sum(s or 0.0 for s in seconds), usable
