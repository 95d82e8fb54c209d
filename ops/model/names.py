"""What a model is called on figures and pages; light, because pages are made without loading a model."""

import os
from pathlib import Path

SAMPLE, SAMPLE_NAME = "sample", "all-MiniLM-L6-v2"
FINE_TUNED = ("finetune", "model")  # where a run keeps its fine-tuned model


def model_title(name: str, fingerprint: str) -> str:
    """Return a model's name: a hub id, or the name of its folder, of a fine-tuned one with the run's before.

    Args:
        name: what the user asked for; `sample` is the packaged model.
        fingerprint: as in `ModelFacts`; by it `models/small` is known for a folder or for a hub id.

    >>> model_title("org/model", "org/model@0a1b"), model_title("./runs/news/finetune/model/", "9c1e")
    ('org/model', 'news/finetune/model')
    >>> model_title("sample", "9a4b")
    'all-MiniLM-L6-v2'
    """
    if name == SAMPLE:
        return SAMPLE_NAME
    if "@" in fingerprint:
        return name
    parts = Path(os.path.abspath(Path(name).expanduser())).parts
    return "/".join(parts[-3:]) if parts[-2:] == FINE_TUNED else parts[-1]
