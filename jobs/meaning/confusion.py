"""The part `confusion` of `meaning`, which blanks confusable words, runs the model and compares classifiers."""

from functools import partial
from typing import Any

import numpy as np

from jobs.engine.item import Item
from jobs.meaning.job import MeaningConfig
from jobs.run_folder.run import Run
from jobs.stage.corpus_pass import CorpusPass, PassArgs, begin_pass
from jobs.stage.costs import PASSES
from jobs.stage.outputs import Noted, Output, file_of, read_notes, read_partials, with_notes
from jobs.stage.step import Step, Steps
from ops import schema
from ops.errors import InputError, counted
from ops.figures.files import save_figures
from ops.meaning.confusion import COLUMNS, Sets, examples_of, find_examples, from_which_layer, measure_set
from ops.meaning.figures import confusion_figure
from ops.meaning.readers import BlankReader
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE
from ops.storage.tables import part_name

CONFUSION = "meaning/confusion"


def confuse(config: MeaningConfig, run: Run, facts: ModelFacts, tokenizer: Tokenizer, sets: Sets) -> None:
    """Run the part: write meaning/confusion and its figure."""
    depends_on = config.model_dump(include={"window", "confusion_most", "confusion_states"})
    depends_on["confusion"] = ", ".join(" ".join(words) for words in sets)
    job = begin_pass(CONFUSION, config, run, facts, tokenizer, depends_on)
    if job is not None:
        job.stage.complete(confusion_steps(config, sets, job), counts={"scored": job.sentences})


def confusion_steps(config: MeaningConfig, sets: Sets, job: CorpusPass) -> Steps:
    """Yield the steps, write meaning/confusion and its figure, and return the counts.

    Raises:
        InputError: the user named the sets, but no set has examples of two words in enough documents.
    """
    args, facts = job.args, job.args.facts
    # How many words are blanked is not known before the corpus is read; here, at most one in each sentence is.
    blanks = min(config.confusion_states * len(sets), job.sentences)
    estimate = partial(job.seconds, passes=PASSES[CONFUSION] * blanks / job.sentences)
    finding = {"args": args, "config": config, "sets": sets, "sentences": job.sentences}
    names = [" ".join(words) for words in sets]
    measured = Step(
        name="meaning: confusion", items=[{"set": i, "name": name} for i, name in enumerate(names)],
        outputs=file_of(CONFUSION, "set"), worker=measure, args={"args": args, "files": job.partials}, unit="sets",
        amount=blanks * facts.layers * facts.width,
    )  # fmt: skip
    yield [job.shard_step(BlankFinder, finding, estimate=estimate), measured]
    set_notes: list[dict[str, Any]] = []
    partials = with_notes(read_partials(args.store, measured.files), set_notes)
    table = schema.concatenate(CONFUSION, partials)
    rows = table.to_pylist()
    notes = read_notes(args.store, job.partials)
    occurrences = np.sum([note["found"] for note in notes], 0).tolist()
    rows_of = {name: [row for row in rows if row["set"] == name] for name in names}
    left_out = [name for name, own_rows in rows_of.items() if not own_rows]
    if config.confusion and len(left_out) == len(names):
        raise InputError(
            f"--confusion: {names[0]!r} occurs {occurrences[0]} times: too rarely, as only one of its words, or in too "
            "few documents to train and test on; give other sets, or leave the part out of --parts"
        )
    job.stage.write(CONFUSION, schema.table(CONFUSION, table))
    layers, alike = (
        {name: from_which_layer(own_rows, facts.layers, equal) for name, own_rows in rows_of.items()}
        for equal in (False, True)
    )
    if left_out:
        job.stage.say(f"too few examples, or examples of only one word, so skipped: {', '.join(left_out)}")
    not_converged = sum(note["not_converged"] for note in set_notes)
    if not_converged:
        job.stage.say(f"{counted(not_converged, 'classifier')} of confusion sets did not converge")
    figures = {"confusion_accuracy": confusion_figure(rows)} if rows else {}
    return {
        "sentences": job.sentences, "scored": job.sentences, "found": dict(zip(names, occurrences, strict=True)),
        "left_out": left_out, "state_beats_words_from": layers, "state_beats_words_from_at_equal_n": alike,
        "not_finite": sum(note["not_finite"] for note in notes), "not_converged": not_converged,
        "figures": save_figures(args.store, "meaning/confusion_figures", figures, facts.title),
    }  # fmt: skip


class BlankFinder:
    """Finds the words of confusion sets in shards, and computes the model's states at the blanks in their places."""

    def __init__(self, args: PassArgs, config: MeaningConfig, sets: Sets, sentences: int) -> None:
        self.store, self.config, self.sets, self.sentences = args.store, config, sets, sentences
        self.reader = BlankReader(args.facts, Tokenizer(args.facts), **args.arithmetic)

    def __call__(self, item: Item) -> Noted:
        """Find the examples in one shard, which has its share of the corpus's examples, rounded up."""
        (part,), config = item["parts"], self.config
        with self.store.parquet(part_name("corpus", part)) as file:
            table = file.read(columns=COLUMNS)
        most, most_states = (
            -(-limit * table.num_rows // self.sentences) for limit in (config.confusion_most, config.confusion_states)
        )
        examples, notes = find_examples(table, self.sets, self.reader, most, most_states, config.window, config.seed)
        return Noted(examples, notes)


def measure(item: Item, args: PassArgs, files: list[Output]) -> Noted:
    """Train and test the classifiers of one confusion set on the examples in the files of all shards."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    shards = read_partials(args.store, files, at_once=LARGE_FILES_AT_ONCE)
    examples = examples_of(item["set"], shards, args.facts.layers, args.facts.width)
    # The regressions are small: more threads would only wait for each other.
    with threadpool_limits(1):
        rows = measure_set(item["name"], examples, args.seed)
    notes = {"not_converged": sum(not row["converged"] for row in rows)}
    return Noted(schema.table(CONFUSION, rows), notes)
