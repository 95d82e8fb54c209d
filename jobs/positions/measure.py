"""The stage `positions`, which finds mean states in a pilot, measures the shards and writes the tables."""

import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.engine.item import Item
from jobs.engine.under_way import counting
from jobs.positions.job import PositionsConfig
from jobs.stage.corpus_pass import CorpusPass, PassArgs, measured_sentences, part_rows
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import PassEstimate
from jobs.stage.files import (
    notes_of,
    partial_file,
    read_partial,
    read_partials,
    shard_file,
    with_notes,
    write_partial,
)
from jobs.stage.run import Run
from jobs.stage.runner import Step
from jobs.stage.stages import STAGES
from ops import schema
from ops.corpus.read_shard import read_rows, take_sentences
from ops.errors import counted
from ops.mixing.token_classes import CLASSES, TokenClasses
from ops.model.batches import batch_lengths
from ops.model.numerics import set_numerics
from ops.model.tokenizer import Tokenizer
from ops.positions.compare import EDGES, REFERENCES
from ops.positions.encode import Encoder, Encoding, with_answers
from ops.positions.figures import draw_all
from ops.positions.labels import Labelled, check_labels, label_rows
from ops.positions.pairs import Panel
from ops.positions.partial_file import merge, to_table
from ops.positions.pilot import check_pilot, mean_states, pilot_size, pilot_table, read_pilot
from ops.positions.position_table import DECODERS
from ops.positions.reader import VariantReader
from ops.positions.shard import Batches, Means, PositionsScorer
from ops.positions.tables import corpus_tables
from ops.positions.variants import DEFAULT
from ops.sampling import LABELS, PILOT, draw
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE
from ops.storage.tables import part_name, write_part

NAMED = 100  # most texts that run.json names
PILOT_FILE = partial_file("positions", "pilot")
ROW_BYTES, VALUE_BYTES = 30, 16  # bytes of a row of the tables; bytes of a value of a group in a partial file
FIGURES_BYTES = 500_000


@dataclass(frozen=True)
class PositionsArgs(PassArgs):
    """The arguments of every worker."""

    variants: tuple[str, ...]
    shift: int
    encoding: Encoding
    answer_column: str | None

    def reader(self) -> VariantReader:
        """Return a reader that runs the model under every variant, on its device."""
        set_numerics(self.device, self.threads, self.dtype)
        return VariantReader.load(self.facts, self.device, self.dtype, self.shift, self.seed)

    def scorer(self, tokenizer: Tokenizer, limit: int, means: Means, panel: Panel) -> PositionsScorer:
        """Return the scorer of texts of at most `limit` tokens, given each variant's mean states and the panel."""
        classes, pad_id = TokenClasses(tokenizer), tokenizer.pad_id
        return PositionsScorer(self.reader(), classes, self.variants, means, panel, pad_id, limit, self.device)


def read_labels(config: PositionsConfig, record: Run) -> Labelled | None:
    """Return the texts with a label in a seeded uniform sample; None if no label was requested.

    Raises:
        InputError: no classifier can be fitted to these texts.
    """
    if config.label is None or not record.has_corpus:
        return None
    shards, sample = record.shards(), measured_sentences(config, record)
    drawn = draw(shards.sentences if sample is None else len(sample), config.label_texts, config.seed, LABELS)
    drawn = drawn if sample is None else sample[drawn]
    rows = read_rows(record.store, shards, drawn, ["sent_id", "dataset", "doc_id", "meta"])
    found = Labelled.of(rows, config.label)
    check_labels(config.label, found, config.seed, config.label_splits)
    return found


def steps(
    config: PositionsConfig, variants: tuple[str, ...], texts: Labelled | None, job: CorpusPass
) -> tuple[Step, Step]:
    """Return two steps: a pilot that finds each layer's mean state under every variant, and the pass over the shards.

    Args:
        config, job: the options and the pass.
        variants: the variants to measure.
        texts: the sentences of the label check, in the order of their ids; None without a label check.
    """
    encoding = Encoding(config.max_tokens, config.start_token)
    args = PositionsArgs(
        **vars(job.args), variants=variants, shift=config.shift, encoding=encoding, answer_column=config.answer_column
    )
    made, holds = {"args": args}, job.placement.holds
    chosen = draw(job.sentences, pilot_size(job.sentences), args.seed, PILOT)
    chosen = chosen if job.sample is None else job.sample[chosen]
    shares = [(i, ids.tolist()) for i, ids in enumerate(job.shards.split(chosen)) if len(ids)]
    item = {"parts": [part for part, _ in shares], "rows": [ids for _, ids in shares], "sentences": len(chosen)}
    pilot = Step("positions: pilot", [item], lambda _: [PILOT_FILE], PilotReader, made, holds=holds, actors=True)
    shards = job.shard_step(PositionsWorker, made, partial(prepare_shard, args=args))
    sampled = job.shards.split(np.array(texts.sent_ids if texts else [], np.int64))
    items = [{**item, "sample": sampled[item["shard"]].tolist()} for item in shards.items]
    return pilot, replace(shards, items=items)


def prepare_shard(item: Item, args: PositionsArgs) -> list[Any]:
    """Read and tokenize one shard; with GPUs, this runs on separate cores."""
    return list(batches(args, Encoder(args.facts, args.encoding), item))


def batches(args: PositionsArgs, encoder: Encoder, item: Item) -> Batches:
    """Return the batches of an item's sentences."""
    if encoder.is_plain and args.answer_column is None:
        tokens, budget, lengths = args.tokens(lambda: encoder.tokenizer), args.token_budget, batch_lengths(args.device)
        yield from (batch for part, ids in part_rows(item) for batch in tokens.batches(part, budget, lengths, ids))
        return
    meta = [] if args.answer_column is None else ["meta"]
    columns, tables = ["sent_id", "text", *meta], []
    for part, ids in part_rows(item):
        with args.store.parquet(part_name("corpus", part)) as file:
            tables.append(file.read(columns=columns) if ids is None else take_sentences(file, ids, columns))
    table = pa.concat_tables(tables)
    texts = table["text"].to_pylist()
    if args.answer_column is not None:
        texts = with_answers(texts, [row[args.answer_column] for row in table["meta"].to_pylist()])
    yield from encoder.batches(table["sent_id"].to_numpy(), texts, args.token_budget, batch_lengths(args.device))


class PilotReader:
    """Finds the mean states in a pilot and commits them, with the norms of the position embeddings."""

    def __init__(self, args: PositionsArgs) -> None:
        self.args, self.reader, self.encoder = args, args.reader(), Encoder(args.facts, args.encoding)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Read the pilot's texts and commit the results."""
        args = self.args
        parts = [{"parts": [part], "rows": [ids]} for part, ids in zip(item["parts"], item["rows"], strict=True)]
        texts = (batch for part in parts for batch in batches(args, self.encoder, part))
        pad_id = self.encoder.tokenizer.pad_id
        found = mean_states(self.reader, args.variants, texts, pad_id, args.device)
        check_pilot(found, args.shift, args.facts)
        table = pilot_table(found.means, found.panel, self.reader.positions.norms().numpy())
        write_partial(args.store, PILOT_FILE, table, args.fingerprint, {"texts": found.texts[DEFAULT]})
        return {"sentences": item["sentences"]}


class PositionsWorker:
    """Measures shards and commits a partial file for each shard."""

    def __init__(self, args: PositionsArgs) -> None:
        self.args, self.encoder = args, Encoder(args.facts, args.encoding)
        means, panel, _ = read_pilot(read_partial(args.store, PILOT_FILE))
        self.scorer = args.scorer(self.encoder.tokenizer, self.encoder.limit, means, panel)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure one shard and commit its partial file."""
        args, whole = self.args, item["sentences"]
        own = batches(args, self.encoder, item) if prepared is None else iter(prepared)
        result = self.scorer.measure_shard(counting(own), item["sample"])
        if result.scored + len(result.unscored) != whole:
            raise RuntimeError(
                f"positions: shard {item['shard']} has {whole} sentences; "
                f"{result.scored} were measured and {len(result.unscored)} not"
            )
        names = ("scored", "unscored", "truncated", "truncated_tokens", "tokens", "unpredicted")
        notes = {name: getattr(result, name) for name in names}
        notes["beyond"] = {name: len(ids) for name, ids in result.beyond.items()}
        notes["first_beyond"] = {name: ids[:NAMED] for name, ids in result.beyond.items()}
        write_partial(args.store, shard_file("positions", item["shard"]), to_table(result), args.fingerprint, notes)
        return {"sentences": whole}


def measure(
    config: PositionsConfig, variants: tuple[str, ...], texts: Labelled | None, job: CorpusPass
) -> dict[str, Any]:
    """Run the pilot, measure the shards, merge them in order, write tables and figures, and return the counts."""
    pilot_step, shards_step = steps(config, variants, texts, job)
    job.do_first(pilot_step)
    job.do(shards_step)
    store, facts = job.stage.store, job.args.facts
    notes: list[dict[str, Any]] = []
    shards = read_partials(store, job.partials, at_once=LARGE_FILES_AT_ONCE)
    totals, features = merge(with_notes(shards, notes), (DEFAULT, *variants))
    pilot = read_partial(store, PILOT_FILE)
    lost = sorted(i for note in notes for i in note["unscored"])
    scored = sum(note["scored"] for note in notes)
    added = ("tokens", "truncated", "truncated_tokens", "unpredicted")
    counts: dict[str, Any] = {name: sum(note[name] for note in notes) for name in added}
    counts |= {"variants": list(variants), "pilot_texts": notes_of(pilot)["texts"], "unscored_texts": lost[:NAMED]}
    beyond = {v: n for v in variants if (n := sum(note["beyond"][v] for note in notes))}
    first = {v: sorted(i for note in notes for i in note["first_beyond"][v])[:NAMED] for v in beyond}
    counts |= {"without_a_position": beyond, "texts_without_a_position": first}
    for variant, left_out in beyond.items():
        few = f"{counted(left_out, 'text')} of {scored:,}, too long for --shift {config.shift}"
        print(f"positions: {variant} leaves out {few}" + ("; so does --label" if texts else ""), file=sys.stderr)
    if scored:
        *_, norms = read_pilot(pilot)
        tables = corpus_tables(totals, facts, norms, config.seed)
        if config.label is not None and texts is not None:
            rows = label_rows(facts.name, config.label, texts, features, config.seed, config.label_splits)
            if not rows:
                print(
                    "positions: --label: too few texts are left for a classifier, so positions/labels has no rows",
                    file=sys.stderr,
                )
            tables["positions/labels"] = schema.table("positions/labels", rows)
        for name, table in tables.items():
            # An encoder predicts no tokens, so its tables of perplexities are not written.
            if table.num_rows or "perplexity" not in name:
                write_part(store, name, 0, table.schema, [table], job.stage.fingerprint)
        counts["figures"] = draw_all(store, tables, facts.title)
    return job.accounted(scored, len(lost), counts)


def plan(
    config: PositionsConfig, variants: tuple[str, ...], texts: Labelled | None, job: CorpusPass, record: DryRun
) -> Plan:
    """Return what the stage would do; without a corpus, the label check has no texts yet."""
    pilot_step, shards_step = steps(config, variants, texts, job)
    estimate, facts = PassEstimate(record, job, shards_step), job.args.facts
    timed = None
    if estimate.can_time:
        # The values of the means and the panel do not affect the time.
        means = dict.fromkeys((DEFAULT, *variants), np.zeros((facts.layers, facts.width), np.float32))
        panel = Panel(np.full(1, -1), np.zeros((facts.layers, 1, facts.width), np.float32))
        args: PositionsArgs = shards_step.args["args"]
        scorer = args.scorer(estimate.tokenizer, facts.position_limit, means, panel)
        timed = estimate.time(scorer.measure_shard)
    passes = 1 + len(variants)
    pilot = pilot_size(job.sentences) if job.stage.missing(pilot_step) else 0
    places = min(int(estimate.sample.n_tokens.max(initial=1)), config.max_tokens or facts.position_limit)
    groups = facts.layers * len(variants) * 2 * (places + len(CLASSES))
    histograms = facts.layers * passes * len(REFERENCES) * (len(EDGES) + 1)
    work = [estimate.work("measure"), f"each {passes} times: {', '.join((DEFAULT, *variants))}"]
    if pilot:
        work.insert(0, f"take the mean states of a pilot of {counted(pilot, 'sentence')}")
    if texts is not None:
        work.append(f"classify {counted(len(texts.labels), 'text')} by {counted(len(set(texts.labels)), 'label')}")
    left_out = [] if facts.model_type in DECODERS else ["positions/perplexity", "positions/perplexity_by_position"]
    left_out += [] if config.label is not None else ["positions/labels"]
    features = 0 if texts is None else len(texts.labels) * passes * facts.width * 4
    return Plan(
        work,
        None if timed is None else estimate.seconds(timed.seconds_for(estimate.sentences + pilot)),
        groups * ROW_BYTES + histograms * 2 + FIGURES_BYTES,
        len(job.numbers) * (groups * VALUE_BYTES + histograms * 2) + features,
        estimate.basis(timed),
        [table for table in STAGES["positions"].tables if table not in left_out],
        {"scored": job.sentences},
    )
