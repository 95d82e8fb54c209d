"""The options of `meaning`."""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from jobs.stage.options import CorpusPassConfig


def _text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class MeaningConfig(CorpusPassConfig):
    """Options of `meaning`, and those of `ingest` for when --corpus is given."""

    heading: ClassVar[tuple[int, str]] = (60, "meaning")

    parts: str = Field(
        "", description="parts to do: counts, offsets, confusion, sentences, hashing, with commas; none given: all"
    )
    context_words: Annotated[str, BeforeValidator(_text)] = Field(
        "2000", description="file with a context word a line, or how many: the most frequent content words"
    )
    window: int = Field(5, ge=1, description="words to each side of a word, within the sentence, that are its context")
    word_case: Literal["keep", "lower"] = Field("keep", description="words as written, or folded to lower case")
    min_count: int = Field(5, ge=1, description="least occurrences of a word that is kept, once all are added up")
    smoothing: float = Field(0.75, gt=0, le=1, description="power of the context words' counts in the PPMI; 1: none")
    dimensions: int = Field(100, ge=1, le=10_000, description="dimensions of the words' vectors")
    singular_power: float = Field(0.5, ge=0, le=1, description="power of the singular values in the words' vectors")
    offset_words: int = Field(10_000, ge=4, description="most words that are compared, the most frequent ones")
    model_sample: int | None = Field(
        None, ge=1, description="sentences that the model reads, a uniform sample; none given: all"
    )
    neighbours: int = Field(10, ge=1, description="nearest words that are kept of each word and space")
    confusion: str = Field(
        "", description="words that are confused: sets with commas, such as 'to two too, then than'; none given: twelve"
    )
    confusion_most: int = Field(150_000, ge=100, description="most examples of a confusion set, a uniform sample")
    confusion_states: int = Field(3_000, ge=100, description="those of them that the model reads")
    analogies: str = Field(
        "", description="file of questions (`: category`, then four words a line); none given: the packaged ones"
    )
    sentence_pairs: int = Field(
        5_000, ge=20, description="sentences that are told from others by their next one, a seeded sample"
    )
    masked_sentences: int = Field(
        5_000, ge=1, description="sentences with masked words, a uniform sample (models with a head for them)"
    )
    mask_rate: float = Field(0.15, gt=0, lt=1, description="share of a sentence's tokens that are masked")
    language_column: str | None = Field(
        None,
        description="column of the sources that names a sentence's language; none given: language, if there is one",
    )
    translation_column: str | None = Field(
        None, description="column whose value translations share; none given: their doc_id and place in the document"
    )
    translations: int = Field(2_000, ge=10, description="most translated sentences, a seeded sample")
    hashed_sentences: int = Field(10_000, ge=100, description="sentences that are hashed, a uniform sample")
    hash_layer: int | None = Field(None, ge=1, description="layer whose states are hashed; none given: the last one")
    hash_neighbours: int = Field(10, ge=1, description="nearest sentences by their codes that are asked for")
    label: str | None = Field(
        None,
        description="column of the sources by whose values neighbours are judged; none given: topic, category, dataset",
    )
    epochs: int = Field(30, ge=1, description="passes of an autoencoder over the hashed sentences")
