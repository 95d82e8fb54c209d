"""Fine-tune a model to classify the corpus's documents, to compare it with the original model.

    atlas finetune --out runs/news --model sample --split none --corpus news.parquet --label category
    atlas finetune --out runs/shuffled --corpus ... --label category --shuffle-labels     # a control
    atlas compare --out runs/small --against runs/news --split none \\
        --text-set 'train=runs/news/finetune/train/*.parquet' --text-set 'test=runs/news/finetune/test/*.parquet'

The classifier is one linear layer on [CLS], trained with the Trainer of transformers; the defaults are from Oba 2021
(Table 3). A document consists of the sentences of corpus/ with the same doc_id, joined. Writes finetune/train and
finetune/test (the split), finetune/epochs, finetune/labels, finetune/figures and finetune/model, which every --model
and --against accepts. With --corpus, it reads the sources first (jobs.ingest). If the job is killed, the same command
resumes at the last checkpoint, with the same final weights.

What to expect (packaged model, November 2026): a step of 8 documents of 64 tokens takes 0.9 s of one core. After 226
such steps, the accuracy on 289 test documents in 19 categories of news is 0.78; always naming the most frequent
category gives 0.37. docs/compare.md lists the shifts, next to the shifts for shuffled labels and for another seed.
"""

from jobs.options.configs import CorpusModelConfig, Texts, option
from jobs.stage.main import Job


class FinetuneConfig(CorpusModelConfig):
    """Options of `finetune`, and the options of `ingest` for when --corpus is given."""

    heading = (60, "Fine-tuning (finetune)")
    required = ("out", "label")

    label: str = option("", "Column of the sources that holds a document's label")
    drop_label: Texts = option((), "Exclude the documents with this label; repeatable")
    min_documents: int = option(2, "Exclude labels with fewer documents than this", ge=2)
    documents: int | None = option(
        None, "Use at most this many documents, a uniform sample (default: all that have a label)", ge=4
    )
    test_share: float = option(0.2, "Keep this share of each label's documents for the test", gt=0, lt=1)
    split_seed: int = option(
        0, "Seed of the sample and the split, so that runs with different --seed values share both", ge=0
    )
    shuffle_labels: bool = option(False, "Shuffle the labels of the training documents, as a control")
    epochs: int = option(5, "Passes over the training documents", ge=1)
    learning_rate: float = option(1e-5, "Learning rate of Adam, constant throughout", gt=0)
    dropout: float = option(0.5, "Share of [CLS] that is dropped before the linear layer", ge=0, lt=1)
    batch_size: int = option(8, "Documents per step", ge=1)
    max_tokens: int | None = option(
        None, "Cut documents to this many tokens, special ones included (default: the model's limit)", ge=3
    )
    checkpoint_steps: int = option(200, "Steps between two checkpoints", ge=1)


JOB = Job("finetune", FinetuneConfig, "jobs.finetune.steps:finetune", __doc__)
