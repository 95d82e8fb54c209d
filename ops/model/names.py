"""What `--model` names, and what a model is called on figures and pages; light, as pages load no model."""

import os
from pathlib import Path

from ops.errors import InputError

SAMPLE, SAMPLE_NAME = "sample", "all-MiniLM-L6-v2"
RANDOM = "random:"  # before a model's name: its architecture with random weights
FINE_TUNED = ("finetune", "model")  # where a run keeps its fine-tuned model


def seed_of(name: str, seed: int | None = None) -> int | None:
    """Return the seed of a model's random weights; None where its weights are trained.

    Args:
        name: what the user asked for, `random:NAME` or `NAME`.
        seed: `--model-seed`; None where it was not given, which is 0 for random weights.

    Raises:
        InputError: no name follows `random:`, it is repeated, or there is a seed without it.

    >>> seed_of("random:sample"), seed_of("random:sample", 7), seed_of("sample")
    (0, 7, None)
    """
    if not name.startswith(RANDOM):
        if seed is not None:
            raise InputError(
                f"--model-seed {seed}: is the seed of random weights, and --model {name} has trained ones; "
                f"leave it out, or give --model {RANDOM}{name}"
            )
        return None
    original = name.removeprefix(RANDOM)
    if not original:
        raise InputError(
            f"--model {name}: names no model; give the one whose architecture is to be taken, such as {RANDOM}sample"
        )
    if original.startswith(RANDOM):
        raise InputError(f"--model {name}: has {RANDOM} more than once; give it once, as in {RANDOM}sample")
    return seed or 0


def original_name(name: str) -> str:
    """Return a model's name without `random:`: where its configuration, tokenizer and trained weights are.

    >>> original_name("random:org/model"), original_name("org/model")
    ('org/model', 'org/model')
    """
    return name.removeprefix(RANDOM)


def model_title(name: str, fingerprint: str, seed: int | None = None) -> str:
    """Return a model's name: a hub id, or the name of its folder, of a fine-tuned one with the run's before.

    Args:
        name: what the user asked for; `sample` is the packaged model.
        fingerprint: as in `ModelFacts`; by it `models/small` is known for a folder or for a hub id.
        seed: seed of its random weights; None where they are trained.

    >>> model_title("org/model", "org/model@0a1b"), model_title("./runs/news/finetune/model/", "9c1e")
    ('org/model', 'news/finetune/model')
    >>> model_title("sample", "9a4b")
    'all-MiniLM-L6-v2'
    >>> model_title("random:sample", "77d0", 0)
    'all-MiniLM-L6-v2, random weights (seed 0)'
    """
    if seed is not None:
        return f"{model_title(original_name(name), fingerprint)}, random weights (seed {seed})"
    if name == SAMPLE:
        return SAMPLE_NAME
    if "@" in fingerprint:
        return name
    parts = Path(os.path.abspath(Path(name).expanduser())).parts
    return "/".join(parts[-3:]) if parts[-2:] == FINE_TUNED else parts[-1]
