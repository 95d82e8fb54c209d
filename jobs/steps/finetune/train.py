"""The training of `finetune`: steps between two checkpoints are an item, and the last checkpoint becomes the model."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from jobs.engine.connect import has_gpus
from jobs.stage.corpus_pass import describe
from jobs.stage.finetune_config import FinetuneConfig
from jobs.stage.run import Run
from jobs.stage.runner import Stage, Step, begin
from jobs.steps.finetune.documents import DocumentsWorker
from jobs.steps.finetune.files import TrainingArgs, documents_file, losses_file, read_documents, training_segments
from jobs.steps.finetune.worker import TrainingWorker
from ops.finetune.documents import TEST, TRAIN, Choice, numbered
from ops.finetune.figures import draw_training
from ops.finetune.tables import epoch_row, label_table, majority_accuracy, quality
from ops.finetune.training import TrainingOptions
from ops.model.load import ModelFacts
from ops.schema import schema
from ops.storage.tables import write_part

IDENTITY = (
    "label", "drop_label", "min_documents", "documents", "test_share", "split_seed", "shuffle_labels", "epochs",
    "learning_rate", "dropout", "batch_size", "max_tokens", "checkpoint_steps", "seed",
)  # fmt: skip


@dataclass(frozen=True)
class Training:
    """A training that is begun; `args` is None where the corpus is not there yet (a dry run)."""

    stage: Stage
    args: TrainingArgs | None
    left_out: dict[str, int]


def begin_training(config: FinetuneConfig, record: Run, facts: ModelFacts, choice: Choice | None) -> Training | None:
    """Begin the stage or go on with it; None where it was done before."""
    device = "cuda" if config.device == "cuda" or (config.device == "auto" and has_gpus()) else "cpu"
    identity = {name: getattr(config, name) for name in IDENTITY}
    identity |= {"drop_label": list(config.drop_label), "model": facts.fingerprint, "device": device}
    identity["threads"] = config.threads if device == "cpu" else None
    options = {**config.model_dump(mode="json"), "device": device}
    stage = begin("finetune", config, record, identity, options, ("train", "documents trained on"))
    if stage is None:
        return None
    stage.entry["model"] = describe(facts)
    if choice is None:
        return Training(stage, None, {})
    how = TrainingOptions(config.epochs, config.batch_size, config.learning_rate, config.seed, device)
    most = min(config.max_tokens or facts.position_limit, facts.position_limit)
    args = TrainingArgs(
        stage.store, stage.fingerprint, facts, choice.labels, how, config.dropout, most, config.test_share,
        config.split_seed, config.shuffle_labels, config.checkpoint_steps, config.threads,
    )  # fmt: skip
    return Training(stage, args, choice.left_out)


def documents_step(training: Training) -> Step:
    """Return the step that reads the documents and splits them."""
    output = documents_file()
    given = {"args": training.args, "output": output}
    return Step("finetune: documents", [{"all": True}], lambda _: [output], DocumentsWorker, given, here=True)


def train_step(training: Training) -> Step:
    """Return the step that trains, by one worker; whichever item comes first, what is before it is done first."""
    args = training.args
    assert args is not None
    sides = read_documents(args.store)["side"].to_pylist()
    items = [{"stop": stop, "epoch": epoch} for stop, epoch in training_segments(args, sides.count(TRAIN))]
    work = ("documents", sides.count(TRAIN) * args.options.epochs)
    holds = {"gpus": 1} if args.options.device != "cpu" else {"cpus": args.threads}
    return Step(
        "finetune: train", items, lambda item: [losses_file(item["stop"])], TrainingWorker, {"args": args},
        "checkpoints", work, holds=holds, workers=1, actors=True,
    )  # fmt: skip


def publish(training: Training) -> None:
    """Write the tables and the figure, and record the counts."""
    args, stage = training.args, training.stage
    assert args is not None
    table = read_documents(stage.store)
    sides = np.array(table["side"].to_pylist())
    labels, taught = (numbered(table[name].to_pylist(), args.names) for name in ("label", "taught"))
    n_train = int((sides == TRAIN).sum())
    majority = majority_accuracy(taught[sides == TRAIN], labels[sides == TEST])
    rows, losses, cut = [], [], 0
    for stop, epoch in training_segments(args, n_train):
        with stage.store.parquet(losses_file(stop).path) as file:
            (own,) = file.read().to_pylist()
        losses += own["losses"]
        cut = own["cut"]
        if epoch:
            scores = np.array(own["scores"], np.float32).reshape(-1, len(args.names))
            found = quality(scores, np.array(own["right"]))
            rows.append(epoch_row(epoch, stop, losses, found, majority))
            losses = []
    epochs = pa.Table.from_pylist(rows, schema("finetune/epochs"))
    tables = {"finetune/epochs": epochs, "finetune/labels": label_table(args.names, taught[sides == TRAIN], found)}
    for name, content in tables.items():
        write_part(stage.store, name, 0, schema(name), [content], stage.fingerprint)
    what = "shuffled labels" if args.shuffle_labels else stage.entry["config"]["label"]
    figures = draw_training(stage.store, epochs, f"{args.facts.title}, fine-tuned on {what}")
    counts = {
        "train": n_train, "test": int((sides == TEST).sum()), "labels": len(args.names),
        "copies": len(args.labels) - table.num_rows, "cut": cut, "left_out": training.left_out,
        "test_accuracy": rows[-1]["test_accuracy"], "majority_accuracy": majority, "figures": figures,
    }  # fmt: skip
    stage.finish(counts)
    print(
        f"finetune: {counts['test']:,} test documents, accuracy {counts['test_accuracy']:.3f}, "
        f"of the most frequent label {majority:.3f}",
        flush=True,
    )
