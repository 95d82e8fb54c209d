"""The stage `mixing`, which measures every shard and makes the tables and figures from all shards."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jobs.stage.estimate import PassEstimate

from jobs.engine.item import Item
from jobs.engine.under_way import counting
from jobs.mixing.job import MixingConfig
from jobs.stage.corpus_pass import CorpusPass, PassArgs, part_rows
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.outputs import read_partials, shard_file, with_notes, write_partial
from jobs.stage.runner import Step
from jobs.stage.stages import STAGES
from ops.errors import counted
from ops.estimate.timed_batches import Sentences, TimedBatches
from ops.mixing.decomposition import LAYER_STAGES
from ops.mixing.figures import draw_all
from ops.mixing.pack import pack
from ops.mixing.partial_file import TOKENS, merge, to_table, token_rows
from ops.mixing.sequences import SequenceReader
from ops.mixing.shard import Batches, MixingResult, MixingScorer, measure_shard
from ops.mixing.tables import length_rows, norm_rows, ratio_rows
from ops.mixing.token_classes import CLASSES, TokenClasses
from ops.model.batches import batch_lengths
from ops.model.tokenizer import Tokenizer
from ops.schema import schema
from ops.storage.tables import stored_bytes, write_part

# bytes of a row of the tables; bytes of a quantity of a group of tokens in a partial file
ROW_BYTES, GROUP_BYTES = 20, 6 * 8
FIGURES_BYTES = 500_000


@dataclass(frozen=True)
class MixingArgs(PassArgs):
    """The arguments of every worker."""

    pack: int
    mask_rate: float
    per_token: bool


def measure_step(config: MixingConfig, job: CorpusPass) -> Step:
    """Return the step that measures the shards."""
    args = MixingArgs(**vars(job.args), pack=config.pack, mask_rate=config.mask_rate, per_token=config.per_token)
    return job.shard_step(MixingWorker, {"args": args}, partial(prepare_shard, args=args))


def sequence_reader(args: MixingArgs, tokenizer: Tokenizer) -> SequenceReader:
    """Return the reader of the sequences for these options."""
    return SequenceReader(tokenizer, args.device, args.token_budget, args.pack, args.mask_rate, args.seed)


def prepare_shard(item: Item, args: MixingArgs) -> tuple[dict[int, int], list[tuple[Any, Any]]]:
    """Read, pack, tokenize and mask one shard; with GPUs, this runs on separate cores."""
    sentences, batches = shard_sequences(item, args, sequence_reader(args, Tokenizer(args.facts)))
    return sentences, list(batches)


def shard_sequences(item: Item, args: MixingArgs, reader: SequenceReader) -> tuple[dict[int, int], Batches]:
    """Return the number of sentences in each sequence of a shard, by its first sentence id, and the masked batches."""
    if args.pack:
        packed = reader.read(args.store, part_rows(item))
        return packed.sentences_per_sequence(), reader.batches(packed)
    ((part, rows),) = part_rows(item)
    batches = args.tokens(lambda: reader.tokenizer).batches(part, args.token_budget, batch_lengths(args.device), rows)
    return dict.fromkeys(range(*item["span"]) if rows is None else rows.tolist(), 1), reader.masked(batches)


class MixingWorker:
    """Measures shards; commits the part of mixing/tokens of each shard, and then its partial file."""

    def __init__(self, args: MixingArgs) -> None:
        self.args, self.store = args, args.store
        tokenizer = Tokenizer(args.facts)
        self.classes, self.reader = TokenClasses(tokenizer), sequence_reader(args, tokenizer)
        self.scorer = MixingScorer(args.facts, args.device, args.dtype, args.threads, tokenizer.pad_id)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure one shard and commit its files."""
        args, number = self.args, item["shard"]
        sentences, batches = shard_sequences(item, args, self.reader) if prepared is None else prepared
        result = measure_shard(self.scorer, self.classes, counting(iter(batches)), args.per_token)
        whole = item["sentences"]
        if sum(sentences.values()) != whole or result.scored + len(result.unscored) != len(sentences):
            raise RuntimeError(
                f"mixing: shard {number} has {whole} sentences; {sum(sentences.values())} came in "
                f"{len(sentences)} sequences, {result.scored} were measured and {len(result.unscored)} not"
            )
        if args.per_token:
            # The rows are streamed, since they may exceed the worker's memory. The partial file, committed later, shows
            # that they exist.
            rows = token_rows(result, args.facts.layers, self.classes.strings)
            write_part(self.store, TOKENS, item["place"], schema(TOKENS), rows, args.fingerprint)
        lost = {str(i): sentences[i] for i in sorted(result.unscored)}
        notes = {
            "quantities": self.scorer.names,
            "scored": whole - sum(lost.values()),
            "sequences": len(sentences),
            "tokens": result.tokens,
            "masked": result.masked,
            "truncated": result.truncated,
            "truncated_tokens": result.truncated_tokens,
            "unscored": lost,
        }
        write_partial(self.store, shard_file("mixing", number), to_table(result), args.fingerprint, notes)
        return {"sentences": whole}


def measure(config: MixingConfig, job: CorpusPass) -> dict[str, Any]:
    """Measure the shards, merge them in order, write the tables and the figures, and return the counts."""
    job.do(measure_step(config, job))
    store, facts = job.stage.store, job.args.facts
    notes: list[dict[str, Any]] = []
    totals = merge(with_notes(read_partials(store, job.partials), notes))
    names = tuple(notes[0]["quantities"])
    tables = {
        "mixing/ratios": ratio_rows(totals, facts.layers, names),
        "mixing/lengths": length_rows(totals, facts.layers, names),
        "mixing/norms": norm_rows(totals, facts.layers, names),
    }
    lost = {int(first): n for note in notes for first, n in note["unscored"].items()}
    added = ("sequences", "tokens", "masked", "truncated", "truncated_tokens")
    counts: dict[str, Any] = {name: sum(note[name] for note in notes) for name in added}
    if totals:
        for name, table in tables.items():
            write_part(store, name, 0, schema(name), [table], job.stage.fingerprint)
        counts["figures"] = draw_all(store, tables, facts.title)
    counts |= {"stages": [n for n in names if n in LAYER_STAGES], "unscored_sequences": list(lost)[:100]}
    return job.accounted(sum(note["scored"] for note in notes), sum(lost.values()), counts)


def plan(config: MixingConfig, job: CorpusPass, record: DryRun) -> Plan:
    """Return what the stage would do."""
    step = measure_step(config, job)
    estimate, args = PassEstimate(record, job, step), step.args["args"]
    sample, tokenizer = estimate.sample, estimate.tokenizer
    added = sum(tokenizer.encode(["a"])[0].added)
    packed = pack(sample.sent_ids, sample.texts, sample.n_tokens, sample.documents, args.pack, added)
    each = len(packed.texts) / len(sample.texts)
    timed = row_bytes = None
    if estimate.can_time:
        columns = Sentences(packed.first, packed.texts, packed.n_tokens, [])
        timed, row_bytes = time_mixing(estimate, args, columns)
    groups = len(CLASSES) + len(np.unique(packed.n_tokens))
    kept = args.facts.layers * len(LAYER_STAGES) * groups * ROW_BYTES + FIGURES_BYTES
    rows = round(int(packed.n_tokens.sum()) / len(sample.texts) * job.sentences) * args.facts.layers
    work = [estimate.work("measure")]
    if args.pack:
        work.append(f"as about {counted(round(each * estimate.sentences), 'sequence')} of at most {args.pack} tokens")
    if args.per_token:
        work.append(f"write about {counted(rows, 'row')} of mixing/tokens")
        kept += round(rows * (row_bytes or 0))
    seconds = None if timed is None else estimate.seconds(timed.seconds_for(round(each * estimate.sentences)))
    partials = len(job.numbers) * groups * args.facts.layers * (len(LAYER_STAGES) + 4) * GROUP_BYTES
    tables = [t for t in STAGES["mixing"].tables if args.per_token or t != "mixing/tokens"]
    basis = estimate.basis(timed, "sentence" if not args.pack else "sequence")
    unknown = args.per_token and row_bytes is None
    counts = {"scored": job.sentences}
    return Plan(work, seconds, None if unknown else kept, partials, basis, tables, counts)


def time_mixing(estimate: PassEstimate, args: MixingArgs, packed: Sentences) -> tuple[TimedBatches, float]:
    """Measure some batches as a worker does; return them, and the bytes of a row of mixing/tokens (0 without rows)."""
    tokenizer, classes = estimate.tokenizer, TokenClasses(estimate.tokenizer)
    reader = sequence_reader(args, tokenizer)
    scorer = MixingScorer(args.facts, args.device, args.dtype, args.threads, tokenizer.pad_id)
    results: list[MixingResult] = []
    timed = estimate.time(
        lambda batches: results.append(measure_shard(scorer, classes, reader.masked(batches), args.per_token)),
        packed,
    )
    tables = list(token_rows(results[-1], args.facts.layers, classes.strings)) if results[-1].kept else []
    return timed, sum(map(stored_bytes, tables)) / max(sum(table.num_rows for table in tables), 1)
