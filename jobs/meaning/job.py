"""Measure what words and sentences mean: contexts, vectors, analogies, next sentences, short codes.

    python -m jobs.meaning --out runs/meaning --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.meaning --out s3://bkt/run --preset paper --gpus 8 \\
        --model bert-base-uncased

The parts are `counts` of contexts, `offsets` between words in the vectors of the counts and in the model's token table
and layers, `confusion` of blanked words, `sentences` (next sentences, masked words, translations), and `hashing` of
sentences to short codes. docs/meaning.md describes them. With --corpus, the sources are ingested first. python -m
jobs.show --out runs/meaning --word file prints the results for the word "file".
"""

import sys
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from jobs.ingest import job as ingest
from jobs.stage.command_line import Job, in_run
from jobs.stage.options import CorpusPassConfig
from ops.errors import InputError, visible

if TYPE_CHECKING:
    from jobs.stage.run import Run
    from ops.model.load import ModelFacts
    from ops.model.tokenizer import Tokenizer

PARTS = ("counts", "offsets", "confusion", "sentences", "hashing")
OF_PLACES = ("offsets", "confusion")  # parts for which the tokenizer must give the positions of tokens in the text


def _text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class MeaningConfig(CorpusPassConfig):
    """Options of `meaning`, and the options of `ingest` for when --corpus is given."""

    heading: ClassVar[tuple[int, str]] = (60, "Words and sentences (meaning)")

    parts: str = Field("", description="Run these of counts,offsets,confusion,sentences,hashing (default: all)")
    context_words: Annotated[str, BeforeValidator(_text)] = Field(
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
        None,
        description="Column that names a sentence's language (default: language, if there is one)",
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
        None,
        description="Column whose values neighbours should share (default: topic, category and dataset)",
    )
    epochs: int = Field(30, ge=1, description="Train an autoencoder for this many passes over the hashed sentences")


def do(config: MeaningConfig, record: "Run") -> None:
    """Run the parts, or the missing work of them, after `ingest` if sources are named."""
    from jobs.meaning.confusion import confuse
    from jobs.meaning.counts import count
    from jobs.meaning.hashing import compress, draw_labelled
    from jobs.meaning.offsets import compare
    from jobs.meaning.sentences import follow
    from jobs.stage.checks import check_column, check_source_column
    from ops.meaning.analogies import read_analogies
    from ops.meaning.confusion import DEFAULT, read_sets
    from ops.meaning.vocabulary import read_context_words

    parts = chosen_parts(config.parts)
    context_words = read_context_words(config.context_words, config.word_case)
    questions = read_analogies(config.analogies)
    sets = read_sets(config.confusion or DEFAULT)
    parts, model = check_parts(config, record, parts)
    columns = named_columns(config, parts)
    for flag, column in columns.items():
        check_source_column(config, flag, column)
    ingest.do_where_named(config, record)
    for flag, column in columns.items():
        check_column(record, flag, column)
    drawn = draw_labelled(config, record) if "hashing" in parts else None
    if "counts" in parts:
        count(config, record, context_words)
    if model is None:
        return
    if "offsets" in parts:
        compare(config, record, *model, questions)
    if "confusion" in parts:
        confuse(config, record, *model, sets)
    if "sentences" in parts:
        follow(config, record, *model)
    if drawn is not None:
        compress(config, record, *model, drawn)


def chosen_parts(text: str) -> tuple[str, ...]:
    """Return the parts that `--parts` names, or all parts, in their order.

    Raises:
        InputError: there is no such part.
    """
    given = [part.strip() for part in text.split(",")] if text else list(PARTS)
    for part in given:
        if part not in PARTS:
            raise InputError(f"--parts {text}: there is no part {part!r}; name some of {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in given)


def check_parts(
    config: MeaningConfig, record: "Run", parts: tuple[str, ...]
) -> tuple[tuple[str, ...], "tuple[ModelFacts, Tokenizer] | None"]:
    """Check options, sources and model before anything heavy starts; return the parts, and the model if needed.

    A part without data for the model is an error if the user named the parts; otherwise it is skipped with a message.

    Raises:
        InputError: an input is missing or invalid.
    """
    from jobs.stage.checks import check_ingest_options, check_pass, check_sources

    if parts == ("counts",):
        check_ingest_options(config)
        if config.corpus:
            check_sources(config)
        else:
            record.require("ingest")
        return parts, None
    facts, tokenizer = check_pass(config, record)
    check_layer(config.hash_layer, facts)
    if "offsets" in parts and "counts" not in parts and not record.complete("meaning/counts"):
        raise InputError("--parts: offsets compares the words that were counted; give --parts counts,offsets")
    if not tokenizer.has_spans and set(OF_PLACES) & set(parts):
        why = f"the tokenizer of {config.model} does not give the positions of its tokens in the text"
        rest = [part for part in parts if part not in OF_PLACES]
        if config.parts:
            raise InputError(f"--parts {','.join(parts)}: {why}; give --parts {','.join(rest or ['counts'])}")
        say(f"{' and '.join(OF_PLACES)} are skipped: {why}")
        parts = tuple(rest)
    return parts, (facts, tokenizer)


def named_columns(config: MeaningConfig, parts: tuple[str, ...]) -> dict[str, str | None]:
    """Return the metadata columns that the parts read, by the option that names each column."""
    columns: dict[str, str | None] = {}
    if "sentences" in parts:
        columns |= {"--language-column": config.language_column, "--translation-column": config.translation_column}
    if "hashing" in parts and config.label != "dataset":
        columns["--label"] = config.label
    return columns


def check_layer(layer: int | None, facts: "ModelFacts") -> int:
    """Return the layer that is read; the last layer if none is named.

    Raises:
        InputError: the model has no such layer.
    """
    if layer is not None and layer > facts.layers:
        raise InputError(f"--hash-layer {layer}: {facts.name} has {facts.layers} layers; name one of them")
    return layer or facts.layers


def say(text: str) -> None:
    """Print one line on standard error."""
    print(f"meaning: {visible(text)}", file=sys.stderr)


JOB = Job("meaning", MeaningConfig, in_run(do), __doc__)
