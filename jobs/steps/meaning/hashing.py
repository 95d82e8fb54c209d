"""The first step of the hashing of `meaning`: sentences are drawn with their classes, and the model reads them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.stage.checks import check_column
from jobs.stage.corpus_pass import CorpusPass, PassArgs
from jobs.stage.layout import Output, shard_file
from jobs.stage.meaning_config import MeaningConfig
from jobs.stage.run import Run
from jobs.stage.runner import Step
from jobs.stage.stages import STAGES
from ops import sampling
from ops.corpus.read_shard import read_rows
from ops.errors import InputError
from ops.meaning.confusion import held_out
from ops.meaning.hashing import LEAST_OF_CLASS, Labelled, labelled
from ops.meaning.sentence_states import SentenceReader
from ops.model.tokenizer import Tokenizer
from ops.schema import meta_keys
from ops.shards import Shards
from ops.storage.range_file import read_each
from ops.storage.tables import part_name

HASHING = "meaning/hashing"
LABELS = ("topic", "category", "dataset")


@dataclass(frozen=True)
class HashArgs(PassArgs):
    """What every worker is made from: the layer that is read, neighbours of a query, epochs of the autoencoders."""

    layer: int
    neighbours: int
    epochs: int
    shards: int


@dataclass(frozen=True)
class Drawn:
    """The drawn sentences: ids, documents by number, which are held out, and the classes by each label."""

    sent_ids: np.ndarray
    documents: np.ndarray
    tested: np.ndarray
    labels: list[Labelled]


def identity(config: MeaningConfig, layer: int) -> dict[str, Any]:
    """Return what the codes depend on besides the corpus and the model."""
    names = ("hashed_sentences", "hash_neighbours", "epochs", "label")
    return {"hash_layer": layer, **{name: getattr(config, name) for name in names}}


def draw_labelled(record: Run, config: MeaningConfig) -> Drawn:
    """Return a seeded uniform sample of sentences with their classes; none under a dry run without a corpus.

    Raises:
        InputError: the label that is asked for is not there, or has fewer than two classes.
    """
    if config.label != "dataset":
        check_column(record, "--label", config.label)
    if not record.has_corpus:
        none = np.zeros(0, np.int64)
        return Drawn(none, none, none.astype(bool), [])
    corpus = record.require("ingest")
    shards = Shards(corpus["counts"]["sentences"], corpus["config"]["shard_size"])
    drawn = sampling.draw(shards.sentences, config.hashed_sentences, config.seed, sampling.HASHED)
    with record.store.parquet(part_name("corpus", 0)) as file:
        keys = meta_keys(file.schema_arrow)
    columns = ["sent_id", "dataset", "doc_id", *(["meta"] if keys else [])]
    tables = list(read_rows(record.store, shards, drawn, columns))
    datasets, names = ([v for t in tables for v in t[column].to_pylist()] for column in ("dataset", "doc_id"))
    values: dict[str, list[str | None]] = {"dataset": datasets}
    for key in keys:
        values[key] = [row[key] for t in tables for row in t["meta"].to_pylist()]
    wanted = [config.label] if config.label else [name for name in LABELS if name in values]
    labels = [found for name in wanted if len((found := labelled(name, values[name])).classes) > 1]
    if config.label and not labels:
        there = sorted({v for v in values[config.label] if v is not None})
        few = (
            f"of {len(there)} values fewer than two are"
            if len(there) > 1
            else "all are alike: fewer than two values are"
        )
        raise InputError(
            f"--label {config.label}: {few} those of {LEAST_OF_CLASS} of the {len(drawn):,} drawn sentences"
            + (f" ({there[0]!r})" if len(there) == 1 else "")
            + "; name another column, or raise --hashed-sentences"
        )
    _, documents = np.unique(
        np.array([f"{d}\x1f{n}" for d, n in zip(datasets, names, strict=True)], object), return_inverse=True
    )
    tested = np.array([held_out(d, n, config.seed) for d, n in zip(datasets, names, strict=True)], bool)
    return Drawn(drawn, documents.astype(np.int64), tested, labels)


def hash_args(job: CorpusPass, config: MeaningConfig, layer: int) -> HashArgs:
    """Return what the workers are made from."""
    return HashArgs(
        **vars(job.args),
        layer=layer,
        neighbours=config.hash_neighbours,
        epochs=config.epochs,
        shards=len(job.shards),
    )


def chosen_file() -> Output:
    """Return the file of the drawn sentences' classes."""
    return Output(f"{STAGES[HASHING].partials}/chosen.parquet", "chosen")


def keep_drawn(args: HashArgs, drawn: Drawn) -> None:
    """Commit the drawn sentences for the workers, unless they are there."""
    output = chosen_file()
    if output.is_whole(args.store, args.fingerprint):
        return
    columns = {"sent_id": drawn.sent_ids, "document": drawn.documents, "tested": drawn.tested}
    for label in drawn.labels:
        names = [label.classes[i] if i >= 0 else None for i in label.number]
        columns[f"label_{label.name}"] = pa.array(names, pa.string())
    table = pa.table(columns)
    described = table.replace_schema_metadata(output.footer(args.fingerprint, table.num_rows))
    args.store.commit(output.path, lambda path: pq.write_table(described, path, compression="zstd"))


def read_drawn(args: HashArgs) -> Drawn:
    """Return what `keep_drawn` committed."""
    with args.store.parquet(chosen_file().path) as file:
        table = file.read()
    names = [name for name in table.column_names if name.startswith("label_")]
    labels = [labelled(name.removeprefix("label_"), table[name].to_pylist()) for name in names]
    sent_ids, documents, tested = (table[name].to_numpy() for name in ("sent_id", "document", "tested"))
    return Drawn(sent_ids, documents, tested, labels)


def state_step(job: CorpusPass, args: HashArgs, drawn: np.ndarray) -> Step:
    """Return the step in which the model reads the drawn sentences of every shard."""
    step = job.shard_step(StateReader, {"args": args})
    shares = job.shards.split(drawn)
    items = [{**item, "rows": shares[item["shard"]].tolist()} for item in step.items]
    return Step(
        step.name, items, step.outputs, step.worker, step.args, "shards", ("sentences", len(drawn)),
        holds=step.holds, workers=step.workers, ahead=step.ahead,
    )  # fmt: skip


class StateReader:
    """Reads the drawn sentences of shard after shard and commits their states in one layer."""

    def __init__(self, args: HashArgs) -> None:
        self.args, self.store = args, args.store
        self.tokenizer = Tokenizer(args.facts)
        own = (args.facts, self.tokenizer, args.device, args.dtype, args.threads, args.token_budget)
        self.reader = SentenceReader(*own)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Read the drawn sentences of one shard."""
        rows = np.array(item["rows"], np.int64)
        with self.store.parquet(part_name("corpus", item["shard"])) as file:
            table = file.read(columns=["text"])
        texts = table.take(pa.array(rows - item["span"][0]))["text"].to_pylist()
        states = self.reader.read(self.tokenizer.encode(texts), [self.args.layer])[:, 0]
        flat = pa.FixedSizeListArray.from_arrays(pa.array(states.ravel()), states.shape[1])
        output = shard_file(HASHING, item["shard"])
        found = pa.table({"sent_id": rows, "state": flat})
        described = found.replace_schema_metadata(output.footer(self.args.fingerprint, len(rows)))
        self.store.commit(output.path, lambda path: pq.write_table(described, path, use_dictionary=False))
        return {"sentences": len(rows)}


def read_states(args: HashArgs) -> np.ndarray:
    """Return the states of all drawn sentences in their order, `[sentences, width]` float32."""
    return np.concatenate(list(_states(args)))


def _states(args: HashArgs) -> Iterator[np.ndarray]:
    names = (shard_file(HASHING, shard).path for shard in range(args.shards))
    for table in read_each(args.store, names, ["state"]):
        for chunk in table["state"].chunks:
            yield chunk.flatten().to_numpy().reshape(len(chunk), args.facts.width)
