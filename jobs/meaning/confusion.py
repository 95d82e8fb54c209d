"""The part `confusion` of `meaning`, which blanks confusable words, runs the model and compares classifiers."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from jobs.engine.item import Item
from jobs.meaning.job import MeaningConfig, say
from jobs.stage.corpus_pass import CorpusPass, PassArgs, run_pass
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import PassEstimate, spread_seconds
from jobs.stage.files import partial_file, read_notes, read_partials, shard_file, with_notes, write_partial
from jobs.stage.run import Run
from jobs.stage.runner import Step
from ops import schema
from ops.errors import InputError, counted
from ops.meaning.blank_states import BlankReader
from ops.meaning.confusion import find_occurrences, from_which_layer, measure_set
from ops.meaning.confusion_examples import COLUMNS, Quota, Sets, examples_of, find_examples, places_of
from ops.meaning.confusion_figure import draw_confusion
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE
from ops.storage.tables import part_name, write_part

CONFUSION = "meaning/confusion"
TRAINED_S = 0.0007  # seconds of one core per example of 384 units and layer (measured on random numbers)
WORDS_BYTES, FIGURES_BYTES = 60, 300_000  # bytes of an example's words, and of the figures
TIMED = 200  # most blanks that are timed


@dataclass(frozen=True)
class ConfusionArgs(PassArgs):
    """The arguments of every worker; the quota applies to each set over all shards."""

    sets: Sets
    quota: Quota
    window: int
    shards: int


def confuse(
    config: MeaningConfig, record: Run, facts: ModelFacts, tokenizer: Tokenizer, sets: list[tuple[str, ...]]
) -> None:
    """Run the part: write meaning/confusion and its figure."""
    depends_on = {name: getattr(config, name) for name in ("window", "confusion_most", "confusion_states")}
    depends_on["confusion"] = ", ".join(" ".join(words) for words in sets)
    do, describe = partial(measure_sets, config, sets), partial(plan, config, sets)
    run_pass(CONFUSION, config, record, facts, tokenizer, depends_on, do, describe)


def confusion_args(config: MeaningConfig, sets: list[tuple[str, ...]], job: CorpusPass) -> ConfusionArgs:
    """Return the arguments of the workers."""
    quota = Quota(config.confusion_most, config.confusion_states, job.shards.sentences)
    return ConfusionArgs(**vars(job.args), sets=tuple(sets), quota=quota, window=config.window, shards=len(job.shards))


def blank_reader(args: ConfusionArgs, tokenizer: Tokenizer) -> BlankReader:
    """Return a reader that computes the model's states at blanked words."""
    return BlankReader(args.facts, tokenizer, args.device, args.dtype, args.threads, args.token_budget)


class BlankFinder:
    """Finds the words of confusion sets in shards, and computes the model's states at the blanks in their places."""

    def __init__(self, args: ConfusionArgs) -> None:
        self.args = args
        self.reader = blank_reader(args, Tokenizer(args.facts))

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Process one shard and commit its examples."""
        args = self.args
        (part,) = item["parts"]
        with args.store.parquet(part_name("corpus", part)) as file:
            table = file.read(columns=COLUMNS)
        found, notes = find_examples(table, args.sets, self.reader, args.quota, args.window, args.seed)
        write_partial(args.store, shard_file(CONFUSION, item["shard"]), found, args.fingerprint, notes)
        return {"sentences": table.num_rows}


def sets_step(args: ConfusionArgs) -> Step:
    """Return the step that trains and tests the classifiers of every confusion set."""
    items = [{"set": i} for i in range(len(args.sets))]
    return Step(
        "meaning: confusion", items, lambda item: [partial_file(CONFUSION, "set", item["set"])], SetMeasurer,
        {"args": args}, "sets",
    )  # fmt: skip


class SetMeasurer:
    """Measures confusion sets."""

    def __init__(self, args: ConfusionArgs) -> None:
        self.args = args

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Train and test the classifiers of one confusion set and commit the results."""
        args, number = self.args, item["set"]
        outputs = [shard_file(CONFUSION, i) for i in range(args.shards)]
        shards = read_partials(args.store, outputs, at_once=LARGE_FILES_AT_ONCE)
        examples = examples_of(number, shards, args.facts.layers, args.facts.width)
        rows, not_converged = measure_set(" ".join(args.sets[number]), examples, args.seed)
        found = schema.table(CONFUSION, rows)
        notes = {"not_converged": not_converged}
        write_partial(args.store, partial_file(CONFUSION, "set", number), found, args.fingerprint, notes)
        return {"set": number}


def measure_sets(config: MeaningConfig, sets: list[tuple[str, ...]], job: CorpusPass) -> dict[str, Any]:
    """Do the missing items of the steps, write meaning/confusion and its figure, and return the counts.

    Raises:
        InputError: the user named the sets, but no set has examples of two words in enough documents.
    """
    args = confusion_args(config, sets, job)
    job.do(job.shard_step(BlankFinder, {"args": args}))
    step = sets_step(args)
    job.stage.do(step)
    store, names = args.store, [" ".join(words) for words in args.sets]
    outputs = [output for item in step.items for output in step.outputs(item)]
    measured: list[dict[str, Any]] = []
    tables = [table.replace_schema_metadata(None) for table in with_notes(read_partials(store, outputs), measured)]
    table = schema.concatenate(CONFUSION, tables)
    rows = table.to_pylist()
    notes = read_notes(store, job.partials)
    found = np.sum([note["found"] for note in notes], 0).tolist()
    left_out = [name for name in names if not any(row["set"] == name for row in rows)]
    if config.confusion and len(left_out) == len(names):
        raise InputError(
            f"--confusion: {names[0]!r} occurs {found[0]} times: too rarely, as only one of its words, or in too few "
            "documents to train and test on; give other sets, or leave the part out of --parts"
        )
    ordered = schema.table(CONFUSION, table)
    write_part(store, CONFUSION, 0, ordered.schema, [ordered], args.fingerprint)
    own = {name: [r for r in rows if r["set"] == name] for name in names}
    layers, alike = ({n: from_which_layer(r, args.facts.layers, a) for n, r in own.items()} for a in (False, True))
    if left_out:
        say(f"too few examples, or examples of only one word, so skipped: {', '.join(left_out)}")
    not_converged = sum(note["not_converged"] for note in measured)
    if not_converged:
        say(f"{counted(not_converged, 'classifier')} of confusion sets did not converge")
    sentences = job.shards.sentences
    return {
        "sentences": sentences, "scored": sentences, "found": dict(zip(names, found, strict=True)),
        "left_out": left_out, "state_beats_words_from": layers, "state_beats_words_from_at_equal_n": alike,
        "not_finite": sum(note["not_finite"] for note in notes), "not_converged": not_converged,
        "figures": draw_confusion(store, rows, args.facts.title) if rows else [],
    }  # fmt: skip


def plan(config: MeaningConfig, sets: list[tuple[str, ...]], job: CorpusPass, record: DryRun) -> Plan:
    """Return what the part would do."""
    args = confusion_args(config, sets, job)
    facts, sentences = args.facts, job.shards.sentences
    estimate = PassEstimate(record, job, job.shard_step(BlankFinder, {"args": args}))
    texts, places = estimate.sample.texts, places_of(args.sets)
    found = [(text, o) for text in texts for o in find_occurrences(text, places)]
    each = [sum(o.set == i for _, o in found) * sentences / len(texts) for i in range(len(args.sets))]
    examples = round(sum(min(n, args.quota.most) for n in each))
    stated = round(sum(min(n, args.quota.stated) for n in each))
    seconds, basis = None, estimate.basis(None)
    if estimate.can_time:
        reader = blank_reader(args, estimate.tokenizer)
        some = found[:: max(len(found) // TIMED, 1)]
        blanks = reader.blanks([text for text, _ in some], [(o.start, o.stop) for _, o in some])
        started = time.perf_counter()
        reader.read([blank for blank in blanks if blank is not None])
        taken = time.perf_counter() - started
        seconds = estimate.seconds(taken / max(len(some), 1) * stated * estimate.sentences / sentences)
        missing = job.stage.missing(sets_step(args))
        seconds += spread_seconds(record, len(missing), job.stage.workers, TRAINED_S * stated * facts.layers)
        basis = [f"timed {counted(len(some), 'sentence')} with a blank in {taken:.1f} s on {args.device}"]
    return Plan(
        [
            estimate.work("look through"),
            f"blank about {counted(examples, 'word')} of {counted(len(args.sets), 'confusion set')}, "
            f"{stated:,} of them for the model",
        ],
        seconds,
        FIGURES_BYTES,
        examples * WORDS_BYTES + stated * 4 * facts.layers * facts.width,
        basis,
        counts={"scored": sentences},
    )
