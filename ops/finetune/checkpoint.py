"""A checkpoint folder of transformers' Trainer as one file of a run, and a classifier's files in a run."""

import shutil
import tarfile
import tempfile
from functools import partial
from pathlib import Path

from ops.finetune.classifier import Classifier, save_classifier
from ops.model.load import ModelFacts
from ops.storage.store import Store


def pack(folder: Path, path: str) -> None:
    """Write the files of a folder into one file."""
    with tarfile.open(path, "w") as tar:
        for file in sorted(folder.iterdir()):
            tar.add(file, file.name)


def unpack(store: Store, name: str, folder: Path) -> Path:
    """Extract the files that `pack` stored in one file into a folder, and return the folder."""
    with (
        store.filesystem.open_input_stream(store.path(name), compression=None) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        tar.extractall(folder, filter="data")
    return folder


def commit_classifier(store: Store, table: str, model: Classifier, facts: ModelFacts, labels: list[str]) -> None:
    """Commit a classifier's files, as `save_classifier` saves them, to a folder of a run."""
    with tempfile.TemporaryDirectory(prefix="atlas-") as scratch:
        save_classifier(model, facts, labels, Path(scratch))
        for path in sorted(Path(scratch).iterdir()):
            store.commit(f"{table}/{path.name}", partial(shutil.copyfile, path))
