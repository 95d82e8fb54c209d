"""The stage `positions`, which finds mean states in a pilot, measures the shards and writes the tables."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from jobs.engine.item import Item
from jobs.engine.machines import asked_for_gpus
from jobs.engine.under_way import counting
from jobs.ingest.steps import ingest_where_named
from jobs.positions.job import PositionsConfig
from jobs.run_folder.run import Run
from jobs.stage.checks import check_pass
from jobs.stage.corpus_pass import CorpusPass, PassArgs, begin_pass, measured_sentences, part_rows
from jobs.stage.costs import PASSES
from jobs.stage.outputs import Noted, notes_of, partial_file, read_partial, read_partials, shard_file, with_notes
from jobs.stage.step import Made, Step, Steps
from ops import schema
from ops.corpus.read_shard import read_columns, read_rows
from ops.errors import InputError, counted
from ops.figures.files import save_figures
from ops.mixing.token_classes import CLASSES, TokenClasses
from ops.model.load import ModelFacts, load_model
from ops.model.numerics import set_numerics
from ops.model.tokenizer import Tokenizer
from ops.positions.encode import Encoder
from ops.positions.figures import position_figures
from ops.positions.labels import Labelled, check_labels, label_rows
from ops.positions.pilot import check_pilot, mean_states, pilot_size, pilot_table, read_pilot
from ops.positions.position_table import DECODERS, check_positions
from ops.positions.reader import VariantReader
from ops.positions.shard import Batches, PositionsScorer, merge_tables
from ops.positions.similarity import SAME_TOKEN
from ops.positions.tables import corpus_tables
from ops.positions.variants import DEFAULT, choose_variants
from ops.sampling import LABELS, PILOT, draw
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE

NAMED = 100  # most texts that run.json names
PILOT_FILE = partial_file("positions", "pilot")
PERPLEXITIES = ("positions/perplexity", "positions/perplexity_by_position")  # an encoder has none


def positions(config: PositionsConfig, run: Run) -> None:
    """Run the stage, or the missing part of it, after `ingest` if sources are named."""
    facts, tokenizer = check_pass(config, run)
    variants = check(config, facts)
    ingest_where_named(config, run, {"--label": config.label, "--answer-column": config.answer_column})
    texts = read_labels(config, run)
    names = {"shift", "max_tokens", "start_token", "answer_column", "label", "label_texts", "label_splits"}
    depends_on = config.model_dump(include=names) | {"variants": list(variants)}
    job = begin_pass("positions", config, run, facts, tokenizer, depends_on)
    if job is None:
        return
    each = facts.layers * len(variants) * len(SAME_TOKEN)
    rows = {
        "positions/by_class": each * len(CLASSES),
        "positions/by_position": each * (config.max_tokens or facts.position_limit),
    }
    missing = [*([] if facts.model_type in DECODERS else PERPLEXITIES), *([] if config.label else ["positions/labels"])]
    notes = [f"each {1 + len(variants)} times: {', '.join((DEFAULT, *variants))}"]
    steps = positions_steps(config, variants, texts, job)
    job.stage.complete(steps, rows | dict.fromkeys(missing, 0), {"scored": job.sentences}, notes)


def check(config: PositionsConfig, facts: ModelFacts) -> tuple[str, ...]:
    """Reject invalid options before anything heavy starts, and return the variants to measure.

    Raises:
        InputError: the model has no position embeddings of a known kind, or an option is not suitable for it.
    """
    check_positions(facts)
    decoder = facts.model_type in DECODERS
    variants = choose_variants(config.variants, decoder)
    limit = facts.position_limit
    if config.start_token and not decoder:
        raise InputError(f"--start-token: {facts.name} is an encoder; leave it out")
    if config.max_tokens is not None and config.max_tokens > limit:
        raise InputError(
            f"--max-tokens {config.max_tokens}: {facts.name} takes {limit} tokens at most; give a smaller number"
        )
    if "shifted" in variants and config.shift >= limit:
        raise InputError(f"--shift {config.shift}: {facts.name} has {limit} positions; shift by fewer")
    Encoder(facts, config.max_tokens, config.start_token)
    return variants


def read_labels(config: PositionsConfig, run: Run) -> Labelled | None:
    """Return the texts with a label in a seeded uniform sample; None if no label was requested.

    Raises:
        InputError: no classifier can be fitted to these texts.
    """
    if config.label is None or run.is_expected("ingest"):
        return None
    shards, sample = run.shards(), measured_sentences(config, run)
    drawn = draw(shards.sentences if sample is None else len(sample), config.label_texts, config.seed, LABELS)
    drawn = drawn if sample is None else sample[drawn]
    rows = read_rows(run.store, shards, drawn, ["sent_id", "dataset", "doc_id", "meta"])
    texts = Labelled.of(rows, config.label)
    check_labels(config.label, texts, config.seed, config.label_splits)
    return texts


@dataclass(frozen=True, kw_only=True)
class PositionsArgs(PassArgs):
    """The arguments of every worker."""

    config: PositionsConfig
    variants: tuple[str, ...]

    def reader(self) -> VariantReader:
        """Return a reader that runs the model under every variant, on its device."""
        set_numerics(self.device, self.threads, self.dtype)
        model = load_model(self.facts, self.device, self.dtype, predicts=self.facts.model_type in DECODERS)
        return VariantReader(model, self.facts, self.config.shift, self.seed)

    def encoder(self) -> Encoder:
        """Return what encodes the texts."""
        return Encoder(self.facts, self.config.max_tokens, self.config.start_token)


def positions_steps(
    config: PositionsConfig, variants: tuple[str, ...], texts: Labelled | None, job: CorpusPass
) -> Steps:
    """Yield the pilot and the shards, merge the shards in order, write tables and figures, and return the counts.

    `texts` are the sentences of the label check, in the order of their ids; None without a label check.
    """
    args = PositionsArgs(**vars(job.args), config=config, variants=variants)
    pilot = pilot_step(args, job)
    sampled = job.shards.split(np.array(texts.sent_ids if texts else [], np.int64))
    shards = job.shard_step(
        PositionsWorker,
        {"args": args},
        partial(prepare_shard, args=args),
        lambda item: {"sample": sampled[item["shard"]].tolist()},
        estimate=partial(job.seconds, passes=PASSES["positions"] * (1 + len(variants))),
    )
    if job.stage.missing(pilot) and not job.stage.is_planned:
        # A cluster starts its other GPU machines in the meantime.
        workers = min(job.placement.workers or 1, len(job.numbers))
        with asked_for_gpus(workers - 1 if job.placement.reads_ahead else 0):
            yield [pilot]
    yield [pilot, shards]
    store, facts = args.store, args.facts
    notes: list[dict[str, Any]] = []
    partials = read_partials(store, job.partials, at_once=LARGE_FILES_AT_ONCE)
    totals, features = merge_tables(with_notes(partials, notes))
    pilot_states = read_partial(store, PILOT_FILE)
    unscored = sorted(i for note in notes for i in note["unscored"])
    scored = sum(note["scored"] for note in notes)
    summed = ("tokens", "truncated", "truncated_tokens", "unpredicted")
    counts: dict[str, Any] = {name: sum(note[name] for note in notes) for name in summed}
    counts |= {"variants": list(variants), "pilot_texts": notes_of(pilot_states)["texts"]}
    beyond = {v: n for v in variants if (n := sum(note["beyond"][v] for note in notes))}
    first = {v: sorted(i for note in notes for i in note["first_beyond"][v])[:NAMED] for v in beyond}
    counts |= {"unscored_texts": unscored[:NAMED], "without_a_position": beyond, "texts_without_a_position": first}
    for variant, left_out in beyond.items():
        few = f"{counted(left_out, 'text')} of {scored:,}, too long for --shift {config.shift}"
        job.stage.say(f"{variant} leaves out {few}" + ("; so does --label" if texts else ""))
    if scored:
        *_, norms = read_pilot(pilot_states)
        tables = corpus_tables(totals, facts, norms, config.seed)
        if config.label is not None and texts is not None:
            measured = (DEFAULT, *variants)
            rows = label_rows(facts.name, config.label, texts, features, measured, config.seed, config.label_splits)
            if not rows:
                job.stage.say("--label: too few texts are left for a classifier, so positions/labels has no rows")
            elif rows[0]["splits"] < config.label_splits:
                few = f"{rows[0]['splits']} of {config.label_splits} splits are used"
                job.stage.say(f"--label: {few}; the others leave one label to learn from, or no text to test")
            tables["positions/labels"] = schema.table("positions/labels", rows)
        for name, table in tables.items():
            if table.num_rows or name not in PERPLEXITIES:
                job.stage.write(name, table)
        counts["figures"] = save_figures(store, "positions/figures", position_figures(tables), facts.title)
    return job.accounted(scored, len(unscored), counts)


def pilot_step(args: PositionsArgs, job: CorpusPass) -> Step:
    """Return the step that finds each layer's mean state under every variant in a sample of the texts."""
    drawn = draw(job.sentences, pilot_size(job.sentences), args.seed, PILOT)
    drawn = drawn if job.sample is None else job.sample[drawn]
    shares = [(part, ids.tolist()) for part, ids in enumerate(job.shards.split(drawn)) if len(ids)]
    item = {"parts": [part for part, _ in shares], "rows": [ids for _, ids in shares], "sentences": len(drawn)}
    return Step(
        name="positions: pilot", items=[item], outputs=lambda _: [PILOT_FILE], worker=find_means, args={"args": args},
        holds=job.placement.holds, actors=True,
    )  # fmt: skip


def find_means(item: Item, args: PositionsArgs) -> Made:
    """Find the mean states in the pilot's texts, and the norms of the position embeddings."""
    reader, encoder = args.reader(), args.encoder()
    texts = batches(args, encoder, item)
    pilot = mean_states(reader, args.variants, texts, encoder.tokenizer.pad_id, args.device)
    check_pilot(pilot, args.config.shift, args.facts)
    table = pilot_table(pilot.means, pilot.panel, reader.positions.norms().numpy())
    return {PILOT_FILE: Noted(table, {"texts": pilot.texts[DEFAULT]})}


def prepare_shard(item: Item, args: PositionsArgs) -> list[Any]:
    """Read and tokenize one shard; with GPUs, this runs on separate cores."""
    return list(batches(args, args.encoder(), item))


def batches(args: PositionsArgs, encoder: Encoder, item: Item) -> Batches:
    """Yield the batches of an item's sentences; a batch never spans two shards."""
    answer = args.config.answer_column
    if encoder.is_plain and answer is None:
        yield from args.batches(item, lambda: encoder.tokenizer)
        return
    columns = ["sent_id", "text", *([] if answer is None else ["meta"])]
    for part, ids in part_rows(item):
        table = read_columns(args.store, part, ids, columns)
        texts = table["text"].to_pylist()
        if answer is not None:
            answers = [row[answer] for row in table["meta"].to_pylist()]
            texts = [f"{text} {own}" if own else text for text, own in zip(texts, answers, strict=True)]
        yield from encoder.batches(table["sent_id"].to_numpy(), texts, args.token_budget)


class PositionsWorker:
    """Measures shards."""

    def __init__(self, args: PositionsArgs) -> None:
        self.args, self.encoder = args, args.encoder()
        tokenizer: Tokenizer = self.encoder.tokenizer
        means, panel, _ = read_pilot(read_partial(args.store, PILOT_FILE))
        self.scorer = PositionsScorer(
            args.reader(), TokenClasses(tokenizer), args.variants, means, panel, tokenizer.pad_id, self.encoder.limit,
            args.device,
        )  # fmt: skip

    def __call__(self, item: Item, prepared: Any) -> Made:
        """Measure one shard."""
        whole = item["sentences"]
        texts = batches(self.args, self.encoder, item) if prepared is None else iter(prepared)
        result = self.scorer.measure_shard(counting(texts), item["sample"])
        if result.scored + len(result.unscored) != whole:
            raise RuntimeError(
                f"positions: shard {item['shard']} has {whole} sentences; "
                f"{result.scored} were measured and {len(result.unscored)} not"
            )
        names = ("scored", "unscored", "truncated", "truncated_tokens", "tokens", "unpredicted")
        notes = {name: getattr(result, name) for name in names}
        notes["beyond"] = {name: len(ids) for name, ids in result.beyond.items()}
        notes["first_beyond"] = {name: ids[:NAMED] for name, ids in result.beyond.items()}
        return {shard_file("positions", item["shard"]): Noted(result.to_table(), notes)}
