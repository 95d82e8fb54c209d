"""The step of the offsets of `meaning`: the model reads the words that were counted."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.stage.corpus_pass import CorpusPass, PassArgs
from jobs.stage.layout import shard_file
from jobs.stage.meaning_config import MeaningConfig
from jobs.stage.run import Run
from jobs.stage.runner import Step
from ops import sampling
from ops.corpus.read_shard import read_shard
from ops.meaning.analogies import Analogies
from ops.meaning.word_states import WordReader
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.shards import Shards
from ops.storage.fingerprint import fingerprint
from ops.storage.tables import read_table

OFFSETS = "meaning/offsets"
PARTIALS_BYTES = 16e9


@dataclass(frozen=True)
class OffsetArgs(PassArgs):
    """What every worker is made from; `drawn` sentences of `sentences` are read."""

    words: int
    case: str
    drawn: int
    sentences: int


def identity(config: MeaningConfig, questions: Analogies) -> dict[str, Any]:
    """Return what the offsets depend on besides the corpus, the model and the counts."""
    names = ("offset_words", "model_sample", "neighbours")
    asked = fingerprint({"questions": questions.questions})
    return {**{name: getattr(config, name) for name in names}, "analogies": asked}


def group_size(record: Run, facts: ModelFacts, most: int) -> int:
    """Return how many shards share a partial file, which holds each word's states, so that all stay below 16 GB."""
    corpus, words = record.require("ingest"), min(most, record.require("meaning/counts")["counts"]["words"])
    shards = len(Shards(corpus["counts"]["sentences"], corpus["config"]["shard_size"]))
    return -(-shards // max(int(PARTIALS_BYTES // (4 * words * facts.layers * facts.width)), 1))


def offset_args(job: CorpusPass, most: int, drawn: int | None) -> OffsetArgs:
    """Return what the workers are made from.

    Args:
        job: the pass.
        most: most words that are compared.
        drawn: most sentences that are read; None for all.
    """
    counted = job.stage.record.require("meaning/counts")
    sentences = job.shards.sentences
    return OffsetArgs(
        **vars(job.args),
        words=min(most, counted["counts"]["words"]),
        case=counted["config"]["word_case"],
        drawn=min(drawn or sentences, sentences),
        sentences=sentences,
    )


def read_step(job: CorpusPass, args: OffsetArgs) -> Step:
    """Return the step in which the model reads the shards."""
    return job.shard_step(StateReader, {"args": args})


def frequent_words(args: OffsetArgs) -> tuple[list[str], np.ndarray]:
    """Return the words that are compared, by descending count and then by word, and their vectors of the counts."""
    table = read_table(args.store, "meaning/words").combine_chunks()
    order = np.lexsort((np.arange(table.num_rows), -table["count"].to_numpy()))[: args.words]
    chosen = table.take(pa.array(order))
    vectors = np.concatenate([c.flatten().to_numpy() for c in chosen["vector"].chunks]).reshape(len(order), -1)
    return chosen["word"].to_pylist(), vectors


class StateReader:
    """Adds up the states of words in one group of shards after another.

    Takes 8 bytes for each word, layer and unit: 184 MB for 10,000 words of the packaged model.
    """

    def __init__(self, args: OffsetArgs) -> None:
        self.args, self.store = args, args.store
        words, _ = frequent_words(args)
        self.reader = WordReader(
            args.facts,
            Tokenizer(args.facts),
            args.device,
            args.dtype,
            args.threads,
            args.token_budget,
            words,
            args.case,
        )

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Read the drawn sentences of one group's shards and commit the words' mean states."""
        args, number = self.args, item["shard"]
        first, stop = item["span"]
        drawn = sampling.draw(args.sentences, args.drawn, args.seed, sampling.MODEL_SAMPLE)
        drawn = drawn[np.searchsorted(drawn, first) : np.searchsorted(drawn, stop)]
        sums, lost, read = self.reader.empty(), [], 0
        for part in item["parts"]:
            ids, texts, n_tokens = read_shard(self.store, part)
            own = np.isin(ids, drawn)
            texts = [text for text, wanted in zip(texts, own, strict=True) if wanted]
            lost += self.reader.read((ids[own], texts, n_tokens[own]), sums)
            read += len(texts)
        if read != len(drawn):
            raise RuntimeError(f"meaning: {len(drawn)} sentences were drawn of group {number}, and {read} read")
        table, output = sums.to_table(), shard_file(OFFSETS, number)
        notes = {"read": read, "unscored": sorted(lost)}
        footer = {**output.footer(args.fingerprint, table.num_rows), b"atlas.notes": json.dumps(notes).encode()}
        described = table.replace_schema_metadata(footer)
        self.store.commit(
            output.path, lambda path: pq.write_table(described, path, compression="zstd", use_dictionary=False)
        )
        return {"sentences": stop - first}
