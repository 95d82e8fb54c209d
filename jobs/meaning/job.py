"""Measure what words and sentences mean: contexts, vectors, analogies, next sentences, short codes.

    atlas meaning --out runs/meaning --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.meaning --out s3://bkt/run --preset paper --gpus 8 \\
        --model bert-base-uncased

The parts are `counts` of contexts, `offsets` between words in the vectors of the counts and in the model's token table
and layers, `confusion` of blanked words, `sentences` (next sentences, masked words, translations), and `hashing` of
sentences to short codes. docs/meaning.md describes them. With --corpus, the sources are ingested first.
atlas show --out runs/meaning --word file prints the results for the word "file".
"""

from typing import ClassVar, Literal

from pydantic import Field

from jobs.options.configs import CorpusPassConfig
from jobs.stage.main import Job


class MeaningConfig(CorpusPassConfig):
    """Options of `meaning`, and the options of `ingest` for when --corpus is given."""

    heading: ClassVar[tuple[int, str]] = (60, "Words and sentences (meaning)")

    parts: str = Field("", description="Run these of counts,offsets,confusion,sentences,hashing (default: all)")
    context_words: str = Field(
        "2000", description="Use this many of the most frequent content words as contexts, or a file with one per line"
    )
    window: int = Field(5, ge=1, description="Count context words up to this many positions away, within the sentence")
    word_case: Literal["keep", "lower"] = Field("keep", description="Keep words as written, or fold them to lower case")
    min_count: int = Field(5, ge=1, description="Keep words that occur at least this often in the corpus")
    smoothing: float = Field(
        0.75, gt=0, le=1, description="Raise the context words' counts to this power in the PPMI; 1: no smoothing"
    )
    dimensions: int = Field(100, ge=1, le=10_000, description="Dimensions of the word vectors")
    singular_power: float = Field(
        0.5, ge=0, le=1, description="Raise the singular values to this power in the word vectors"
    )
    offset_words: int = Field(10_000, ge=4, description="Compare at most this many words, the most frequent ones")
    model_sample: int | None = Field(
        None, ge=1, description="Have the model read this many sentences, a uniform sample (default: all)"
    )
    neighbours: int = Field(10, ge=1, description="Keep this many nearest words per word and space")
    confusion: str = Field(
        "", description="Sets of easily confused words, such as 'to two too, then than' (default: twelve sets)"
    )
    confusion_most: int = Field(
        150_000, ge=100, description="Use at most this many examples per confusion set, a uniform sample"
    )
    confusion_states: int = Field(3_000, ge=100, description="Have the model read this many of these examples")
    analogies: str = Field(
        "", description="File of questions: `: category`, then four words a line (default: the packaged questions)"
    )
    sentence_pairs: int = Field(
        5_000, ge=20, description="Test on this many sentences whether the next one is nearer than another one"
    )
    masked_sentences: int = Field(
        5_000, ge=1, description="Mask words in this many sentences, a uniform sample (models with a masked-word head)"
    )
    mask_rate: float = Field(0.15, gt=0, lt=1, description="Mask this share of a sentence's tokens")
    language_column: str | None = Field(
        None, description="Column that names a sentence's language (default: language, if there is one)"
    )
    translation_column: str | None = Field(
        None, description="Column whose value translations share (default: doc_id and place in the document)"
    )
    translations: int = Field(2_000, ge=10, description="Use at most this many translated sentences, a seeded sample")
    hashed_sentences: int = Field(10_000, ge=100, description="Hash this many sentences, a uniform sample")
    hash_layer: int | None = Field(None, ge=1, description="Hash the states of this layer (default: the last one)")
    hash_neighbours: int = Field(
        10, ge=1, le=1_000_000, description="Look up this many nearest sentences by their codes"
    )
    label: str | None = Field(
        None, description="Column whose values neighbours should share (default: topic, category and dataset)"
    )
    epochs: int = Field(30, ge=1, description="Train an autoencoder for this many passes over the hashed sentences")


JOB = Job("meaning", MeaningConfig, "jobs.meaning.steps:meaning", __doc__)
