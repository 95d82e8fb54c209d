"""Measure what words and sentences mean: contexts, vectors, analogies, next sentences, short codes.

    atlas meaning --out runs/meaning --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.meaning --out s3://bkt/run --preset paper --gpus 8 \\
        --model bert-base-uncased

The parts are `counts` of contexts, `offsets` between words in the vectors of the counts and in the model's token table
and layers, `confusion` of blanked words, `sentences` (next sentences, masked words, translations), and `hashing` of
sentences to short codes. docs/meaning.md describes them. With --corpus, the sources are ingested first.
atlas show --out runs/meaning --word file prints the results for the word "file".
"""

from typing import Literal

from jobs.options.configs import CorpusPassConfig, option
from jobs.stage.main import Job


class MeaningConfig(CorpusPassConfig):
    """Options of `meaning`, and the options of `ingest` for when --corpus is given."""

    heading = (60, "Words and sentences (meaning)")

    parts: str = option("", "Run these of counts,offsets,confusion,sentences,hashing (default: all)")
    context_words: str = option(
        "2000", "Use this many of the most frequent content words as contexts, or a file with one per line"
    )
    window: int = option(5, "Count context words up to this many positions away, within the sentence", ge=1)
    word_case: Literal["keep", "lower"] = option("keep", "Keep words as written, or fold them to lower case")
    min_count: int = option(5, "Keep words that occur at least this often in the corpus", ge=1)
    smoothing: float = option(
        0.75, "Raise the context words' counts to this power in the PPMI; 1: no smoothing", gt=0, le=1
    )
    dimensions: int = option(100, "Dimensions of the word vectors", ge=1, le=10_000)
    singular_power: float = option(0.5, "Raise the singular values to this power in the word vectors", ge=0, le=1)
    offset_words: int = option(10_000, "Compare at most this many words, the most frequent ones", ge=4)
    model_sample: int | None = option(
        None, "Have the model read this many sentences, a uniform sample (default: all)", ge=1
    )
    neighbours: int = option(10, "Keep this many nearest words per word and space", ge=1)
    confusion: str = option("", "Sets of easily confused words, such as 'to two too, then than' (default: twelve sets)")
    confusion_most: int = option(150_000, "Use at most this many examples per confusion set, a uniform sample", ge=100)
    confusion_states: int = option(3_000, "Have the model read this many of these examples", ge=100)
    analogies: str = option(
        "", "File of questions: `: category`, then four words a line (default: the packaged questions)"
    )
    sentence_pairs: int = option(
        5_000, "Test on this many sentences whether the next one is nearer than another one", ge=20
    )
    masked_sentences: int = option(
        5_000, "Mask words in this many sentences, a uniform sample (models with a masked-word head)", ge=1
    )
    mask_rate: float = option(0.15, "Mask this share of a sentence's tokens", gt=0, lt=1)
    language_column: str | None = option(
        None, "Column that names a sentence's language (default: language, if there is one)"
    )
    translation_column: str | None = option(
        None, "Column whose value translations share (default: doc_id and place in the document)"
    )
    translations: int = option(2_000, "Draw at most this many values that translations may share, by the seed", ge=10)
    hashed_sentences: int = option(10_000, "Hash this many sentences, a uniform sample", ge=100)
    hash_layer: int | None = option(None, "Hash the states of this layer (default: the last one)", ge=1)
    hash_neighbours: int = option(10, "Look up this many nearest sentences by their codes", ge=1, le=1_000_000)
    label: str | None = option(
        None, "Column whose values neighbours should share (default: topic, category and dataset)"
    )
    epochs: int = option(30, "Train an autoencoder for this many passes over the hashed sentences", ge=1)


JOB = Job("meaning", MeaningConfig, "jobs.meaning.steps:meaning", __doc__)
