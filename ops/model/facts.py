"""What is known of a model without loading it: apart from what loads it, so that a worker can do without PyTorch."""

import os
from dataclasses import dataclass
from pathlib import Path

SAMPLE = "sample"
FINE_TUNED = ("finetune", "model")  # where a run keeps its fine-tuned model


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model from its configuration alone.

    Attributes:
        name: what the user asked for.
        path: directory or hub id that it is loaded from.
        revision: commit of the hub's files; empty for a directory.
        model_type: the architecture's name in transformers.
        layers: number of layers.
        width: units of a layer's hidden state.
        position_limit: most tokens of a sentence, special ones included.
        vocabulary: rows of the table of token embeddings, 0 where there is no such table.
        decoder: whether a token sees only those before it.
        fingerprint: sha256 of the configuration and the weights; of the hub's files ID@REVISION.
    """

    name: str
    path: str
    revision: str
    model_type: str
    layers: int
    width: int
    position_limit: int
    vocabulary: int
    decoder: bool
    fingerprint: str

    @property
    def title(self) -> str:
        """What figures call it."""
        return model_title(self.name, self.fingerprint)


def model_title(name: str, fingerprint: str) -> str:
    """Return what figures call a model: a hub id, or the name of its folder, of a fine-tuned one with the run's before.

    Args:
        name: what the user asked for.
        fingerprint: as in `ModelFacts`; by it `models/small` is known for a folder or for a hub id.

    >>> model_title("org/model", "org/model@0a1b"), model_title("./runs/news/finetune/model/", "9c1e")
    ('org/model', 'news/finetune/model')
    """
    if name == SAMPLE or "@" in fingerprint:
        return name
    parts = Path(os.path.abspath(Path(name).expanduser())).parts
    return "/".join(parts[-3:]) if parts[-2:] == FINE_TUNED else parts[-1]
