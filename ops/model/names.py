"""The meaning of a `--model` name, the facts about the model, and the names of models on figures and pages.

This module imports little, because pages load no model.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ops.errors import InputError

SAMPLE, SAMPLE_NAME = "sample", "all-MiniLM-L6-v2"
RANDOM = "random:"  # prefix of a model's name: its architecture with random weights
FINE_TUNED = ("finetune", "model")  # where a run stores its fine-tuned model


class Location(NamedTuple):
    """Where a model's files are.

    Attributes:
        path: a directory, a GGUF file, or a hub id.
        revision: the commit of the files on the hub; empty for a directory or a file.
    """

    path: str
    revision: str = ""


@dataclass(frozen=True)
class ModelFacts:
    """The facts about a model that are read from its configuration and files, without loading it.

    Attributes:
        name: the name that the user gave.
        location: where its files are.
        model_type: the architecture's name in transformers.
        layers: number of layers.
        width: number of units of a layer's hidden state.
        position_limit: maximum number of tokens of a sentence, including special tokens.
        vocabulary: number of rows of the table of token embeddings; 0 if the model has no such table.
        fingerprint: the sha256 of the configuration and the weights, or ID@REVISION for files on the hub. For random
            weights it contains a sha256 of the configuration, the seed and the versions of torch and transformers.
        seed: the seed of random weights; None if the weights are trained.
        part: what is read if a model combines several: `text model` or `encoder`; empty for a single stack.
        tried: what was found by trying the model (`direction.is_decoder`), kept here so that workers receive it.
    """

    name: str
    location: Location
    model_type: str
    layers: int
    width: int
    position_limit: int
    vocabulary: int
    fingerprint: str
    seed: int | None = None
    part: str = ""
    tried: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    @property
    def title(self) -> str:
        """The model's name on figures."""
        return model_title(self.name, self.fingerprint, self.seed)


def seed_of(name: str, seed: int | None = None) -> int | None:
    """Return the seed of a model's random weights; None if its weights are trained.

    Args:
        name: the name that the user gave: `random:NAME` or `NAME`.
        seed: the value of `--model-seed`; None if it was not given, which means 0 for random weights.

    Raises:
        InputError: no name follows `random:`, `random:` is repeated, or a seed is given without `random:`.

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
    """Return a model's name without `random:`: the place of its configuration, tokenizer and trained weights.

    >>> original_name("random:org/model"), original_name("org/model")
    ('org/model', 'org/model')
    """
    return name.removeprefix(RANDOM)


def model_title(name: str, fingerprint: str, seed: int | None = None) -> str:
    """Return a model's name for figures and pages: a hub id, or the name of its folder.

    The folder of a fine-tuned model is preceded by the name of the run's folder.

    Args:
        name: the name that the user gave; `sample` is the packaged model.
        fingerprint: as in `ModelFacts`; it shows whether a name such as `models/small` is a folder or a hub id.
        seed: the seed of random weights; None if the weights are trained.

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
    parts = Path(os.path.abspath(os.path.expanduser(name))).parts
    return "/".join(parts[-3:]) if parts[-2:] == FINE_TUNED else parts[-1]


def without_place(value: Any) -> Any:
    """Return a value of run.json with local paths cut to their last name, including those in lists and dicts.

    >>> without_place({"corpus": ["/home/me/a.csv", "n=~/b", "pydocs", "s3://bucket/a.csv"], "n": 3})
    {'corpus': ['a.csv', 'n=b', 'pydocs', 's3://bucket/a.csv'], 'n': 3}
    >>> without_place("random:/home/me/model"), without_place("file:///q/w"), without_place("../up")
    ('random:model', 'w', 'up')
    """
    if isinstance(value, dict):
        return {key: without_place(held) for key, held in value.items()}
    if isinstance(value, list):
        return [without_place(held) for held in value]
    if isinstance(value, str):
        name, equals, path = value.rpartition("=")
        random = RANDOM if path.startswith(RANDOM) else ""
        path = path.removeprefix(RANDOM)
        if path.startswith(("/", "~", "file:", "./", "../")):
            return f"{name}{equals}{random}{path.rstrip('/').rpartition('/')[2]}"
    return value
