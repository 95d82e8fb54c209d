"""The documents of `finetune`, which are chosen by label, read from corpus/ and split; and the workers' arguments."""

from dataclasses import dataclass
from typing import Any

from jobs.engine.item import Item
from jobs.finetune.job import FinetuneConfig
from jobs.stage.outputs import Output, write_partial
from jobs.stage.run import Run
from jobs.stage.runner import Step
from jobs.stage.stages import STAGES
from ops.finetune.documents import (
    TEST,
    TRAIN,
    Choice,
    Key,
    choose_documents,
    join_sentences,
    read_labelled,
    read_sentences,
    side_rows,
    split_documents,
)
from ops.finetune.training import TrainingOptions, segments
from ops.model.load import ModelFacts
from ops.schema import schema
from ops.storage.store import Store
from ops.storage.tables import write_part

# Earlier versions used this name, so a training that was killed under an earlier version can be resumed.
DOCUMENTS = Output(f"{STAGES['finetune'].partials}/piece-documents.parquet", "documents")


@dataclass(frozen=True)
class TrainingArgs:
    """The arguments of the workers; `labels` are the labels of the chosen documents."""

    store: Store
    fingerprint: str
    facts: ModelFacts
    labels: dict[Key, str]
    options: TrainingOptions
    dropout: float
    max_tokens: int
    test_share: float
    split_seed: int
    shuffle_labels: bool
    checkpoint_steps: int
    threads: int

    @property
    def names(self) -> list[str]:
        """The distinct labels, sorted by name."""
        return sorted(set(self.labels.values()))

    def segments(self, documents: int) -> list[tuple[int, int]]:
        """Return the steps after which a checkpoint is written, each with the epoch that ends there, or 0."""
        return segments(documents, self.options.batch_size, self.options.epochs, self.checkpoint_steps)


def choose(config: FinetuneConfig, record: Run) -> Choice:
    """Return data set, document and label of the chosen documents; empty if there is no corpus yet.

    Raises:
        InputError: a classifier cannot learn their labels.
    """
    if not record.has_corpus:
        return Choice({}, {})
    found = read_labelled(record.store, config.label)
    choice = choose_documents(
        found, config.label, config.drop_label, config.min_documents, config.documents, config.split_seed
    )
    return Choice(choice.labels, {**choice.left_out, "sentences without a label": found.without})


def documents_step(args: TrainingArgs) -> Step:
    """Return the step that reads the documents and splits them."""
    given = {"args": args}
    return Step("finetune: documents", [{"all": True}], lambda _: [DOCUMENTS], DocumentsWorker, given, here=True)


class DocumentsWorker:
    """Reads the chosen documents, drops those with the same text as another one, and splits the others."""

    def __init__(self, args: TrainingArgs) -> None:
        self.args = args

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Commit finetune/train, finetune/test and, in a partial file, the documents themselves."""
        args = self.args
        sentences = read_sentences(args.store, args.labels)
        shuffle_seed = args.options.seed if args.shuffle_labels else None
        texts = join_sentences(sentences)
        documents, placed = split_documents(texts, args.labels, args.test_share, args.split_seed, shuffle_seed)
        for side in (TRAIN, TEST):
            name, rows = f"finetune/{side}", side_rows(sentences, args.labels, placed, side)
            write_part(args.store, name, 0, schema(name), [rows], args.fingerprint)
        write_partial(args.store, DOCUMENTS, documents, args.fingerprint)
        return {"documents": documents.num_rows}
