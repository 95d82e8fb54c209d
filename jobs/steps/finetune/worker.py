"""The worker of `finetune`: it trains from one checkpoint to the next, and saves the model after the last."""

import shutil
import tarfile
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.engine.item import Item
from jobs.stage.files import write_partial
from jobs.steps.finetune.files import TrainingArgs, checkpoint_path, losses_file, read_documents, training_segments
from ops.finetune.classifier import new_classifier, save_classifier
from ops.finetune.documents import TEST, TRAIN, numbered
from ops.finetune.training import ClassifierTraining, Example
from ops.model.numerics import set_numerics
from ops.model.tokenizer import Tokenizer
from ops.storage.store import Store

MODEL = "finetune/model"


class TrainingWorker:
    """Trains from one checkpoint to the next; each is committed, then the losses on the way to it."""

    def __init__(self, args: TrainingArgs) -> None:
        set_numerics(args.options.device, args.threads)
        self.args, self.store = args, args.store
        tokenizer = Tokenizer(replace(args.facts, position_limit=args.max_tokens))
        table = read_documents(args.store)
        tokens = tokenizer.encode(table["text"].to_pylist())
        taught, right = (numbered(table[name].to_pylist(), args.names) for name in ("taught", "label"))
        sides = table["side"].to_pylist()
        self.cut = sum(t.cut for t in tokens)
        train, test = (
            [Example(t, int(label)) for t, label, side in zip(tokens, of, sides, strict=True) if side == own]
            for own, of in ((TRAIN, taught), (TEST, right))
        )
        self.right = np.array([example.label for example in test])
        model = new_classifier(args.facts, tokenizer, len(args.names), args.dropout, args.options.seed)
        self.training = ClassifierTraining(model, train, test, args.options, tokenizer.pad_id)
        self.segments = training_segments(args, len(train))
        self.documents = len(train)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Train up to the item's checkpoint, from the last one that there is."""
        before, done = 0, 0
        for stop, epoch in self.segments:
            if stop > item["stop"]:
                break
            if not losses_file(stop).is_whole(self.store, self.args.fingerprint):
                self.train(before, stop, epoch)
                done += min((stop - before) * self.args.options.batch_size, self.documents)
            before = stop
        return {"sentences": done}

    def train(self, before: int, stop: int, epoch: int) -> None:
        """Train from the checkpoint after one step to that after another, and at an epoch's end test."""
        with tempfile.TemporaryDirectory(prefix="atlas-") as scratch:
            start = unpack(self.store, before, Path(scratch)) if before else None
            losses, folder = self.training.run(stop, start, Path(scratch) / "next")
            self.store.commit(checkpoint_path(stop), lambda path: pack(folder, path))
        if epoch == self.args.options.epochs:
            self.commit_model()
        scores = self.training.scores().ravel().tolist() if epoch else None
        table = pa.table(
            {
                "losses": pa.array([losses], pa.list_(pa.float64())),
                "scores": pa.array([scores], pa.list_(pa.float32())),
                "right": pa.array([self.right.tolist()], pa.list_(pa.int64())),
                "cut": pa.array([self.cut], pa.int64()),
            }
        )
        write_partial(self.store, losses_file(stop), table, self.args.fingerprint)
        if before:
            self.store.delete(checkpoint_path(before))

    def commit_model(self) -> None:
        """Commit the model's files below finetune/model."""
        with tempfile.TemporaryDirectory(prefix="atlas-") as scratch:
            save_classifier(self.training.model, self.args.facts, self.args.names, Path(scratch))
            for path in sorted(Path(scratch).iterdir()):
                self.store.commit(f"{MODEL}/{path.name}", partial(_copy, path))


def _copy(path: Path, to: str) -> None:
    shutil.copyfile(path, to)


def pack(folder: Path, path: str) -> None:
    """Write a folder's files into one."""
    with tarfile.open(path, "w") as tar:
        for file in sorted(folder.iterdir()):
            tar.add(file, file.name)


def unpack(store: Store, stop: int, scratch: Path) -> Path:
    """Return a checkpoint as the folder that it was, below a scratch folder."""
    folder = scratch / f"checkpoint-{stop}"
    path = store.path(checkpoint_path(stop))
    with (
        store.filesystem.open_input_stream(path, compression=None) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        tar.extractall(folder, filter="data")
    return folder
