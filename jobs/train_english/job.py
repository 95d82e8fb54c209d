"""Train the included English pipeline from treebank files, and print its scores.

    atlas train_english --train-trees gum-train.mrg.gz --capped-trees craft-train.mrg.gz \\
        --train-tags ewt-train.tags.gz --dev-trees gum-dev.mrg.gz --dev-tags ewt-dev.tags.gz \\
        --test-trees gum-test.mrg.gz craft-test.mrg.gz --test-tags ewt-test.tags.gz --out runs/english
    atlas train_english --teacher runs/english --hidden 128 --passes 8 --rate 0.001 --dropout 0.15 \\
        --own-trees 0 --train-trees ... --out runs/narrow
    atlas train_english --evaluate-only --test-trees ... --test-tags ...

The first command trains a network. The second trains a narrower network from it, with the same accuracy and twice the
speed; this one is included.

What to expect: the first command takes 34 minutes on one core with bfloat16 instructions (AMD EPYC, 2026-11). Its
scores on gold tokens are: gum-test F1 82.8 and tags 96.7, craft-test F1 83.4, ewt-test tags 95.3. The second command
takes 15 minutes on one core without these instructions, and its scores are 82.9, 96.8, 83.3 and 95.4. docs/english.md
compares both networks.
"""

from pathlib import Path
from typing import Annotated

import cyclopts

from jobs.options.configs import CheckedConfig, option
from jobs.stage.main import Job

# The data on which the included pipeline was trained.
SOURCES = (
    "GUM, training part, trees by a parser (amir-zeldes/gum, 2025-05): annotations CC BY 4.0; texts CC BY,"
    " CC BY-SA or public domain",
    "CRAFT, training part, gold trees (UCDenver-ccp/CRAFT): CC BY 3.0",
    "English Web Treebank, training part, tags (UniversalDependencies/UD_English-EWT): CC BY-SA 4.0",
)

Files = Annotated[tuple[Path, ...], cyclopts.Parameter(consume_multiple=True)]


class TrainEnglishConfig(CheckedConfig):
    """Options of `train_english`: what to train on and how, or (with ``evaluate_only``) what to test."""

    train_trees: Files = option((), "Files with one bracketed tree per line, read completely in each pass")
    capped_trees: Files = option((), "Files of trees from which each pass draws --capped-sentences")
    train_tags: Files = option((), "Files with one word<TAB>tag per line, read completely in each pass")
    dev_trees: Files = option((), "Files of trees to score after each pass")
    dev_tags: Files = option((), "Files of tags to score after each pass")
    test_trees: Files = option((), "Files of trees to score the finished pipeline on")
    test_tags: Files = option((), "Files of tags to score the finished pipeline on")
    out: Path | None = option(
        None, "Folder of the pipeline to write, or to score with --evaluate-only (default: the included one)"
    )
    teacher: Path | None = option(
        None, "Folder of an earlier pipeline of this job: start from its weights and learn its scores too"
    )
    evaluate_only: bool = option(False, "Train nothing; score the pipeline in --out")
    sources: tuple[str, ...] = option(
        SOURCES, "Source and terms of the training files, for meta.json (default: those of the included pipeline)"
    )
    passes: int = option(22, "Passes over the training files", ge=1)
    capped_sentences: int = option(4000, "Sentences that each pass draws from --capped-trees", ge=0)
    batch_words: int = option(1500, "Words per batch", ge=1)
    width: int = option(160, "Size of a word's vector", ge=1)
    hidden: int = option(192, "Size of the BiLSTM's state in each direction", ge=1)
    layers: int = option(2, "Layers of the BiLSTM", ge=1)
    windows: int = option(1, "Layers of the CNN, each seeing one more word on either side", ge=0)
    dropout: float = option(0.3, "Share of values dropped in training", ge=0, lt=1)
    rate: float = option(0.002, "Highest learning rate", gt=0)
    sequence_weight: float = option(0.5, "Weight of the loss over complete sequences of depths", ge=0, le=1)
    unknown: float = option(0.5, "Hide a word seen n times with probability U / (U + n)", ge=0)
    variation: float = option(0.06, "Probability of each kind of change to a training sentence", ge=0, le=1)
    own_trees: float = option(
        0.5, "Share of --train-tags read with the model's own trees in the second half of the passes", ge=0, le=1
    )
    seed: int = option(0, "Seed of weights, order, draws and variation")


JOB = Job("train_english", TrainEnglishConfig, "jobs.train_english.train:train_english", __doc__)
