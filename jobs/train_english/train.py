"""Trains, writes and scores the English pipeline with the options of `train_english`."""

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import spacy
import torch

from jobs.train_english.job import TrainEnglishConfig
from ops.english import FOLDER
from ops.english.training.batches import collect_labels
from ops.english.training.distillation import load_teacher, narrowed
from ops.english.training.evaluation import score
from ops.english.training.mixture import Mixture
from ops.english.training.model import Architecture, JointNetwork, assemble
from ops.english.training.training import Trainer, run_passes
from ops.english.training.treebank import Sentence, read_tags, read_trees
from ops.english.words import collect_inventory
from ops.errors import InputError, one_line

MINIMUM = {"word": 2, "suffix2": 4, "suffix3": 4, "prefix3": 5, "shape": 6, "character": 8}

# Number of sentences of each kind on which the units of a teacher's BiLSTM are measured.
MEASURED = 1000

RECORD = "training.json"

META = {
    "lang": "en",
    "name": "atlas_english",
    "version": "1.1.0",
    "description": "Penn tags and constituency trees on a CPU",
    "license": "CC BY-SA 4.0",
}


def train_english(config: TrainEnglishConfig) -> None:
    """Train a pipeline or, with `evaluate_only`, score one."""
    torch.set_num_threads(1)
    if config.evaluate_only:
        score_shipped(config)
    else:
        train(config, partial(print, flush=True))


def train(config: TrainEnglishConfig, progress: Callable[[str], None] = print) -> dict[str, Any]:
    """Train a pipeline, write it to `config.out` and return its scores on the test files.

    Raises:
        InputError: a file is missing or cannot be read, `config.out` is not a suitable folder, the files hold too
            little data, or the network cannot be derived from the named teacher.
    """
    if not config.train_trees:
        raise InputError("--train-trees: no file given, expected at least one; name files of trees to train on")
    if config.out is None:
        raise InputError("--out is missing: name the folder that the trained pipeline goes to")
    check_folder(config.out)
    trees = [sentence for path in config.train_trees for sentence in read_trees(path)]
    capped = [sentence for path in config.capped_trees for sentence in read_trees(path)]
    tagged = [sentence for path in config.train_tags for sentence in read_tags(path)]
    dev, tests = _read(config.dev_trees, config.dev_tags), _read(config.test_trees, config.test_tags)

    torch.manual_seed(config.seed)
    random = Random(config.seed)
    mixture = Mixture(
        trees,
        capped,
        tagged,
        capped_sentences=config.capped_sentences,
        variation=config.variation,
        own_trees=config.own_trees,
    )
    counts = mixture.counts()
    sizes = Architecture(config.width, config.hidden, config.layers, config.windows, config.dropout)
    teacher = load_teacher(config.teacher, sizes) if config.teacher else None
    if teacher is None:
        network = JointNetwork(collect_inventory(counts, MINIMUM), collect_labels([*trees, *capped], tagged), sizes)
    else:
        sample = random.sample(trees, min(MEASURED, len(trees))) + random.sample(tagged, min(MEASURED, len(tagged)))
        network = narrowed(teacher, sizes, list(teacher.batcher.batches(sample, config.batch_words, random)))
    trainer = Trainer(
        network,
        counts,
        batch_words=config.batch_words,
        steps=config.passes * -(-mixture.words() // config.batch_words),
        rate=config.rate,
        sequence_weight=config.sequence_weight,
        unknown=config.unknown,
        teacher=teacher,
    )
    weights = sum(weight.numel() for weight in network.parameters())
    progress(f"{mixture.words()} words a pass, {config.passes} passes; {weights} weights")

    own_trees = bool(config.own_trees and tagged)
    curve = run_passes(trainer, mixture, config.passes, own_trees, dev, random, progress)

    config.out.mkdir(parents=True, exist_ok=True)
    assemble(trainer.average, META | {"sources": list(config.sources)}).to_disk(config.out)
    scores = score(spacy.load(config.out), tests, progress)
    nlp = spacy.load(config.out)  # loaded again, since the scored pipeline has added the tests' words to its vocabulary
    nlp.meta["performance"] = scores
    nlp.to_disk(config.out)
    record: dict[str, Any] = {"config": _named(config), "curve": curve}
    if config.teacher is not None and (config.teacher / RECORD).is_file():
        record["teacher"] = json.loads((config.teacher / RECORD).read_text(encoding="utf-8"))
    (config.out / RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")
    return scores


def check_folder(out: Path) -> None:
    """Check before the training that a pipeline can be written to a folder and replaces at most an earlier pipeline."""
    try:
        nearest = next(place for place in (out, *out.absolute().parents) if place.exists() or place.is_symlink())
        if not nearest.is_dir():
            raise InputError(f"--out {out}: {nearest} is not a folder; name a new or empty folder")
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise InputError(f"--out {out}: {nearest} cannot be written to; name another folder")
        if nearest == out and any(out.iterdir()) and not _is_ours(out / "meta.json"):
            raise InputError(f"--out {out}: holds other files than a pipeline of this job; name a new or empty folder")
    except OSError as error:
        raise InputError(f"--out {out}: cannot be read ({one_line(error)}); name another folder") from error


def _is_ours(meta: Path) -> bool:
    """Tell whether a meta.json belongs to a pipeline of this job."""
    try:
        held = json.loads(meta.read_bytes()) if meta.is_file() else None
    except (ValueError, RecursionError):
        return False
    return isinstance(held, dict) and held.get("name") == META["name"]


def score_shipped(config: TrainEnglishConfig) -> None:
    """Score the pipeline in `config.out`, or the included pipeline."""
    folder = config.out or FOLDER
    if not (folder / "config.cfg").is_file():
        raise InputError(
            f"--out {folder}: holds no spaCy pipeline (no config.cfg); name one that does, or leave the option out"
        )
    score(spacy.load(folder), _read(config.test_trees, config.test_tags))


def _read(trees: tuple[Path, ...], tags: tuple[Path, ...]) -> dict[str, list[Sentence]]:
    """Return the sentences of files of trees and files of tags, by file name."""
    return {path.name: read_trees(path) for path in trees} | {path.name: read_tags(path) for path in tags}


def _named(config: TrainEnglishConfig) -> dict[str, Any]:
    """Return the config with file names instead of paths."""
    settings = config.model_dump(mode="json", exclude={"out", "evaluate_only", "sources", "teacher"})
    paths = {name: value for name, value in config if name.endswith(("_trees", "_tags")) and isinstance(value, tuple)}
    return settings | {name: [path.name for path in value] for name, value in paths.items()}
