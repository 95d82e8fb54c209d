"""The training of `finetune`, in which each item trains to the next checkpoint and the last one gives the model."""

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.engine.connect import has_gpus
from jobs.engine.item import Item
from jobs.finetune.documents import DOCUMENTS, TrainingArgs, documents_step
from jobs.finetune.job import FinetuneConfig
from jobs.stage.corpus_pass import describe
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import by_workers, of_all
from jobs.stage.files import Output, partial_file, read_partial, read_partials, write_partial
from jobs.stage.runner import Stage, StageSpec, Step
from jobs.stage.stages import STAGES
from ops import schema
from ops.errors import counted
from ops.finetune.checkpoint import commit_classifier, pack, unpack
from ops.finetune.classifier import new_classifier
from ops.finetune.documents import TEST, TRAIN, Choice, join_sentences, numbered, read_sentences
from ops.finetune.figures import draw_training
from ops.finetune.tables import epoch_row, label_table, majority_accuracy, quality
from ops.finetune.training import ClassifierTraining, Example, TrainingOptions
from ops.model.load import ModelFacts
from ops.model.numerics import set_numerics
from ops.model.tokenizer import Tokenizer
from ops.storage.tables import write_part

MODEL = "finetune/model"
DEPENDS_ON = (
    "label", "drop_label", "min_documents", "documents", "test_share", "split_seed", "shuffle_labels", "epochs",
    "learning_rate", "dropout", "batch_size", "max_tokens", "checkpoint_steps", "seed",
)  # fmt: skip
TABLE_BYTES, FIGURE_BYTES = 100, 150_000  # bytes per sentence of the split; bytes of the figure
TIMED = 64  # most documents that are timed


def training_spec(config: FinetuneConfig, facts: ModelFacts, choice: Choice) -> StageSpec:
    """Return the specification of the stage that trains on the chosen documents."""
    device = "cuda" if config.device == "cuda" or (config.device == "auto" and has_gpus()) else "cpu"
    depends_on = {name: getattr(config, name) for name in DEPENDS_ON}
    depends_on |= {"drop_label": list(config.drop_label), "model": facts.fingerprint, "device": device}
    depends_on["threads"] = config.threads if device == "cpu" else None

    def args(stage: Stage) -> TrainingArgs:
        return training_args(config, facts, choice, device, stage)

    return StageSpec(
        "finetune",
        depends_on,
        lambda stage: train(stage, args(stage), choice.left_out),
        lambda stage, record: plan(stage, args(stage), record),
        ("train", "documents trained on"),
        {**config.model_dump(mode="json"), "device": device},
        {"model": describe(facts)},
        say=say_accuracy,
    )


def say_accuracy(counts: dict[str, Any]) -> None:
    """Print the accuracy on the test documents, next to the accuracy of always naming the most frequent label."""
    print(
        f"finetune: {counts['test']:,} test documents, accuracy {counts['test_accuracy']:.3f}, "
        f"of the most frequent label {counts['majority_accuracy']:.3f}",
        flush=True,
    )


def training_args(config: FinetuneConfig, facts: ModelFacts, choice: Choice, device: str, stage: Stage) -> TrainingArgs:
    """Return the arguments of the workers."""
    how = TrainingOptions(config.epochs, config.batch_size, config.learning_rate, config.seed, device)
    most = min(config.max_tokens or facts.position_limit, facts.position_limit)
    return TrainingArgs(
        stage.store, stage.fingerprint, facts, choice.labels, how, config.dropout, most, config.test_share,
        config.split_seed, config.shuffle_labels, config.checkpoint_steps, config.threads,
    )  # fmt: skip


def losses_file(stop: int) -> Output:
    """Return the file of the losses between the previous checkpoint and the checkpoint at step `stop`."""
    return partial_file("finetune", "run", stop, digits=9)


def checkpoint_path(stop: int) -> str:
    """Return the path of the checkpoint at step `stop`."""
    return f"{STAGES['finetune'].partials}/checkpoint-{stop:09d}.tar"


def train_step(args: TrainingArgs) -> Step:
    """Return the step that trains with one worker; an item first does any missing training before it."""
    documents = read_partial(args.store, DOCUMENTS, ["side"])["side"].to_pylist().count(TRAIN)
    items = [{"stop": stop, "epoch": epoch} for stop, epoch in args.segments(documents)]
    work = ("documents", documents * args.options.epochs)
    holds = {"gpus": 1} if args.options.device != "cpu" else {"cpus": args.threads}
    return Step(
        "finetune: train", items, lambda item: [losses_file(item["stop"])], TrainingWorker, {"args": args},
        "checkpoints", work, holds=holds, workers=1, actors=True,
    )  # fmt: skip


def limited_tokenizer(args: TrainingArgs) -> Tokenizer:
    """Return the model's tokenizer, which truncates documents at the maximum number of tokens."""
    return Tokenizer(replace(args.facts, position_limit=args.max_tokens))


def new_training(
    args: TrainingArgs, tokenizer: Tokenizer, train: list[Example], test: list[Example]
) -> ClassifierTraining:
    """Return a training that has not begun."""
    set_numerics(args.options.device, args.threads)
    model = new_classifier(args.facts, tokenizer, len(args.names), args.dropout, args.options.seed)
    return ClassifierTraining(model, train, test, args.options, tokenizer.pad_id)


class TrainingWorker:
    """Trains from one checkpoint to the next; commits each checkpoint, and then the losses before it."""

    def __init__(self, args: TrainingArgs) -> None:
        self.args, self.store = args, args.store
        tokenizer, table = limited_tokenizer(args), read_partial(args.store, DOCUMENTS)
        tokens = tokenizer.encode(table["text"].to_pylist())
        taught, right = (numbered(table[name].to_pylist(), args.names) for name in ("taught", "label"))
        sides = table["side"].to_pylist()
        self.cut = sum(t.cut > 0 for t in tokens)
        train, test = (
            [Example(t, int(label)) for t, label, side in zip(tokens, of, sides, strict=True) if side == own]
            for own, of in ((TRAIN, taught), (TEST, right))
        )
        self.right = np.array([example.label for example in test])
        self.training = new_training(args, tokenizer, train, test)
        self.segments, self.documents = args.segments(len(train)), len(train)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Train up to the item's checkpoint, starting at the last existing checkpoint."""
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
        """Train from the checkpoint at step `before` to step `stop`; test the model if an epoch ends there."""
        with tempfile.TemporaryDirectory(prefix="atlas-") as scratch:
            here = Path(scratch)
            start = unpack(self.store, checkpoint_path(before), here / f"checkpoint-{before}") if before else None
            losses, folder = self.training.run(stop, start, here / "next")
            self.store.commit(checkpoint_path(stop), partial(pack, folder))
        if epoch == self.args.options.epochs:
            commit_classifier(self.store, MODEL, self.training.model, self.args.facts, self.args.names)
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


def train(stage: Stage, args: TrainingArgs, left_out: dict[str, int]) -> dict[str, Any]:
    """Split the documents, train, write the tables and the figure, and return the counts."""
    stage.do(documents_step(args))
    stage.do(train_step(args))
    table = read_partial(stage.store, DOCUMENTS)
    sides = np.array(table["side"].to_pylist())
    labels, taught = (numbered(table[name].to_pylist(), args.names) for name in ("label", "taught"))
    n_train = int((sides == TRAIN).sum())
    majority = majority_accuracy(taught[sides == TRAIN], labels[sides == TEST])
    rows, losses, cut, stops = [], [], 0, args.segments(n_train)
    parts = read_partials(stage.store, [losses_file(stop) for stop, _ in stops])
    for (stop, epoch), part in zip(stops, parts, strict=True):
        (own,) = part.to_pylist()
        losses += own["losses"]
        cut = own["cut"]
        if epoch:
            scores = np.array(own["scores"], np.float32).reshape(-1, len(args.names))
            found = quality(scores, np.array(own["right"]))
            rows.append(epoch_row(epoch, stop, losses, found, majority))
            losses = []
    epochs = schema.table("finetune/epochs", rows)
    tables = {"finetune/epochs": epochs, "finetune/labels": label_table(args.names, taught[sides == TRAIN], found)}
    for name, content in tables.items():
        write_part(stage.store, name, 0, content.schema, [content], stage.fingerprint)
    what = "shuffled labels" if args.shuffle_labels else stage.entry["config"]["label"]
    figures = draw_training(stage.store, epochs, f"{args.facts.title}, fine-tuned on {what}")
    accuracy, n_test = rows[-1]["test_accuracy"], int((sides == TEST).sum())
    return {
        "train": n_train, "test": n_test, "labels": len(args.names), "copies": len(args.labels) - table.num_rows,
        "cut": cut, "left_out": left_out, "test_accuracy": accuracy, "majority_accuracy": majority, "figures": figures,
    }  # fmt: skip


def plan(stage: Stage, args: TrainingArgs, record: DryRun) -> Plan:
    """Return what the stage would do; without a corpus, no documents are chosen yet."""
    if not args.labels:
        work = ["split the labelled documents of the corpus, and train on them"]
        basis = ["nothing timed: the labelled documents are not known until the corpus is read"]
        return Plan(work, None, None, 0, basis, counts={"train": 0})
    documents = len(args.labels)
    train = round(documents * (1 - args.test_share))
    stops = args.segments(train)
    missing = sum(not losses_file(stop).is_whole(stage.store, stage.fingerprint) for stop, _ in stops)
    texts = join_sentences(read_sentences(stage.store, set(list(args.labels)[:TIMED])))
    tokenizer = limited_tokenizer(args)
    examples = [Example(tokens, 0) for tokens in tokenizer.encode(list(texts.values()))]
    training = new_training(args, tokenizer, examples, examples)
    seconds = training.step_seconds(record.timed_s)
    steps = stops[-1][0] * missing / len(stops)
    # A test document costs a third of a training document, since it needs no backward pass.
    tests = args.options.epochs * (documents - train) / args.options.batch_size / 3
    work = [
        f"split about {counted(documents, 'document')} of {counted(len(args.names), 'label')} in two",
        f"train for {counted(args.options.epochs, 'epoch')} of about {counted(train, 'document')}: "
        f"{of_all(missing, len(stops), 'checkpoint')}",
    ]
    basis = [f"timed {counted(min(TIMED, documents), 'document')} at {seconds:.2f} s a step", by_workers(1)]
    size = 4 * sum(weights.numel() for weights in training.model.parameters())
    kept = size + documents * TABLE_BYTES + FIGURE_BYTES
    return Plan(work, seconds * (steps + tests), kept, 6 * size, basis, counts={"train": train})
