"""What the workers of `finetune` are made from, and the files that they have under way."""

from dataclasses import dataclass

import pyarrow as pa

from jobs.stage.layout import Output
from jobs.stage.stages import STAGES
from ops.finetune.documents import Key
from ops.finetune.training import TrainingOptions, segments
from ops.model.load import ModelFacts
from ops.storage.store import Store


@dataclass(frozen=True)
class TrainingArgs:
    """What the workers are made from; `labels` are the chosen documents'."""

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
        """The labels, in order of name."""
        return sorted(set(self.labels.values()))


def documents_file() -> Output:
    """Return the file of the documents, split."""
    return Output(f"{STAGES['finetune'].partials}/piece-documents.parquet", "documents")


def losses_file(stop: int) -> Output:
    """Return the file of the losses up to a checkpoint."""
    return Output(f"{STAGES['finetune'].partials}/run-{stop:09d}.parquet", f"run-{stop}")


def checkpoint_path(stop: int) -> str:
    """Return the path of the checkpoint after a step."""
    return f"{STAGES['finetune'].partials}/checkpoint-{stop:09d}.tar"


def training_segments(args: TrainingArgs, documents: int) -> list[tuple[int, int]]:
    """Return the steps after which there is a checkpoint, each with the epoch that ends there or 0."""
    return segments(documents, args.options.batch_size, args.options.epochs, args.checkpoint_steps)


def read_documents(store: Store) -> pa.Table:
    """Return the documents with their labels and sides."""
    with store.parquet(documents_file().path) as file:
        return file.read()
