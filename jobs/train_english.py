"""Train the English pipeline that comes with the project, from treebank files; print how well it does.

    python -m jobs.train_english --train-trees gum-train.mrg.gz --capped-trees craft-train.mrg.gz \\
        --train-tags ewt-train.tags.gz --dev-trees gum-dev.mrg.gz --dev-tags ewt-dev.tags.gz \\
        --test-trees gum-test.mrg.gz craft-test.mrg.gz --test-tags ewt-test.tags.gz --out runs/english
    python -m jobs.train_english --evaluate-only --test-trees ... --test-tags ...

What to expect: 34 minutes on one core with bfloat16 instructions (AMD EPYC, 2026-11), then gum-test F1 82.8
and tags 96.7, craft-test F1 83.4, ewt-test tags 95.3 (gold tokens). The curve and what was tried:
docs/english.md.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any

import cyclopts
import spacy
import torch
from pydantic import BaseModel, ConfigDict, Field
from spacy.language import Language

from jobs._config import main
from ops.english import FOLDER
from ops.english.training.assemble import assemble
from ops.english.training.batches import Batcher, collect_labels
from ops.english.training.evaluation import compare, evaluate
from ops.english.training.mixture import Mixture
from ops.english.training.model import Architecture, JointNetwork
from ops.english.training.training import Trainer
from ops.english.training.treebank import Sentence, read_tags, read_trees
from ops.english.words import collect_inventory
from ops.errors import InputError

MINIMUM = {"word": 2, "suffix2": 4, "suffix3": 4, "prefix3": 5, "shape": 6, "character": 8}
SOURCES = (
    "GUM, training part, trees by a parser (amir-zeldes/gum, 2025-05): annotations CC BY 4.0; texts CC BY,"
    " CC BY-SA or public domain",
    "CRAFT, training part, gold trees (UCDenver-ccp/CRAFT): CC BY 3.0",
    "English Web Treebank, training part, tags (UniversalDependencies/UD_English-EWT): CC BY-SA 4.0",
)
META = {
    "lang": "en",
    "name": "atlas_english",
    "version": "1.0.0",
    "description": "Penn tags and constituency trees on a CPU",
    "license": "CC BY-SA 4.0",
}

Progress = Callable[[str], None]
Files = Annotated[tuple[Path, ...], cyclopts.Parameter(consume_multiple=True)]


class TrainEnglishConfig(BaseModel):
    """What to train on and how, or with ``evaluate_only`` what to test."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    train_trees: Files = Field((), description="Files, one bracketed tree per line, read whole each pass")
    capped_trees: Files = Field((), description="Files of trees, of which a pass draws capped_sentences")
    train_tags: Files = Field((), description="Files, word<TAB>tag per line, read whole each pass")
    dev_trees: Files = Field((), description="Files of trees that are scored after each pass")
    dev_tags: Files = Field((), description="Files of tags that are scored after each pass")
    test_trees: Files = Field((), description="Files of trees that the finished pipeline is scored on")
    test_tags: Files = Field((), description="Files of tags that the finished pipeline is scored on")
    out: Path | None = Field(
        None,
        description="Folder to write the pipeline to; with evaluate_only the one to read (default: the shipped one)",
    )
    evaluate_only: bool = Field(False, description="Train nothing, score the pipeline in out")
    sources: tuple[str, ...] = Field(SOURCES, description="Sources and terms of the training files, for meta.json")
    passes: int = Field(22, ge=1, description="Passes over the training files")
    capped_sentences: int = Field(4000, ge=0, description="Sentences of capped_trees per pass")
    batch_words: int = Field(1500, ge=1, description="Words per batch")
    width: int = Field(160, ge=1, description="Size of a word's vector")
    hidden: int = Field(192, ge=1, description="Size of the BiLSTM's state in each direction")
    layers: int = Field(2, ge=1, description="Layers of the BiLSTM")
    windows: int = Field(1, ge=0, description="Layers of the CNN, each seeing one word more on either side")
    dropout: float = Field(0.3, ge=0, lt=1, description="Share of values left out in training")
    rate: float = Field(0.002, gt=0, description="Rate of learning at its highest")
    sequence_weight: float = Field(0.5, ge=0, le=1, description="Weight of the loss of whole sequences of depths")
    unknown: float = Field(0.5, ge=0, description="A word seen n times is hidden with chance unknown / (unknown + n)")
    variation: float = Field(0.06, ge=0, le=1, description="Chance of each kind of change to a training sentence")
    own_trees: float = Field(
        0.5, ge=0, le=1, description="Share of train_tags read with own trees after half the passes"
    )
    seed: int = Field(0, description="Seed of weights, order, draws and variation")


def train(config: TrainEnglishConfig, progress: Progress = print) -> dict[str, Any]:
    """Train a pipeline, write it to ``config.out`` and return its scores on the test files."""
    if not config.train_trees:
        raise InputError("--train-trees: no file given, expected at least one; name files of trees to train on")
    if config.out is None:
        raise InputError("--out is missing: name the folder that the trained pipeline goes to")
    trees = [sentence for path in config.train_trees for sentence in read_trees(path)]
    capped = [sentence for path in config.capped_trees for sentence in read_trees(path)]
    tagged = [sentence for path in config.train_tags for sentence in read_tags(path)]
    dev = {path.name: read_trees(path) for path in config.dev_trees}
    dev |= {path.name: read_tags(path) for path in config.dev_tags}
    tests = read_tests(config)

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
    inventory = collect_inventory(counts, MINIMUM)
    labels = collect_labels([*trees, *capped], tagged)
    sizes = Architecture(config.width, config.hidden, config.layers, config.windows, config.dropout)
    network = JointNetwork(inventory, labels, sizes)
    batcher = Batcher(inventory, labels, config.batch_words)
    trainer = Trainer(
        network,
        batcher,
        counts,
        steps=config.passes * -(-mixture.words() // config.batch_words),
        rate=config.rate,
        sequence_weight=config.sequence_weight,
        unknown=config.unknown,
    )
    weights = sum(weight.numel() for weight in network.parameters())
    progress(f"{mixture.words()} words a pass, {config.passes} passes; {weights} weights")

    curve = []
    began = time.process_time()
    for number in range(1, config.passes + 1):
        after_half = number - config.passes // 2
        if config.own_trees and tagged and (after_half == 1 or (after_half > 1 and number % 4 == 0)):
            with trainer.averaged() as averaged:
                mixture.parse(averaged, batcher)
        loss = trainer.run(mixture.draw(random), random)
        with trainer.averaged() as averaged:
            scores = {name: compare(gold, averaged.parse(gold, batcher)).row() for name, gold in dev.items()}
        seconds = round(time.process_time() - began)
        curve.append({"pass": number, "cpu_seconds": seconds, "loss": round(loss, 3), **scores})
        progress(json.dumps(curve[-1]))

    with trainer.averaged() as averaged:
        assemble(averaged.eval(), META | {"sources": list(config.sources)}).to_disk(config.out)
    nlp = spacy.load(config.out)
    nlp.meta["performance"] = scores = score(nlp, tests, progress)
    nlp.to_disk(config.out)
    record = {"config": _named(config), "curve": curve}
    (config.out / "training.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
    return scores


def _named(config: TrainEnglishConfig) -> dict[str, Any]:
    """The config with the names of files instead of their paths."""
    settings = config.model_dump(mode="json", exclude={"out", "evaluate_only", "sources"})
    paths = {name: value for name, value in config if name.endswith(("_trees", "_tags")) and isinstance(value, tuple)}
    return settings | {name: [path.name for path in value] for name, value in paths.items()}


def read_tests(config: TrainEnglishConfig) -> dict[str, list[Sentence]]:
    """The test sentences by name of file."""
    tests = {path.name: read_trees(path) for path in config.test_trees}
    return tests | {path.name: read_tags(path) for path in config.test_tags}


def score(nlp: Language, tests: Mapping[str, Sequence[Sentence]], progress: Progress = print) -> dict[str, Any]:
    """The scores of a pipeline on each test file, with gold tokens and from raw text."""
    scores: dict[str, Any] = {}
    for name, sentences in tests.items():
        scores[name] = {"gold_tokens": evaluate(nlp, sentences).row()}
        scores[name]["raw_text"] = evaluate(nlp, sentences, raw=True).row()
        for tokens, row in scores[name].items():
            progress(f"{name} {tokens}: " + ", ".join(f"{figure} {value:.2f}" for figure, value in row.items()))
    return scores


def run(config: TrainEnglishConfig) -> None:
    """Train or, with `evaluate_only`, score."""
    torch.set_num_threads(1)
    if config.evaluate_only:
        folder = config.out or FOLDER
        if not (folder / "config.cfg").is_file():
            raise InputError(f"--out {folder}: holds no spaCy pipeline (no config.cfg); name one, or leave it out")
        score(spacy.load(folder), read_tests(config))
    else:
        train(config, lambda line: print(line, flush=True))


if __name__ == "__main__":
    sys.exit(main(TrainEnglishConfig, "train_english", str(__doc__).splitlines()[0], run))
