"""The options of `finetune`."""

from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from jobs.stage.options import CorpusModelConfig, listed


class FinetuneConfig(CorpusModelConfig):
    """Options of `finetune`, and those of `ingest` for when --corpus is given."""

    heading: ClassVar[tuple[int, str]] = (60, "finetune")
    required: ClassVar[tuple[str, ...]] = ("out", "label")

    label: str = Field("", description="column of the sources that holds a document's label")
    drop_label: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field(
        (), description="leave out the documents of this label, repeatable"
    )
    min_documents: int = Field(2, ge=2, description="documents that a label needs; those of rarer ones are left out")
    documents: int | None = Field(
        None, ge=4, description="most documents, a seeded uniform sample; none given: all that have a label"
    )
    test_share: float = Field(0.2, gt=0, lt=1, description="share of each label's documents that are for the test")
    split_seed: int = Field(
        0, ge=0, description="seed of the sample and of the split, so that trainings of several --seed share both"
    )
    shuffle_labels: bool = Field(False, description="shuffle the labels of the training documents, a control")
    epochs: int = Field(5, ge=1, description="passes over the training documents")
    learning_rate: float = Field(1e-5, gt=0, description="of Adam, the same throughout")
    dropout: float = Field(0.5, ge=0, lt=1, description="share of [CLS] that is dropped before the linear layer")
    batch_size: int = Field(8, ge=1, description="documents of a step")
    max_tokens: int | None = Field(
        None, ge=3, description="most tokens of a document, special ones included; none given: what the model takes"
    )
    checkpoint_steps: int = Field(200, ge=1, description="steps between two checkpoints")
