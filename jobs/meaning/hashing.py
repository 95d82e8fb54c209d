"""The part `hashing` of `meaning`, which makes codes of every size from sentence states and measures them."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from jobs.engine.item import Item
from jobs.meaning.job import MeaningConfig, check_layer, say
from jobs.meaning.sentences import sentence_reader
from jobs.stage.corpus_pass import CorpusPass, PassArgs, run_pass
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import PassEstimate, spread_seconds
from jobs.stage.files import Output, partial_file, read_partial, read_partials, shard_file, write_partial
from jobs.stage.run import Run
from jobs.stage.runner import Step
from ops import schema
from ops.corpus.read_shard import read_rows
from ops.errors import InputError, counted
from ops.meaning.codes import IN_THE_PLANE, HashedStates, methods_and_sizes
from ops.meaning.hashed_sentences import Drawn, label_drawn, names_of, no_sentences
from ops.meaning.hashing_figures import draw_hashing
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.sampling import HASHED, draw
from ops.schema import meta_keys
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE
from ops.storage.tables import part_name, write_part

HASHING, PLANE = "meaning/hashing", "meaning/plane"
CHOSEN = partial_file(HASHING, "chosen")
ROW_BYTES, FIGURES_BYTES = 12, 400_000
TRAINED_S = 4e-5  # seconds of one core per sentence of 384 units, epoch and autoencoder (measured)


@dataclass(frozen=True)
class HashArgs(PassArgs):
    """The arguments of every worker: the layer to read, the neighbours per query, and the autoencoders' epochs."""

    layer: int
    neighbours: int
    epochs: int
    shards: int


def compress(config: MeaningConfig, record: Run, facts: ModelFacts, tokenizer: Tokenizer, drawn: Drawn) -> None:
    """Run the part: write meaning/hashing, meaning/plane and their figures."""
    layer = check_layer(config.hash_layer, facts)
    if len(drawn.sent_ids) and not drawn.labels:
        say("skipped: hashing (no topic, category or dataset with two classes; give another column with --label)")
        return
    names = ("hashed_sentences", "hash_neighbours", "epochs", "label")
    depends_on = {"hash_layer": layer, **{name: getattr(config, name) for name in names}}
    do, describe = partial(hash_all, config, layer, drawn), partial(plan, config, layer)
    run_pass(HASHING, config, record, facts, tokenizer, depends_on, do, describe)


def draw_labelled(config: MeaningConfig, record: Run) -> Drawn:
    """Return a seeded uniform sample of sentences with their classes; empty in a dry run without a corpus.

    Raises:
        InputError: the requested label has fewer than two classes, or the corpus is damaged.
    """
    if not record.has_corpus:
        return no_sentences()
    record.check_files("ingest", footers=True)
    shards = record.shards()
    drawn = draw(shards.sentences, config.hashed_sentences, config.seed, HASHED)
    with record.store.parquet(part_name("corpus", 0)) as file:
        meta = ["meta"] if meta_keys(file.schema_arrow) else []
    tables = read_rows(record.store, shards, drawn, ["sent_id", "dataset", "doc_id", *meta])
    return label_drawn(drawn, tables, config.label, config.seed)


def hash_args(config: MeaningConfig, layer: int, job: CorpusPass) -> HashArgs:
    """Return the arguments of the workers."""
    return HashArgs(
        **vars(job.args), layer=layer, neighbours=config.hash_neighbours, epochs=config.epochs, shards=len(job.shards)
    )


def state_step(job: CorpusPass, args: HashArgs, drawn: np.ndarray) -> Step:
    """Return the step in which the model reads the drawn sentences of every shard."""
    step, shares = job.shard_step(SentenceStateReader, {"args": args}), job.shards.split(drawn)
    items = [{**item, "rows": shares[item["shard"]].tolist()} for item in step.items]
    return replace(step, items=items, work=("sentences", len(drawn)))


class SentenceStateReader:
    """Runs the model on the drawn sentences of shards and commits their states in one layer."""

    def __init__(self, args: HashArgs) -> None:
        self.args = args
        tokenizer = Tokenizer(args.facts)
        self.tokens, self.reader = args.tokens(lambda: tokenizer), sentence_reader(args, tokenizer)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Run the model on the drawn sentences of one shard and commit their states."""
        args, rows = self.args, np.array(item["rows"], np.int64)
        _, tokens = self.tokens.read(item["shard"], rows)
        states = self.reader.read(tokens, [args.layer])[:, 0]
        write_partial(args.store, shard_file(HASHING, item["shard"]), write_arrays(states=states), args.fingerprint)
        return {"sentences": len(rows)}


def read_states(args: HashArgs) -> np.ndarray:
    """Return the states of all drawn sentences in the order of the sentences, `[sentences, width]` float32."""
    outputs = [shard_file(HASHING, shard) for shard in range(args.shards)]
    tables = read_partials(args.store, outputs, at_once=LARGE_FILES_AT_ONCE)
    return np.concatenate([read_arrays(table)["states"] for table in tables])


def codes_step(args: HashArgs) -> Step:
    """Return the step that makes and measures codes: one item per method and size, and one for the full states."""
    items = [{"method": method, "size": size} for method, size in methods_and_sizes(args.facts.width)]
    return Step("meaning: codes", items, codes_files, CodeMeasurer, {"args": args}, "codes")


def codes_files(item: Item) -> list[Output]:
    """Return the files of a method and size; methods with two dimensions also have a file of places in the plane."""
    kinds = ["plane", "codes"] if item["size"] == IN_THE_PLANE else ["codes"]
    return [partial_file(HASHING, f"{kind}-{item['method']}-{item['size']}") for kind in kinds]


class CodeMeasurer:
    """Makes and measures the codes of methods and sizes."""

    def __init__(self, args: HashArgs) -> None:
        torch.set_num_threads(1)
        self.args = args
        self.hashed = HashedStates(Drawn.from_table(read_partial(args.store, CHOSEN)), read_states(args), args.seed)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Make the codes of one method and size, measure them and commit the results."""
        args, method, size = self.args, item["method"], item["size"]
        codes = self.hashed.codes(method, size, args.epochs)
        *plane, measured = codes_files(item)
        for output in plane:
            write_partial(args.store, output, self.hashed.plane(codes, method), args.fingerprint)
        rows = self.hashed.rows(codes, method, size, args.neighbours)
        write_partial(args.store, measured, rows, args.fingerprint)
        return {"method": method}


def hash_all(config: MeaningConfig, layer: int, drawn: Drawn, job: CorpusPass) -> dict[str, Any]:
    """Do the missing items of the steps, write meaning/hashing, meaning/plane and the figures; return the counts.

    Raises:
        InputError: no two classes are on both sides of the split of the documents.
    """
    args = hash_args(config, layer, job)
    if not CHOSEN.is_whole(args.store, args.fingerprint):
        write_partial(args.store, CHOSEN, drawn.to_table(), args.fingerprint)
    job.do(state_step(job, args, drawn.sent_ids))
    step = codes_step(args)
    job.stage.do(step)
    outputs = [codes_files(item) for item in step.items]
    rows = _together(HASHING, args, [own[-1] for own in outputs])
    places = _together(PLANE, args, [own[0] for own in outputs if len(own) > 1])
    if not rows.num_rows:
        raise InputError("--label: no two classes are in the documents on both sides; raise --hashed-sentences")
    write_part(args.store, HASHING, 0, rows.schema, [rows], args.fingerprint)
    write_part(args.store, PLANE, 0, places.schema, [places], args.fingerprint)
    coloured = min(drawn.labels, key=lambda label: len(label.classes))
    by_id = dict(zip(drawn.sent_ids.tolist(), names_of(coloured), strict=True))
    shown = places.to_pylist()
    classes = [by_id[row["sent_id"]] for row in shown]
    figures = draw_hashing(args.store, rows.to_pylist(), shown, classes, coloured.name, args.facts.title)
    kept = int(np.isfinite(read_states(args)).all(1).sum())
    return {
        "sentences": job.shards.sentences, "scored": kept, "unscored": len(drawn.sent_ids) - kept,
        "held_out": int(drawn.tested.sum()), "layer": args.layer,
        "classes": {label.name: len(label.classes) for label in drawn.labels}, "figures": figures,
    }  # fmt: skip


def _together(name: str, args: HashArgs, outputs: list[Output]) -> pa.Table:
    # A model with at most two units has no codes of two dimensions.
    tables = (table.replace_schema_metadata(None) for table in read_partials(args.store, outputs))
    return schema.table(name, schema.concatenate(name, tables))


def plan(config: MeaningConfig, layer: int, job: CorpusPass, record: DryRun) -> Plan:
    """Return what the part would do."""
    args = hash_args(config, layer, job)
    ids = draw(job.shards.sentences, config.hashed_sentences, args.seed, HASHED)
    read, codes = len(ids), codes_step(args)
    estimate = PassEstimate(record, job, state_step(job, args, ids))
    timed = seconds = None
    if estimate.can_time:
        reader = sentence_reader(args, estimate.tokenizer)
        timed = estimate.time(lambda batches: [reader.read(list(tokens), [layer]) for _, tokens in batches])
        share = estimate.sentences / max(job.shards.sentences, 1)
        seconds = estimate.seconds(timed.seconds_for(round(read * share)))
        trained = 2 * TRAINED_S * args.epochs * read * args.facts.width / 384
        seconds += spread_seconds(record, len(codes.items), job.stage.workers, trained * len(codes.items) / 2)
    work = [
        f"read {counted(read, 'sentence')}, a uniform sample",
        f"make and measure {counted(len(codes.items), 'code')}",
    ]
    kept, partials = FIGURES_BYTES + read * ROW_BYTES, read * 4 * args.facts.width
    return Plan(work, seconds, kept, partials, estimate.basis(timed), counts={"scored": read})
