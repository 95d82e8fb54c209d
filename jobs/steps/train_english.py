"""Training the English pipeline by a config, writing it, and scoring it."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import spacy
import torch
from spacy.language import Language

from jobs.stage.train_english_config import TrainEnglishConfig
from ops.english import FOLDER
from ops.english.training.assemble import assemble, disassemble
from ops.english.training.batches import Batcher, collect_labels
from ops.english.training.distillation import narrowed
from ops.english.training.evaluation import compare, evaluate
from ops.english.training.mixture import Mixture
from ops.english.training.model import Architecture, JointNetwork
from ops.english.training.training import Trainer
from ops.english.training.treebank import Sentence, read_tags, read_trees
from ops.english.words import collect_inventory
from ops.errors import InputError

MINIMUM = {"word": 2, "suffix2": 4, "suffix3": 4, "prefix3": 5, "shape": 6, "character": 8}

# Sentences of either kind that the units of a teacher's BiLSTM are measured on.
MEASURED = 1000

RECORD = "training.json"

META = {
    "lang": "en",
    "name": "atlas_english",
    "version": "1.1.0",
    "description": "Penn tags and constituency trees on a CPU",
    "license": "CC BY-SA 4.0",
}

Progress = Callable[[str], None]


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
    teacher = load_teacher(config)
    if teacher is not None:
        inventory, labels = teacher.reader.inventory, teacher.labels
    batcher = Batcher(inventory, labels, config.batch_words)
    if teacher is None:
        network = JointNetwork(inventory, labels, sizes)
    else:
        sample = random.sample(trees, min(MEASURED, len(trees))) + random.sample(tagged, min(MEASURED, len(tagged)))
        network = narrowed(teacher, sizes, list(batcher.batches(sample, random)))
    trainer = Trainer(
        network,
        batcher,
        counts,
        steps=config.passes * -(-mixture.words() // config.batch_words),
        rate=config.rate,
        sequence_weight=config.sequence_weight,
        unknown=config.unknown,
        teacher=teacher,
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
    scores = score(spacy.load(config.out), tests, progress)
    nlp = spacy.load(config.out)  # the one that was scored has the tests' words in its vocabulary
    nlp.meta["performance"] = scores
    nlp.to_disk(config.out)
    record: dict[str, Any] = {"config": _named(config), "curve": curve}
    if config.teacher is not None and (config.teacher / RECORD).is_file():
        record["teacher"] = json.loads((config.teacher / RECORD).read_text(encoding="utf-8"))
    (config.out / RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")
    return scores


def load_teacher(config: TrainEnglishConfig) -> JointNetwork | None:
    """The network of the pipeline in `config.teacher`, None where none is named.

    Raises:
        InputError: there is none, or the network that is to be trained cannot be taken from it.
    """
    if config.teacher is None:
        return None
    if not (config.teacher / "config.cfg").is_file():
        raise InputError(f"--teacher {config.teacher}: holds no spaCy pipeline (no config.cfg); name another folder")
    network = disassemble(spacy.load(config.teacher))
    reader = network.reader
    for name in ("width", "layers", "windows"):
        found, wanted = getattr(reader, name), getattr(config, name)
        if found != wanted:
            raise InputError(f"--teacher {config.teacher}: its {name} is {found}, expected {wanted} as --{name} has it")
    if reader.hidden < config.hidden:
        raise InputError(
            f"--teacher {config.teacher}: its hidden size is {reader.hidden}, expected {config.hidden} or more;"
            " lower --hidden"
        )
    return network


def _named(config: TrainEnglishConfig) -> dict[str, Any]:
    """The config with the names of files instead of their paths."""
    settings = config.model_dump(mode="json", exclude={"out", "evaluate_only", "sources", "teacher"})
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


def score_shipped(config: TrainEnglishConfig) -> None:
    """Score the pipeline in `config.out`, or the shipped one.

    Raises:
        InputError: there is none.
    """
    folder = config.out or FOLDER
    if not (folder / "config.cfg").is_file():
        raise InputError(f"--out {folder}: holds no spaCy pipeline (no config.cfg); name one, or leave it out")
    score(spacy.load(folder), read_tests(config))
