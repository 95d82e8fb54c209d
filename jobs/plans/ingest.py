"""What `ingest` would do: its pieces, and by the beginnings of some of them its sentences, time and bytes."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import TIMED_S, by_workers, of_all, spread_seconds
from jobs.stage.options import CorpusConfig
from jobs.stage.runner import Stage, Step
from ops.corpus.accounts import check_found
from ops.corpus.meta import check_keys
from ops.corpus.piece_counts import Pieces
from ops.corpus.split_sentences import SentenceSplitter
from ops.errors import counted
from ops.estimate.source_sample import SourceSample, sample_source
from ops.estimate.timed_batches import Sentences
from ops.model.tokenizer import Tokenizer
from ops.sources.formats import format_of
from ops.sources.source_format import Piece, Source

ASSUMED = 1_000_000  # sentences, where the sources do not tell
HASH_BYTES = 40  # of a sentence, in the partial files beside its text


def plan_ingest(
    record: DryRun,
    stage: Stage,
    config: CorpusConfig,
    sources: Sequence[Source],
    plan: Sequence[tuple[int, Piece]],
    step: Step,
    tokenizer: Tokenizer,
) -> None:
    """Say what the stage would do.

    Args:
        record, stage: the run, and the stage begun.
        config: the options.
        sources: what --corpus names.
        plan: all pieces, each with the number of its source.
        step: the one that reads them.
        tokenizer: the model's.

    Raises:
        InputError: what was read of a source is broken, or it is empty.
    """
    splitter = SentenceSplitter() if config.split == "sentences" else None
    samples = []
    for number in range(len(sources)):
        own = [piece for source, piece in plan if source == number]
        seconds = TIMED_S / len(sources)
        samples.append(sample_source(own, tokenizer, splitter, seconds, config.text_column, config.on_error))
    _check_found(config.corpus, samples)
    check_keys(set().union(*(s.keys for s in samples)), f"--corpus {' '.join(config.corpus)}")

    kept, seconds, usable = _expected(record, config, samples)
    missing, shards = stage.missing(step), -(-kept // config.shard_size)
    per_sentence = sum(s.bytes for s in samples) / max(sum(s.sentences for s in samples), 1)
    writing = kept * sum(s.write_seconds for s in samples) / max(sum(s.sentences for s in samples), 1)
    work = [f"read {of_all(len(missing), len(step.items), 'piece')} of {counted(len(sources), 'source')}"]
    drop = "drop copies" if config.near_dedup is None else "drop copies and near-duplicates (not in the time)"
    work.append(f"{drop}, number {'' if _exact(samples) else 'about '}{counted(kept, 'sentence')}")
    work[-1] += f" (--limit of {counted(usable, 'sentence')})" if config.limit and kept < usable else ""
    work.append(f"write {counted(shards, 'shard')} of {counted(config.shard_size, 'sentence')}")
    read_s = seconds * len(missing) / len(step.items)
    told = sorted({format_of(s.kind).told_by for s, sample in zip(sources, samples, strict=True) if not sample.whole})
    read = f"read {counted(sum(s.rows for s in samples), 'row')} in {sum(s.seconds for s in samples):.1f} s"
    basis = [f"{read}, {'that is all of them' if not told else f'and {chr(32).join([*told])} for the rest'}"]
    if not _exact(samples):
        basis.append("further copies outside these rows are not counted: there may be fewer sentences")
    basis.append(by_workers(stage.workers))
    expected = Plan(
        work,
        spread_seconds(record, len(missing), stage.workers, read_s) + 2 * writing,
        round(kept * per_sentence),
        round(usable * (per_sentence + HASH_BYTES)),
        basis,
    )
    record.sample = _sentences(samples, [s.dataset for s in sources])
    record.plan("ingest", expected, {"sentences": kept, "shards": shards, "sources": []})


def _expected(record: DryRun, config: CorpusConfig, samples: Sequence[SourceSample]) -> tuple[int, float, int]:
    """Return the sentences that would be kept, the seconds of reading all, and the sentences before --limit."""
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


def _exact(samples: Sequence[SourceSample]) -> bool:
    return all(sample.whole for sample in samples)


def _check_found(specs: Sequence[str], samples: Sequence[SourceSample]) -> None:
    """Refuse a source that was read to its end and gave no sentence, as the stage itself does."""
    whole = [i for i, sample in enumerate(samples) if sample.whole]
    rows, sentences, rejects = (
        np.array([getattr(samples[i], name) for i in whole], np.int64) for name in ("rows", "sentences", "rejects")
    )
    reasons = [dict(samples[i].reasons) for i in whole]
    pieces = Pieces(np.arange(len(whole)), rows, sentences, rejects, np.zeros(len(whole), np.int64), reasons, [])
    check_found([specs[i] for i in whole], pieces)


def _sentences(samples: Sequence[SourceSample], datasets: Sequence[str]) -> Sentences:
    """Return the sentences that were read, as the corpus would have them."""
    texts: list[str] = []
    documents: list[tuple[str, str]] = []
    tokens: list[np.ndarray] = []
    for sample, dataset in zip(samples, datasets, strict=True):
        table = pa.concat_tables(sample.tables)
        texts += table["text"].to_pylist()
        tokens.append(table["n_tokens"].to_numpy().astype(np.int64))
        documents += [(dataset, doc_id) for doc_id in table["doc_id"].to_pylist()]
    return Sentences(np.arange(len(texts)), texts, np.concatenate(tokens), documents)
