"""The stage `mixing`, which measures every shard and makes the tables and figures from all shards."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from jobs.engine.item import Item
from jobs.engine.under_way import counting
from jobs.ingest.steps import ingest_where_named
from jobs.mixing.job import MixingConfig
from jobs.run_folder.run import Run
from jobs.stage.checks import check_pass
from jobs.stage.corpus_pass import CorpusPass, PassArgs, begin_pass, part_rows
from jobs.stage.outputs import Noted, Output, TablePart, read_partials, shard_file, table_part, with_notes
from jobs.stage.step import Made, Steps
from ops.corpus.read_shard import read_columns
from ops.errors import InputError
from ops.figures.files import save_figures
from ops.mixing.decomposition import LAYER_STAGES
from ops.mixing.figures import mixing_figures
from ops.mixing.sequences import COLUMNS, SequenceReader
from ops.mixing.shard import Batches, MixingScorer, measure_shard
from ops.mixing.tables import TOKENS, merge, mixing_tables, token_rows
from ops.mixing.token_classes import CLASSES, TokenClasses
from ops.model.attention_modules import check_architecture
from ops.model.load import ModelFacts
from ops.model.numerics import check_exact_enough
from ops.model.tokenizer import Tokenizer
from ops.storage.arrays import named_arrays, write_arrays

COUNTS = ("tokens", "masked", "truncated", "truncated_tokens")  # of a shard's result
TOKENS_EACH = 27  # tokens of a typical sentence, for --dry-run


def mixing(config: MixingConfig, run: Run) -> None:
    """Run the stage, or the missing part of it, after `ingest` if sources are named."""
    facts, tokenizer = check_pass(config, run)
    check(config, facts, tokenizer)
    ingest_where_named(config, run)
    depends_on = {"pack": config.pack, "mask_rate": config.mask_rate, "per_token": config.per_token}
    job = begin_pass("mixing", config, run, facts, tokenizer, depends_on)
    if job is None:
        return
    rows = {
        "mixing/ratios": facts.layers * len(LAYER_STAGES) * (1 + len(CLASSES)),
        TOKENS: job.sentences * TOKENS_EACH * facts.layers if config.per_token else 0,
    }
    job.stage.complete(mixing_steps(config, job), rows, {"scored": job.sentences})


def check(config: MixingConfig, facts: ModelFacts, tokenizer: Tokenizer) -> None:
    """Refuse invalid options before anything heavy starts.

    Raises:
        InputError: the architecture is unknown, the arithmetic is too coarse, the model has no mask token, or sequences
            would exceed the model's length limit.
    """
    check_architecture(facts.model_type, facts.name)
    check_exact_enough(config.dtype, "mixing")
    if config.mask_rate and tokenizer.mask_id is None:
        raise InputError(f"--mask-rate {config.mask_rate}: {config.model} has no mask token; give --mask-rate 0")
    if config.pack > facts.position_limit:
        raise InputError(
            f"--pack {config.pack}: {config.model} takes {facts.position_limit} tokens at most; give a smaller number"
        )


@dataclass(frozen=True, kw_only=True)
class MixingArgs(PassArgs):
    """The arguments of every worker."""

    pack: int
    mask_rate: float
    per_token: bool

    def reader(self, tokenizer: Tokenizer) -> SequenceReader:
        """Return the reader of the sequences for these options."""
        return SequenceReader(
            tokenizer=tokenizer, token_budget=self.token_budget, pack=self.pack, mask_rate=self.mask_rate,
            seed=self.seed,
        )  # fmt: skip


def mixing_steps(config: MixingConfig, job: CorpusPass) -> Steps:
    """Yield the step of the shards, merge them in order, write the tables and the figures, and return the counts."""
    args = MixingArgs(**vars(job.args), pack=config.pack, mask_rate=config.mask_rate, per_token=config.per_token)

    def outputs(item: Item) -> list[Output]:
        return [*([tokens_part(item)] if config.per_token else []), shard_file("mixing", item["shard"])]

    yield [job.shard_step(MixingWorker, {"args": args}, partial(prepare_shard, args=args), outputs=outputs)]
    store, facts = args.store, args.facts
    notes: list[dict[str, Any]] = []
    totals = merge(with_notes(read_partials(store, job.partials), notes))
    names = tuple(notes[0]["quantities"])
    unscored = {int(first): n for note in notes for first, n in note["unscored"].items()}
    counts: dict[str, Any] = {name: sum(note[name] for note in notes) for name in ("sequences", *COUNTS)}
    if totals:
        tables = mixing_tables(totals, facts.layers, names)
        for name, table in tables.items():
            job.stage.write(name, table)
        counts["figures"] = save_figures(store, "mixing/figures", mixing_figures(tables), facts.title)
    counts |= {"stages": [n for n in names if n in LAYER_STAGES], "unscored_sequences": list(unscored)[:100]}
    return job.accounted(sum(note["scored"] for note in notes), sum(unscored.values()), counts)


def tokens_part(item: Item) -> TablePart:
    """Return the part of mixing/tokens of a shard."""
    return table_part(TOKENS, item["place"], f"shard-{item['shard']}")


def prepare_shard(item: Item, args: MixingArgs) -> tuple[dict[int, int], list[tuple[Any, Any]]]:
    """Read, pack, tokenize and mask one shard; with GPUs, this runs on separate cores."""
    sentences, batches = shard_sequences(item, args, args.reader(Tokenizer(args.facts)))
    return sentences, list(batches)


def shard_sequences(item: Item, args: MixingArgs, reader: SequenceReader) -> tuple[dict[int, int], Batches]:
    """Return the number of sentences in each sequence of a shard, by its first sentence id, and the masked batches."""
    if args.pack:
        ((part, ids),) = part_rows(item)
        return reader.packed(read_columns(args.store, part, ids, COLUMNS))
    (rows,) = item["rows"] or [range(*item["span"])]
    return dict.fromkeys(rows, 1), reader.masked(args.batches(item, lambda: reader.tokenizer))


class MixingWorker:
    """Measures shards."""

    def __init__(self, args: MixingArgs) -> None:
        self.args = args
        tokenizer = Tokenizer(args.facts)
        self.classes, self.reader = TokenClasses(tokenizer), args.reader(tokenizer)
        self.scorer = MixingScorer(args.facts, args.device, args.dtype, args.threads, tokenizer.pad_id)

    def __call__(self, item: Item, prepared: Any) -> Made:
        """Measure one shard."""
        args, number = self.args, item["shard"]
        sentences, batches = shard_sequences(item, args, self.reader) if prepared is None else prepared
        result = measure_shard(self.scorer, self.classes, counting(iter(batches)), args.per_token)
        whole = item["sentences"]
        if sum(sentences.values()) != whole or result.scored + len(result.unscored) != len(sentences):
            raise RuntimeError(
                f"mixing: shard {number} has {whole} sentences; {sum(sentences.values())} came in "
                f"{len(sentences)} sequences, {result.scored} were measured and {len(result.unscored)} not"
            )
        unscored = {str(i): sentences[i] for i in sorted(result.unscored)}
        notes = {
            "quantities": self.scorer.names, "scored": whole - sum(unscored.values()), "sequences": len(sentences),
            "unscored": unscored, **{name: getattr(result, name) for name in COUNTS},
        }  # fmt: skip
        made: Made = {shard_file("mixing", number): Noted(write_arrays(**named_arrays(result.moments)), notes)}
        # The rows are an iterator, since all of them may exceed the worker's memory.
        rows = token_rows(result, args.facts.layers, self.classes.strings)
        return {**made, tokens_part(item): rows} if args.per_token else made
