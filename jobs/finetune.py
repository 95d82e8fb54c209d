"""Fine-tune a model as a classifier of the corpus's documents, so that it can be compared with what it was before.

    python -m jobs.finetune --out runs/news --model sample --split none --corpus news.parquet --label category
    python -m jobs.finetune --out runs/shuffled --corpus ... --label category --shuffle-labels     # a control
    python -m jobs.compare --out runs/small --against runs/news --split none \\
        --text-set 'train=runs/news/finetune/train/*.parquet' --text-set 'test=runs/news/finetune/test/*.parquet'

One linear layer on [CLS], trained by transformers' Trainer; the defaults are those of Oba 2021 (Table 3). A document is
the sentences of corpus/ with one doc_id, joined. Writes finetune/train and finetune/test (the split), finetune/epochs,
finetune/labels, finetune/figures and finetune/model, which any --model and --against takes. With --corpus it reads the
sources first (jobs.ingest). After a kill the same command goes on at the last checkpoint, to the same weights.

What to expect (packaged model, November 2026): 0.9 s of one core for a step of 8 documents of 64 tokens. After 226 of
these steps 0.78 of 289 test documents have the right one of 19 categories of news (always the most frequent one: 0.37).
docs/compare.md has the shifts, beside those of shuffled labels and of another seed.
"""

import sys
from typing import TYPE_CHECKING

from jobs.ingest import job as ingest
from jobs.stage.command_line import main
from jobs.stage.finetune_config import FinetuneConfig

if TYPE_CHECKING:
    from jobs.stage.run import Run
    from ops.model.load import ModelFacts


def run(config: FinetuneConfig) -> None:
    """Do the stage, or what is missing of it; first `ingest` where sources are named."""
    from jobs.stage.dry_run import open_run

    with open_run(config) as record:
        do(config, record)


def do(config: FinetuneConfig, record: "Run") -> None:
    """Do the stage, or what is missing of it, in an open run; first `ingest` where sources are named."""
    from jobs.stage.checks import check_column, check_pass, check_source_column, require_corpus
    from jobs.stage.dry_run import DryRun
    from jobs.steps.finetune.documents import choose
    from jobs.steps.finetune.train import begin_training, documents_step, publish, train_step

    facts, tokenizer = check_pass(config, record)
    check(config, facts)
    check_source_column(config, "--label", config.label)
    ingest.do_where_named(config, record)
    require_corpus(config, tokenizer, record)
    check_column(record, "--label", config.label)
    choice = choose(config, record)
    training = begin_training(config, record, facts, choice)
    if training is None:
        return
    if isinstance(record, DryRun):
        from jobs.plans.finetune import plan_finetune

        plan_finetune(record, training, tokenizer)
        return
    training.stage.do(documents_step(training))
    training.stage.do(train_step(training))
    publish(training)


def check(config: FinetuneConfig, facts: "ModelFacts") -> None:
    """Refuse what cannot work, before anything heavy starts.

    Raises:
        InputError: no column of labels is named, or documents are to be longer than the model takes.
    """
    from ops.errors import InputError

    if not config.label:
        raise InputError("--label is missing: name the column of the sources that holds a document's label")
    if config.max_tokens is not None and config.max_tokens > facts.position_limit:
        raise InputError(
            f"--max-tokens {config.max_tokens}: {config.model} takes {facts.position_limit} tokens at most; "
            "give no more than these"
        )


if __name__ == "__main__":
    sys.exit(main(FinetuneConfig, "finetune", str(__doc__).splitlines()[0], run))
