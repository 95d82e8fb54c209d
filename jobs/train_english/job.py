"""Train the English pipeline that comes with the project, from treebank files; print how well it does.

    python -m jobs.train_english --train-trees gum-train.mrg.gz --capped-trees craft-train.mrg.gz \\
        --train-tags ewt-train.tags.gz --dev-trees gum-dev.mrg.gz --dev-tags ewt-dev.tags.gz \\
        --test-trees gum-test.mrg.gz craft-test.mrg.gz --test-tags ewt-test.tags.gz --out runs/english
    python -m jobs.train_english --teacher runs/english --hidden 128 --passes 8 --rate 0.001 --dropout 0.15 \\
        --own-trees 0 --train-trees ... --out runs/narrow
    python -m jobs.train_english --evaluate-only --test-trees ... --test-tags ...

The first trains a network, the second a narrower one out of it, at the same accuracy and twice the speed: the one that
ships.

What to expect: 34 minutes on one core with bfloat16 instructions (AMD EPYC, 2026-11), then gum-test F1 82.8
and tags 96.7, craft-test F1 83.4, ewt-test tags 95.3 (gold tokens); for the second 15 minutes on one without, then
82.9, 96.8, 83.3 and 95.4. The curves and what was tried: docs/english.md.
"""

from pathlib import Path
from typing import Annotated

import cyclopts
from pydantic import Field

from jobs.stage.command_line import Job
from jobs.stage.options import CheckedConfig

# What the pipeline that comes with the project was trained on.
SOURCES = (
    "GUM, training part, trees by a parser (amir-zeldes/gum, 2025-05): annotations CC BY 4.0; texts CC BY,"
    " CC BY-SA or public domain",
    "CRAFT, training part, gold trees (UCDenver-ccp/CRAFT): CC BY 3.0",
    "English Web Treebank, training part, tags (UniversalDependencies/UD_English-EWT): CC BY-SA 4.0",
)

Files = Annotated[tuple[Path, ...], cyclopts.Parameter(consume_multiple=True)]


class TrainEnglishConfig(CheckedConfig):
    """What to train on and how, or with ``evaluate_only`` what to test."""

    train_trees: Files = Field((), description="Files, one bracketed tree per line, read whole each pass")
    capped_trees: Files = Field((), description="Files of trees, of which a pass draws capped_sentences")
    train_tags: Files = Field((), description="Files, word<TAB>tag per line, read whole each pass")
    dev_trees: Files = Field((), description="Files of trees that are scored after each pass")
    dev_tags: Files = Field((), description="Files of tags that are scored after each pass")
    test_trees: Files = Field((), description="Files of trees that the finished pipeline is scored on")
    test_tags: Files = Field((), description="Files of tags that the finished pipeline is scored on")
    out: Path | None = Field(
        None,
        description="Folder to write the pipeline to: new, empty, or holding an earlier pipeline of this job;"
        " with evaluate_only the one to read (default: the shipped one)",
    )
    teacher: Path | None = Field(
        None,
        description="Folder of a pipeline of this job: start from its words, its CNN and the hidden units of its BiLSTM"
        " that carry most, and learn its scores beside the labels",
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


def run(config: TrainEnglishConfig) -> None:
    """Train or, with `evaluate_only`, score."""
    import torch

    from jobs.train_english.train import score_shipped, train

    torch.set_num_threads(1)
    if config.evaluate_only:
        score_shipped(config)
    else:
        train(config, lambda line: print(line, flush=True))


JOB = Job("train_english", TrainEnglishConfig, run, __doc__)
