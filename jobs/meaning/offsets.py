"""The part `offsets` of `meaning`, which compares the counted words in every space of the model and the counts."""

from collections.abc import Iterator
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.engine.item import Item
from jobs.engine.progress import Progress
from jobs.meaning.job import MeaningConfig
from jobs.run_folder.run import Run
from jobs.stage.corpus_pass import CorpusPass, PassArgs, begin_pass, group_size
from jobs.stage.costs import PASSES
from jobs.stage.outputs import Noted, notes_of, read_partial
from jobs.stage.step import Steps
from ops import sampling, schema
from ops.corpus.read_shard import read_shard
from ops.errors import InputError, counted
from ops.figures.files import save_figures
from ops.meaning.counts import WORDS
from ops.meaning.figures import PAIRS, analogy_figures, known_pairs, offset_figures
from ops.meaning.offsets import (
    Analogies,
    AnalogyBootstrap,
    Judged,
    frequent_words,
    judge,
    neighbour_rows,
    space_names,
    spaces_by_name,
)
from ops.meaning.readers import WordReader, WordSums
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.storage.fingerprint import fingerprint
from ops.storage.tables import read_table

OFFSETS, NEIGHBOURS = "meaning/offsets", "meaning/neighbours"
ANALOGIES, DIFFERENCES = "meaning/analogies", "meaning/analogy_differences"


def compare(config: MeaningConfig, run: Run, facts: ModelFacts, tokenizer: Tokenizer, questions: Analogies) -> None:
    """Run the part: write its tables and figures; the words must have been counted."""
    depends_on = config.model_dump(include={"offset_words", "model_sample", "neighbours"})
    depends_on["analogies"] = fingerprint({"questions": questions})
    words = min(config.offset_words, run.require("meaning/counts")["counts"]["words"])
    group = group_size(len(run.shards()), 4 * words * facts.layers * facts.width)
    job = begin_pass(OFFSETS, config, run, facts, tokenizer, depends_on, per_group=group)
    if job is None:
        return
    spaces = len(space_names(facts.layers))
    notes = [f"compare at most {counted(words, 'word')} in {spaces} spaces"]
    rows = {NEIGHBOURS: spaces * words * config.neighbours}
    steps = offset_steps(config, words, tokenizer, questions, job)
    job.stage.complete(steps, rows, {"scored": job.sentences}, notes)


def offset_steps(
    config: MeaningConfig, words: int, tokenizer: Tokenizer, questions: Analogies, job: CorpusPass
) -> Steps:
    """Yield the step of the shards, merge them in order, compare the words in every space and return the counts."""
    args, facts, sentences = job.args, job.args.facts, job.sentences
    case = job.stage.run.require("meaning/counts")["config"]["word_case"]
    drawn = min(config.model_sample or sentences, sentences)
    reading = {"args": args, "words": words, "case": case, "drawn": drawn, "sentences": sentences}
    estimate = partial(job.seconds, passes=PASSES[OFFSETS] * drawn / sentences)
    yield [job.shard_step(WordStateReader, reading, estimate=estimate)]
    compared, vectors = frequent_words(read_table(args.store, WORDS), words)
    sums, read, unscored = WordSums(len(compared), facts.layers * facts.width), 0, 0
    # Read one file at a time, since each may hold a gigabyte; there are few files.
    for output in job.partials:
        table = read_partial(args.store, output)
        notes = notes_of(table)
        sums.merge_table(table)
        read, unscored = read + notes["read"], unscored + len(notes["unscored"])
    if read != drawn:
        raise RuntimeError(f"meaning: {drawn} sentences were to be read, and {read} were")
    if read == unscored:
        raise InputError("--model: gave no finite state for any sentence; try --dtype float32, or another model")
    names = space_names(facts.layers)
    judged: dict[str, Judged] = {}
    shown: dict[str, dict[str, Any]] = {figure: {} for figure in PAIRS}

    def neighbours() -> Iterator[pa.Table]:
        with Progress("meaning: compare", len(names), "spaces", 0, None) as progress:
            for space in spaces_by_name(compared, vectors, sums, facts, tokenizer):
                judged[space.name] = judge(space, questions, case)
                for figure in PAIRS:
                    shown[figure][space.name] = (space.name, *known_pairs(space, figure, case))
                yield pa.table(neighbour_rows(space, config.neighbours), schema=schema.schema(NEIGHBOURS))
                progress.add()

    pairs = job.stage.write(NEIGHBOURS, neighbours())
    outcomes = AnalogyBootstrap([judged[name] for name in names], questions, case, args.seed)
    accuracies = outcomes.rows()
    for name, rows in ((ANALOGIES, accuracies), (DIFFERENCES, outcomes.differences())):
        job.stage.write(name, schema.table(name, rows))
    ordered = {figure: [spaces[name] for name in names] for figure, spaces in shown.items()}
    analogies = analogy_figures(accuracies, names)
    figures = save_figures(args.store, "meaning/figures", offset_figures(ordered, facts.title))
    figures += save_figures(args.store, "meaning/figures", analogies, facts.title)
    if not analogies:
        job.stage.say(
            "no question of the analogies has its four words among those compared: no figure of their accuracy"
        )
    return {
        "sentences": sentences, "read": read, "scored": read - unscored, "unscored": unscored, "words": len(compared),
        "words_read": int((sums.count > 0).sum()), "neighbours": pairs,
        "questions": sum(map(len, questions.values())), "spaces": names, "figures": figures,
    }  # fmt: skip


class WordStateReader:
    """Adds up the states of words in groups of shards.

    It reads `drawn` of all `sentences`. Memory is 8 bytes for each word, layer and unit: 184 MB for 10,000 words with
    the packaged model.
    """

    def __init__(self, args: PassArgs, words: int, case: str, drawn: int, sentences: int) -> None:
        self.store = args.store
        self.draw = partial(sampling.draw, sentences, drawn, args.seed, sampling.MODEL_SAMPLE)
        compared, _ = frequent_words(read_table(args.store, WORDS), words)
        self.reader = WordReader(args.facts, Tokenizer(args.facts), words=compared, case=case, **args.arithmetic)

    def __call__(self, item: Item) -> Noted:
        """Read the drawn sentences of one group's shards, and return the words' mean states."""
        sums, unscored, read = WordSums(len(self.reader.numbers), self.reader.layers * self.reader.width), [], 0
        drawn = self.draw()
        for part in item["parts"]:
            ids, texts, n_tokens = read_shard(self.store, part)
            is_drawn = np.isin(ids, drawn)
            texts = list(compress(texts, is_drawn))
            unscored += self.reader.read(ids[is_drawn], texts, n_tokens[is_drawn], sums)
            read += len(texts)
        return Noted(sums.to_table(), {"read": read, "unscored": sorted(unscored)})
