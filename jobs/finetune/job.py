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

from typing import ClassVar

from pydantic import Field

from jobs.options.configs import CorpusModelConfig, Texts
from jobs.stage.main import Job


class FinetuneConfig(CorpusModelConfig):
    """Options of `finetune`, and the options of `ingest` for when --corpus is given."""

    heading: ClassVar[tuple[int, str]] = (60, "Fine-tuning (finetune)")
    required: ClassVar[tuple[str, ...]] = ("out", "label")

    label: str = Field("", description="Column of the sources that holds a document's label")
    drop_label: Texts = Field((), description="Exclude the documents with this label; repeatable")
    min_documents: int = Field(2, ge=2, description="Exclude labels with fewer documents than this")
    documents: int | None = Field(
        None, ge=4, description="Use at most this many documents, a uniform sample (default: all that have a label)"
    )
    test_share: float = Field(0.2, gt=0, lt=1, description="Keep this share of each label's documents for the test")
    split_seed: int = Field(
        0, ge=0, description="Seed of the sample and the split, so that runs with different --seed values share both"
    )
    shuffle_labels: bool = Field(False, description="Shuffle the labels of the training documents, as a control")
    epochs: int = Field(5, ge=1, description="Passes over the training documents")
    learning_rate: float = Field(1e-5, gt=0, description="Learning rate of Adam, constant throughout")
    dropout: float = Field(0.5, ge=0, lt=1, description="Share of [CLS] that is dropped before the linear layer")
    batch_size: int = Field(8, ge=1, description="Documents per step")
    max_tokens: int | None = Field(
        None, ge=3, description="Cut documents to this many tokens, special ones included (default: the model's limit)"
    )
    checkpoint_steps: int = Field(200, ge=1, description="Steps between two checkpoints")


JOB = Job("finetune", FinetuneConfig, "jobs.finetune.steps:finetune", __doc__)
