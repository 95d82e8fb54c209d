"""The stage `finetune`: documents are chosen by label and split, and a classifier is trained between checkpoints."""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.engine.connect import has_gpus
from jobs.engine.item import Item
from jobs.finetune.job import FinetuneConfig
from jobs.ingest.steps import ingest_where_named
from jobs.run_folder.run import Run, RunReader
from jobs.run_folder.stages import STAGES
from jobs.stage.checks import check_pass, require_corpus
from jobs.stage.corpus_pass import describe
from jobs.stage.dry_run import DryRun
from jobs.stage.outputs import Output, partial_file, read_partial, read_partials, whole_table
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.step import Made, Step, Steps
from ops import schema
from ops.errors import InputError, counted
from ops.figures.files import save_figures
from ops.finetune.classifier import commit_classifier, new_classifier
from ops.finetune.documents import (
    TEST,
    TRAIN,
    Key,
    choose_documents,
    join_sentences,
    read_labelled,
    read_sentences,
    side_rows,
    split_documents,
)
from ops.finetune.tables import epoch_row, label_table, majority_accuracy, training_figure
from ops.finetune.training import ClassifierTraining, Example, pack, segments, unpack
from ops.model.load import ModelFacts
from ops.model.numerics import set_numerics
from ops.model.tokenizer import Tokenizer
from ops.storage.store import Store

DEPENDS_ON = (
    "label", "drop_label", "min_documents", "documents", "test_share", "split_seed", "shuffle_labels", "epochs",
    "learning_rate", "dropout", "batch_size", "max_tokens", "checkpoint_steps", "seed",
)  # fmt: skip
MODEL, PARTIALS = "finetune/model", STAGES["finetune"].partials
TIMED = 64  # most documents that are timed, for --dry-run
DOCUMENTS = partial_file("finetune", "documents")
SIDES = {side: whole_table(f"finetune/{side}") for side in (TRAIN, TEST)}
EPOCHS, LABELS = whole_table("finetune/epochs"), whole_table("finetune/labels")


def finetune(config: FinetuneConfig, run: Run) -> None:
    """Run the stage, or the missing part of it, after `ingest` if sources are named; print the accuracy."""
    facts, tokenizer = check_pass(config, run)
    if not config.label:
        raise InputError("--label is missing: name the column of the sources that holds a document's label")
    if config.max_tokens is not None and config.max_tokens > facts.position_limit:
        raise InputError(
            f"--max-tokens {config.max_tokens}: {config.model} takes {facts.position_limit} tokens at most; "
            "give a smaller number"
        )
    ingest_where_named(config, run, {"--label": config.label})
    require_corpus(config, tokenizer, run)
    labels, left_out = choose(config, run)
    device = "cuda" if config.device == "cuda" or (config.device == "auto" and has_gpus()) else "cpu"
    depends_on = {name: getattr(config, name) for name in DEPENDS_ON}
    depends_on |= {"drop_label": list(config.drop_label), "model": facts.fingerprint, "device": device}
    depends_on["threads"] = config.threads if device == "cpu" else None
    stage = begin_stage(
        "finetune", config, run, depends_on, counted=("train", "documents trained on"),
        options={**config.model_dump(mode="json"), "device": device}, about={"model": describe(facts)},
    )  # fmt: skip
    if stage is None:
        return
    args = TrainingArgs(store=stage.store, facts=facts, labels=labels, config=config, device=device)
    rows = {SIDES[TRAIN].table: args.expected, SIDES[TEST].table: len(args.labels) - args.expected}
    rows |= {EPOCHS.table: config.epochs, LABELS.table: len(args.names)}
    notes = [
        f"split about {counted(len(args.labels), 'document')} of {counted(len(args.names), 'label')} in two",
        f"train for {counted(config.epochs, 'epoch')} of about {counted(args.expected, 'document')}; "
        "the new model, as large as --model, is not counted below",
    ]
    if not args.labels:
        notes = ["split the labelled documents of the corpus in two, and train on them"]
    counts = stage.complete(finetune_steps(stage, args, left_out), rows, {"train": args.expected}, notes)
    if counts is not None:
        print(
            f"finetune: {counts['test']:,} test documents, accuracy {counts['test_accuracy']:.3f}, "
            f"of the most frequent label {counts['majority_accuracy']:.3f}",
            flush=True,
        )


def choose(config: FinetuneConfig, run: RunReader) -> tuple[dict[Key, str], dict[str, int]]:
    """Return the labels of the chosen documents, and what is left out by reason; empty if there is no corpus yet.

    Raises:
        InputError: a classifier cannot learn their labels.
    """
    if run.is_expected("ingest"):
        return {}, {}
    return choose_documents(
        read_labelled(run.store, config.label), config.label, config.drop_label, config.min_documents,
        config.documents, config.split_seed,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TrainingArgs:
    """The arguments of the workers; `labels` are the labels of the chosen documents."""

    store: Store
    facts: ModelFacts
    labels: dict[Key, str]
    config: FinetuneConfig
    device: str

    @property
    def names(self) -> list[str]:
        """The distinct labels, sorted by name."""
        return sorted(set(self.labels.values()))

    @property
    def expected(self) -> int:
        """The number of documents to train on, as far as it is known before copies are dropped."""
        return round(len(self.labels) * (1 - self.config.test_share))

    def segments(self, documents: int) -> list[tuple[int, int]]:
        """Return the steps after which a checkpoint is written, each with the epoch that ends there, or 0."""
        return segments(documents, self.config.batch_size, self.config.epochs, self.config.checkpoint_steps)

    def tokenizer(self) -> Tokenizer:
        """Return the model's tokenizer, which truncates documents at the maximum number of tokens."""
        limit = self.config.max_tokens or self.facts.position_limit
        return Tokenizer(replace(self.facts, position_limit=limit))

    def training(self, tokenizer: Tokenizer, train: list[Example], test: list[Example]) -> ClassifierTraining:
        """Return a training that has not begun."""
        config = self.config
        set_numerics(self.device, config.threads)
        model = new_classifier(self.facts, tokenizer, len(self.names), config.dropout, config.seed)
        return ClassifierTraining(
            model, train, test, tokenizer.pad_id, epochs=config.epochs, batch_size=config.batch_size,
            learning_rate=config.learning_rate, seed=config.seed, device=self.device,
        )  # fmt: skip

    def seconds(self, run: DryRun) -> float | None:
        """Return the seconds of the complete training, from a few steps that are timed, for `--dry-run`."""
        if not self.labels:
            return None
        texts = join_sentences(read_sentences(self.store, set(list(self.labels)[:TIMED])))
        tokenizer = self.tokenizer()
        examples = [(tokens, 0) for tokens in tokenizer.encode(list(texts.values()))]
        step_s = self.training(tokenizer, examples, examples).step_seconds(run.timed_s)
        # A test document costs a third of a training document, since it needs no backward pass.
        tests = self.config.epochs * (len(self.labels) - self.expected) / self.config.batch_size / 3
        return step_s * (self.segments(self.expected)[-1][0] + tests)


def finetune_steps(stage: Stage, args: TrainingArgs, left_out: dict[str, int]) -> Steps:
    """Yield the steps, write the tables of the training and its figure, and return the counts."""
    yield [
        Step(
            name="finetune: documents", items=[{}], outputs=lambda _: [*SIDES.values(), DOCUMENTS], worker=split,
            args={"args": args}, here=True, estimate=args.seconds,
        )
    ]  # fmt: skip
    documents = read_partial(stage.store, DOCUMENTS)
    is_train = np.array(documents["side"].to_pylist()) == TRAIN
    labels, taught = (pc.index_in(documents[name], pa.array(args.names)).to_numpy() for name in ("label", "taught"))
    train, test = taught[is_train], labels[~is_train]
    yield [train_step(args, len(train))]
    majority = majority_accuracy(train, test)
    rows, losses, stops = [], [], args.segments(len(train))
    tables = read_partials(stage.store, [losses_file(stop) for stop, _ in stops])
    for (stop, epoch), table in zip(stops, tables, strict=True):
        (segment,) = table.to_pylist()
        losses += segment["losses"]
        if epoch:
            scores = np.array(segment["scores"], np.float32).reshape(-1, len(args.names))
            rows.append(epoch_row(epoch, stop, losses, scores, test, majority))
            losses = []
    epochs = schema.table(EPOCHS.table, rows)
    EPOCHS.commit(stage.store, epochs, stage.fingerprint)
    LABELS.commit(stage.store, label_table(args.names, train, scores, test), stage.fingerprint)
    what = "shuffled labels" if args.config.shuffle_labels else args.config.label
    figures, title = {"training": training_figure(epochs)}, f"{args.facts.title}, fine-tuned on {what}"
    return {
        "train": len(train), "test": len(test), "labels": len(args.names),
        "copies": len(args.labels) - documents.num_rows, "cut": segment["cut"], "left_out": left_out,
        "test_accuracy": rows[-1]["test_accuracy"], "majority_accuracy": majority,
        "figures": save_figures(stage.store, "finetune/figures", figures, title),
    }  # fmt: skip


def split(item: Item, args: TrainingArgs) -> Made:
    """Read the chosen documents, drop those with the same text as another one, and split the others."""
    sentences, config = read_sentences(args.store, args.labels), args.config
    shuffle_seed = config.seed if config.shuffle_labels else None
    texts = join_sentences(sentences)
    documents, placed = split_documents(texts, args.labels, config.test_share, config.split_seed, shuffle_seed)
    tables = {output: side_rows(sentences, args.labels, placed, side) for side, output in SIDES.items()}
    return tables | {DOCUMENTS: documents}


def losses_file(stop: int) -> Output:
    """Return the file of the losses between the previous checkpoint and the checkpoint at step `stop`."""
    return partial_file("finetune", "losses", stop, digits=9)


def checkpoint_path(stop: int) -> str:
    """Return the path of the checkpoint at step `stop`."""
    return f"{PARTIALS}/checkpoint-{stop:09d}.tar"


def train_step(args: TrainingArgs, documents: int) -> Step:
    """Return the step that trains on a number of documents, with one worker, from each checkpoint to the next."""
    stops = [stop for stop, _ in args.segments(documents)]
    config, epochs = args.config, args.config.epochs
    per_epoch = stops[-1] // epochs

    def trained(step: int) -> int:
        return step // per_epoch * documents + step % per_epoch * config.batch_size

    items = [{"stop": stop, "sentences": trained(stop) - trained(before)} for before, stop in pairwise([0, *stops])]
    holds = {"gpus": 1} if args.device != "cpu" else {"cpus": config.threads}
    return Step(
        name="finetune: train", items=items, outputs=lambda item: [losses_file(item["stop"])], worker=Trainer,
        args={"args": args}, unit="checkpoints", work=("documents", documents * epochs), holds=holds, workers=1,
        actors=True, estimate=args.seconds,
    )  # fmt: skip


class Trainer:
    """Trains from one checkpoint to the next, and writes the model at the end.

    An item whose previous checkpoint is missing requires the training before it. The results of this training are kept
    for the items that they belong to, so items may be done in any order.
    """

    def __init__(self, args: TrainingArgs) -> None:
        self.args, self.store = args, args.store
        tokenizer, table = args.tokenizer(), read_partial(args.store, DOCUMENTS)
        tokens, sides = tokenizer.encode(table["text"].to_pylist()), table["side"].to_pylist()
        self.cut = sum(document.cut > 0 for document in tokens)
        examples: dict[str, list[Example]] = {}
        for side, column in ((TRAIN, "taught"), (TEST, "label")):
            labels = pc.index_in(table[column], pa.array(args.names)).to_pylist()
            documents = zip(tokens, labels, sides, strict=True)
            examples[side] = [(document, label) for document, label, of in documents if of == side]
        self.training = args.training(tokenizer, examples[TRAIN], examples[TEST])
        self.stops = [(0, 0), *args.segments(len(examples[TRAIN]))]
        self.trained: dict[int, pa.Table] = {}

    def __call__(self, item: Item) -> Made:
        """Train up to the item's checkpoint."""
        last = item["stop"]
        if last not in self.trained:
            for (before, _), (stop, epoch) in self.missing(last):
                self.trained[stop] = self.train(before, stop, epoch)
        return {losses_file(last): self.trained.pop(last)}

    def missing(self, last: int) -> Iterable[tuple[tuple[int, int], tuple[int, int]]]:
        """Return the pairs of neighbouring stops up to a step, from the last existing checkpoint before it."""
        stops = [each for each in self.stops if each[0] <= last]
        start = next(
            i for i in reversed(range(len(stops) - 1)) if not i or self.store.exists(checkpoint_path(stops[i][0]))
        )
        return pairwise(stops[start:])

    def train(self, before: int, stop: int, epoch: int) -> pa.Table:
        """Train from the checkpoint at step `before` to the checkpoint at step `stop`, and return the losses.

        If an epoch ends there, the model is tested; after the last epoch it is written.
        """
        with tempfile.TemporaryDirectory(prefix="atlas-") as scratch:
            folder = Path(scratch)
            start = unpack(self.store, checkpoint_path(before), folder / f"checkpoint-{before}") if before else None
            losses, checkpoint = self.training.run(stop, start, folder / "next")
            self.store.commit(checkpoint_path(stop), partial(pack, checkpoint))
        # The losses before this checkpoint are not committed yet, so the previous checkpoint may still be needed.
        for name in self.store.files(PARTIALS, ".tar"):
            if (path := f"{PARTIALS}/{name}") not in (checkpoint_path(before), checkpoint_path(stop)):
                self.store.delete(path)
        if epoch == self.args.config.epochs:
            commit_classifier(self.store, MODEL, self.training.model, self.args.facts, self.args.names)
        scores = self.training.scores().ravel().tolist() if epoch else None
        return pa.table(
            {
                "losses": pa.array([losses], pa.list_(pa.float64())),
                "scores": pa.array([scores], pa.list_(pa.float32())),
                "cut": pa.array([self.cut], pa.int64()),
            }
        )
