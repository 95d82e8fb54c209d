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

import sys

from jobs.stage.command_line import main
from jobs.stage.train_english_config import TrainEnglishConfig


def run(config: TrainEnglishConfig) -> None:
    """Train or, with `evaluate_only`, score."""
    import torch

    from jobs.steps.train_english import score_shipped, train

    torch.set_num_threads(1)
    if config.evaluate_only:
        score_shipped(config)
    else:
        train(config, lambda line: print(line, flush=True))


if __name__ == "__main__":
    sys.exit(main(TrainEnglishConfig, "train_english", str(__doc__).splitlines()[0], run))
