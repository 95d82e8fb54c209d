"""The first step of the confusion sets of `meaning`: their words are found and blanked, and the model reads these."""

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
from jobs.stage.runner import Step
from ops.meaning.blank_states import BlankReader
from ops.meaning.confusion import (
    Occurrence,
    find_occurrences,
    held_out,
    priority,
    words_around,
)  # fmt: skip
from ops.model.tokenizer import Tokenizer
from ops.storage.tables import part_name

CONFUSION = "meaning/confusion"
COLUMNS = ["sent_id", "text", "dataset", "doc_id"]


@dataclass(frozen=True)
class ConfusionArgs(PassArgs):
    """What every worker is made from: of a set `most` words are kept over all shards, `stated` of them with states."""

    sets: tuple[tuple[str, ...], ...]
    window: int
    most: int
    stated: int
    sentences: int
    shards: int


def identity(config: MeaningConfig, sets: list[tuple[str, ...]]) -> dict[str, Any]:
    """Return what the confusion sets depend on besides the corpus and the model."""
    names = ("window", "confusion_most", "confusion_states")
    named = ", ".join(" ".join(words) for words in sets)
    return {**{name: getattr(config, name) for name in names}, "confusion": named}


def confusion_args(job: CorpusPass, config: MeaningConfig, sets: list[tuple[str, ...]]) -> ConfusionArgs:
    """Return what the workers are made from."""
    return ConfusionArgs(
        **vars(job.args),
        sets=tuple(sets),
        window=config.window,
        most=config.confusion_most,
        stated=config.confusion_states,
        sentences=job.shards.sentences,
        shards=len(job.shards),
    )


def find_step(job: CorpusPass, args: ConfusionArgs) -> Step:
    """Return the step that finds the sets' words in every shard, and reads the model's states in their places."""
    return job.shard_step(BlankFinder, {"args": args})


class BlankFinder:
    """Finds the words of confusion sets in shard after shard, and reads the model where they were blanked."""

    def __init__(self, args: ConfusionArgs) -> None:
        self.args, self.store = args, args.store
        own = (args.facts, Tokenizer(args.facts), args.device, args.dtype, args.threads, args.token_budget)
        self.reader = BlankReader(*own)
        self.places = {word: (i, j) for i, words in enumerate(args.sets) for j, word in enumerate(words)}

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one shard and commit its examples."""
        args, number = self.args, item["shard"]
        (part,) = item["parts"]
        with self.store.parquet(part_name("corpus", part)) as file:
            ids, texts, datasets, documents = (c.to_pylist() for c in file.read(columns=COLUMNS).columns)
        found = [(row, o) for row, text in enumerate(texts) for o in find_occurrences(text, self.places)]
        order = priority(np.array([ids[row] for row, _ in found], np.int64), _starts(found), args.seed)
        ranked = [int(i) for i in np.lexsort((_starts(found), order))]
        kept: list[int] = []
        stated: list[int] = []
        for i in range(len(args.sets)):
            own = [k for k in ranked if found[k][1].set == i]
            kept += own[: self._quota(args.most, len(texts))]
            stated += own[: self._quota(args.stated, len(texts))]
        spans = [(found[k][1].start, found[k][1].stop) for k in stated]
        blanks = self.reader.blanks([texts[found[k][0]] for k in stated], spans)
        there = [(k, blank) for k, blank in zip(stated, blanks, strict=True) if blank is not None]
        states = self.reader.read([blank for _, blank in there]).reshape(len(there), -1)
        good = [bool(np.isfinite(state).all()) for state in states]
        by_place = {k: state for (k, _), state, fine in zip(there, states, good, strict=True) if fine}
        chosen = [found[k] for k in kept]
        columns = {
            "set": pa.array([o.set for _, o in chosen], pa.int32()),
            "label": pa.array([o.label for _, o in chosen], pa.int32()),
            "order": pa.array(order[kept] if kept else [], pa.uint64()),
            "tested": pa.array([held_out(datasets[r], documents[r], args.seed) for r, _ in chosen], pa.bool_()),
            "words": pa.array(
                [words_around(texts[r], o.start, o.stop, args.window) for r, o in chosen], pa.list_(pa.string())
            ),
            "state": pa.array([by_place.get(k) for k in kept], pa.list_(pa.float32())),
        }
        output = shard_file(CONFUSION, number)
        counts = np.bincount([o.set for _, o in found], minlength=len(args.sets)).tolist()
        notes = {"found": counts, "not_finite": good.count(False)}
        footer = {**output.footer(args.fingerprint, len(chosen)), b"atlas.notes": json.dumps(notes).encode()}
        table = pa.table(columns).replace_schema_metadata(footer)
        self.store.commit(output.path, lambda path: pq.write_table(table, path, compression="zstd"))
        return {"sentences": len(texts)}

    def _quota(self, most: int, sentences: int) -> int:
        return -(-most * sentences // self.args.sentences)


def _starts(found: list[tuple[int, Occurrence]]) -> np.ndarray:
    return np.array([o.start for _, o in found], np.int64)
