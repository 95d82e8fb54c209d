"""The part `offsets` of `meaning`, which compares the counted words in every space of the model and the counts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.engine.progress import Progress
from jobs.meaning.job import MeaningConfig, say
from jobs.stage.corpus_pass import CorpusPass, PassArgs, run_pass
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import PassEstimate
from jobs.stage.files import notes_of, read_partial, shard_file, write_partial
from jobs.stage.run import Run
from ops import sampling, schema
from ops.corpus.read_shard import read_shard
from ops.errors import InputError, counted
from ops.meaning.analogies import Analogies
from ops.meaning.analogy_intervals import AnalogyBootstrap
from ops.meaning.figures import PAIRS, any_known, draw_all, known_pairs
from ops.meaning.offsets import Judged, judge, neighbour_rows
from ops.meaning.vocabulary import count_words
from ops.meaning.word_spaces import frequent_words, space_names, spaces_by_name
from ops.meaning.word_states import WordReader, WordSums
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer, Tokens
from ops.shards import Ids
from ops.storage.fingerprint import fingerprint
from ops.storage.store import Store
from ops.storage.tables import read_table, write_part

OFFSETS, NEIGHBOURS = "meaning/offsets", "meaning/neighbours"
ANALOGIES, DIFFERENCES = "meaning/analogies", "meaning/analogy_differences"
PARTIALS_BYTES = 16e9
NEIGHBOUR_BYTES, FIGURES_BYTES = 14, 400_000
# One core finds the neighbours of WORDS words of 384 units in SPACE_S seconds (measured).
SPACE_S, WORDS = 5.0, 10_000


@dataclass(frozen=True)
class OffsetArgs(PassArgs):
    """The arguments of every worker; `drawn` of the `sentences` sentences are read."""

    words: int
    case: str
    drawn: int
    sentences: int


def compare(config: MeaningConfig, record: Run, facts: ModelFacts, tokenizer: Tokenizer, questions: Analogies) -> None:
    """Run the part: write its tables and figures; the words must have been counted."""
    depends_on = {name: getattr(config, name) for name in ("offset_words", "model_sample", "neighbours")}
    run_pass(
        OFFSETS,
        config,
        record,
        facts,
        tokenizer,
        {**depends_on, "analogies": fingerprint({"questions": questions.questions})},
        partial(compare_words, config, tokenizer, questions),
        partial(plan, config),
        group_size(record, facts, config.offset_words),
    )


def group_size(record: Run, facts: ModelFacts, most: int) -> int:
    """Return how many shards share a partial file of word states, so that all files together stay below 16 GB."""
    words = min(most, record.require("meaning/counts")["counts"]["words"])
    shards = len(record.shards())
    return -(-shards // max(int(PARTIALS_BYTES // (4 * max(words, 1) * facts.layers * facts.width)), 1))


def offset_args(config: MeaningConfig, job: CorpusPass) -> OffsetArgs:
    """Return the arguments of the workers."""
    known = job.stage.record.require("meaning/counts")
    sentences = job.shards.sentences
    return OffsetArgs(
        **vars(job.args),
        words=min(config.offset_words, known["counts"]["words"]),
        case=known["config"]["word_case"],
        drawn=min(config.model_sample or sentences, sentences),
        sentences=sentences,
    )


def read_words(store: Store, most: int) -> tuple[list[str], np.ndarray]:
    """Return the words that are compared, and their vectors from the counts."""
    return frequent_words(read_table(store, "meaning/words"), most)


def word_reader(args: OffsetArgs, tokenizer: Tokenizer, words: list[str]) -> WordReader:
    """Return a reader that adds up the model's states of words."""
    return WordReader(args.facts, tokenizer, args.device, args.dtype, args.threads, args.token_budget, words, args.case)


class WordStateReader:
    """Adds up the states of words in groups of shards.

    Memory is 8 bytes for each word, layer and unit: 184 MB for 10,000 words with the packaged model.
    """

    def __init__(self, args: OffsetArgs) -> None:
        self.args = args
        words, _ = read_words(args.store, args.words)
        self.reader = word_reader(args, Tokenizer(args.facts), words)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Read the drawn sentences of one group's shards and commit the words' mean states."""
        args, number = self.args, item["shard"]
        first, stop = item["span"]
        drawn = sampling.draw(args.sentences, args.drawn, args.seed, sampling.MODEL_SAMPLE)
        drawn = drawn[np.searchsorted(drawn, first) : np.searchsorted(drawn, stop)]
        sums, lost, read = self.reader.empty(), [], 0
        for part in item["parts"]:
            ids, texts, n_tokens = read_shard(args.store, part)
            own = np.isin(ids, drawn)
            texts = [text for text, wanted in zip(texts, own, strict=True) if wanted]
            lost += self.reader.read((ids[own], texts, n_tokens[own]), sums)
            read += len(texts)
        if read != len(drawn):
            raise RuntimeError(f"meaning: {len(drawn)} sentences were drawn of group {number}, and {read} read")
        notes = {"read": read, "unscored": sorted(lost)}
        write = partial(pq.write_table, compression="zstd", use_dictionary=False)
        write_partial(args.store, shard_file(OFFSETS, number), sums.to_table(), args.fingerprint, notes, write)
        return {"sentences": stop - first}


def compare_words(config: MeaningConfig, tokenizer: Tokenizer, questions: Analogies, job: CorpusPass) -> dict[str, Any]:
    """Read the shards, merge them in order, compare the words in every space, draw figures, and return the counts."""
    args = offset_args(config, job)
    job.do(job.shard_step(WordStateReader, {"args": args}))
    store, facts = args.store, args.facts
    words, vectors = read_words(store, args.words)
    sums, read, lost = WordSums(len(words), facts.layers * facts.width), 0, 0
    # Read one file at a time, since each may hold a gigabyte; there are few files.
    for output in job.partials:
        table = read_partial(store, output)
        notes = notes_of(table)
        sums.merge_table(table)
        read, lost = read + notes["read"], lost + len(notes["unscored"])
    if read != args.drawn:
        raise RuntimeError(f"meaning: {args.drawn} sentences were to be read, and {read} were")
    if read == lost:
        raise InputError("--model: gave no finite state for any sentence; try --dtype float32, or another model")
    names = space_names(facts.layers)
    judged: dict[str, Judged] = {}
    shown: dict[str, dict[str, Any]] = {name: {} for name in PAIRS}

    def neighbours() -> Iterator[pa.Table]:
        with Progress("meaning: compare", len(names), "spaces", 0, None) as progress:
            for space in spaces_by_name(words, vectors, sums, facts, tokenizer):
                judged[space.name] = judge(space, questions, args.case)
                for figure in PAIRS:
                    shown[figure][space.name] = (space.name, *known_pairs(space, figure, args.case))
                found = pa.table(neighbour_rows(space, config.neighbours), schema=schema.schema(NEIGHBOURS))
                step = schema.group_rows(NEIGHBOURS)
                yield from (found.slice(first, step) for first in range(0, found.num_rows, step))
                progress.add()

    pairs = write_part(store, NEIGHBOURS, 0, schema.schema(NEIGHBOURS), neighbours(), args.fingerprint)
    outcomes = AnalogyBootstrap([judged[name] for name in names], questions, args.case, args.seed)
    rows = outcomes.rows()
    for table, found in ((ANALOGIES, rows), (DIFFERENCES, outcomes.differences())):
        data = schema.table(table, found)
        write_part(store, table, 0, data.schema, [data], args.fingerprint)
    ordered = {figure: [found[name] for name in names] for figure, found in shown.items()}
    figures = draw_all(store, ordered, rows, names, facts.title)
    if not any_known(rows):
        say("no question of the analogies has its four words among those compared: no figure of their accuracy")
    return {
        "sentences": args.sentences, "read": read, "scored": read - lost, "unscored": lost, "words": len(words),
        "words_read": int((sums.count > 0).sum()), "neighbours": pairs,
        "questions": sum(map(len, questions.questions.values())), "spaces": names, "figures": figures,
    }  # fmt: skip


def plan(config: MeaningConfig, job: CorpusPass, record: DryRun) -> Plan:
    """Return what the part would do."""
    args = offset_args(config, job)
    facts, spaces = args.facts, args.facts.layers + 2
    estimate = PassEstimate(record, job, job.shard_step(WordStateReader, {"args": args}))
    sample, share = estimate.sample, args.drawn / args.sentences
    words = count_words(sample.texts, args.case)["word"].to_pylist()[: args.words]
    timed = seconds = None
    if estimate.can_time:
        reader = word_reader(args, estimate.tokenizer, words)
        sums, places = reader.empty(), {int(i): row for row, i in enumerate(sample.sent_ids)}

        def read(batches: Iterator[tuple[Ids, Sequence[Tokens]]]) -> None:
            for ids, _ in batches:
                reader.read_batch([sample.texts[places[int(i)]] for i in ids], sums)

        timed = estimate.time(read)
        seconds = estimate.seconds(timed.seconds_for(round(share * estimate.sentences)))
        seconds += spaces * SPACE_S * (args.words / WORDS) ** 2 if estimate.missing else 0.0
    return Plan(
        [
            estimate.work("read") + (f", a sample of {args.drawn:,} of all" if share < 1 else ""),
            f"compare {counted(args.words, 'word')} in {spaces} spaces",
        ],
        seconds,
        spaces * args.words * config.neighbours * NEIGHBOUR_BYTES + FIGURES_BYTES,
        len(job.shards) * min(args.words, len(words)) * 4 * facts.layers * facts.width,
        estimate.basis(timed),
        counts={"scored": args.drawn},
    )
