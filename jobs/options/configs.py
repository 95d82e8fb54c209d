"""The options of every stage, as frozen, checked configs, and the sizes that a preset sets.

Nothing heavy is imported here, so that a job's `--help`, which reads these classes, answers at once.
"""

from collections.abc import Container
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from ops.corpus.token_windows import LEAST, window_size
from ops.sources.file_names import suffixes
from ops.sources.presets import PRESETS as CORPORA
from ops.sources.source import Reading

PRESETS: dict[str, dict[str, Any]] = {
    "small": {"k": 100, "k_per_dataset": 50, "baseline_size": None, "activation_sample": 5_000},
    "paper": {
        "k": 10_000, "k_per_dataset": 1_000, "baseline_size": 1_000_000, "activation_sample": 10_000, "null_sets": 200,
        "subtree_root": "collapse", "pack": 128,
    },
}  # fmt: skip
TAB = r"\t"  # a tab on a command line
MOST = 10**15  # every number must be less than this
MOST_UNITS = 65_536  # most neurons that a stage processes by default if its work grows with their number


def preset_sizes(name: str, options: Container[str]) -> str:
    """Return in words the values that a preset sets for these options.

    >>> preset_sizes("small", ["k", "baseline_size", "seed"])
    'k 100, baseline-size all'
    """
    said = {None: "all"}
    sizes = (
        (option, f"{value:,}" if isinstance(value, int) else said.get(value, value))
        for option, value in PRESETS[name].items()
        if option in options
    )
    return ", ".join(f"{option.replace('_', '-')} {value}" for option, value in sizes)


def flag_of(option: str) -> str:
    """Return an option's flag; the trailing _ of an option whose name is a keyword of Python is dropped.

    >>> flag_of("model_seed"), flag_of("with_")
    ('--model-seed', '--with')
    """
    return f"--{option.rstrip('_').replace('_', '-')}"


def listed(value: object) -> object:
    """Return a single value of a repeatable option as a tuple with this value."""
    return (value,) if isinstance(value, str | int) else value


Config = TypeVar("Config", bound=BaseModel)
Texts = Annotated[tuple[str, ...], BeforeValidator(listed)]  # of an option that may be repeated


def option(default: Any, about: str, **limits: Any) -> Any:
    """Return the field of an option: its default, the line of the help about it, and the limits of its value."""
    return Field(default, description=about, **limits)


class CheckedConfig(BaseModel):
    """Frozen options, in which every number is small enough for a table."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    @field_validator("*")
    @classmethod
    def _is_countable(cls, value: Any) -> Any:
        if isinstance(value, int | float) and abs(value) >= MOST:
            raise ValueError(f"is too large; a number is less than {MOST:,}")
        return value


class JobConfig(CheckedConfig):
    """Options of every job that works on a run.

    Attributes:
        heading: where the help lists the options that a class adds: the position of the heading and its title.
        required: the options that the help lists first.
        notes: lines that the help prints after the options, below the notes of the base classes.
    """

    heading: ClassVar[tuple[int, str]] = (5, "Run")
    required: ClassVar[tuple[str, ...]] = ("out",)
    notes: ClassVar[tuple[str, ...]] = ()

    out: str = option("", "Run directory: a path, or a URI such as s3://bucket/run")
    preset: Literal["small", "paper"] | None = option(None, "Start from a set of sizes; no preset limits the corpus")
    config: str | None = option(None, "Read options from this YAML file, named as here without --; flags override it")


class StageConfig(JobConfig):
    """Options of every stage that runs workers."""

    heading = (80, "All stages")

    redo: bool = option(False, "Run this stage again and replace its results and those of later stages")
    dry_run: bool = option(False, "Check everything, print what each stage would do, its time and its size, and stop")
    seed: int = option(0, "Seed of every random draw", ge=0)
    workers: Annotated[int, Field(ge=1)] | Literal["auto"] = option(
        "auto", "Start at most this many workers; auto: one per core, or all that a cluster brings up"
    )
    keep_partials: bool = option(False, "Keep the partial files of a finished stage")


def values_of(value: Any) -> list[Any]:
    """Return the values of an option, which are several if it was repeated."""
    return list(value) if isinstance(value, list | tuple) else [value]


class UnitsConfig(StageConfig):
    """Options of a stage that can be limited to some neurons (`jobs.stage.units`)."""

    heading = (45, "Neurons")

    units: Texts = option(
        (), f"Process only this neuron, LAYER:UNIT; repeatable; required beyond {MOST_UNITS:,} neurons"
    )


class CorpusConfig(StageConfig):
    """Options of `ingest`: the sources, and how they are turned into sentences."""

    heading = (10, "Corpus (ingest)")
    notes: ClassVar[tuple[str, ...]] = (
        "--model random:NAME: the architecture of NAME with random weights",
        f"--corpus presets: pydocs, {', '.join(CORPORA)}",
        "--corpus data sets: hf:ORG/NAME[:CONFIG][:SPLIT]",
        f"--corpus files: {suffixes()}",
    )

    model: str = option(
        "sample", "Hugging Face id, directory, sample (MiniLM) or random:NAME (default: the run's model, or sample)"
    )
    model_seed: int | None = option(None, "Seed of the weights of --model random:NAME (default: 0)", ge=0)
    corpus: Texts = option(
        (), "Read this source, [NAME=]SOURCE: a file, glob, URI, Hugging Face data set or preset; repeatable"
    )
    text_column: str = option("text", "Column that holds the text (default: text, or else a column of chats: messages)")
    delimiter: str = option("", "Character between the cells of CSV files (default: found from the header)")
    paragraphs: bool = option(False, "Take each paragraph of a .txt file as a row, for text with hard line breaks")
    split: Literal["sentences", "none"] | Annotated[str, Field(pattern=r"^tokens:\d{1,15}$")] = option(
        "sentences", "Split texts into sentences, keep rows as they are (none), or cut windows of N tokens (tokens:N)"
    )
    limit: int | None = option(
        None, "Keep at most this many sentences, a uniform sample drawn after deduplication", ge=1
    )
    near_dedup: float | None = option(
        None, "Drop near-duplicates: keep the first of texts with this Jaccard similarity, such as 0.8", gt=0, le=1
    )
    shard_size: Annotated[int, Field(ge=1)] | Literal["auto"] = option(
        "auto", "Sentences per shard; auto: 1/32 of the corpus, at least 500 and at most 100,000"
    )
    on_error: Literal["fail", "reject"] = option(
        "fail", "Stop at a broken place in a source, or record it as a reject and continue"
    )

    @field_validator("delimiter")
    @classmethod
    def _is_one_character(cls, value: str) -> str:
        if value != TAB and (len(value) > 1 or value.isalnum() or value in ('"', "\r", "\n")):
            raise ValueError(r"should be one character such as ; or \t for a tab, no letter, digit, quote or line end")
        return value

    @field_validator("split")
    @classmethod
    def _is_of_windows(cls, value: str, given: ValidationInfo) -> str:
        size = window_size(value)
        if size is not None and size < LEAST:
            raise ValueError(f"a window has at least {LEAST} tokens")
        if size is not None and given.data.get("paragraphs"):
            raise ValueError("windows keep line ends, which --paragraphs removes; leave one of the two out")
        return value

    @property
    def reading(self) -> Reading:
        """How the files of the sources are read."""
        delimiter = "\t" if self.delimiter == TAB else self.delimiter
        return Reading(self.paragraphs, window_size(self.split) is not None, delimiter)


class DeviceConfig(StageConfig):
    """Options that say where a job runs a model."""

    heading = (20, "Model and hardware")

    device: Literal["auto", "cpu", "cuda"] = option(
        "auto", "Run the model here; auto: on GPUs if there are any, else on the CPU"
    )
    threads: int = option(1, "Threads per worker on a CPU", ge=1)


class CorpusModelConfig(CorpusConfig, DeviceConfig):
    """Options of a job that runs a model over the corpus, and the options of `ingest` for when --corpus is given."""


class PlacementConfig(DeviceConfig):
    """Options that say where a job runs the model, and in what batches."""

    gpus: int | None = option(
        None, "Use at most this many GPUs, one per worker (default: all here, or all of the cluster)", ge=1
    )
    token_budget: Annotated[int, Field(ge=1, le=1 << 20)] | Literal["auto"] = option(
        "auto", "Tokens per batch, padding included; auto: 2048 on a CPU, by memory on a GPU"
    )


class ModelPassConfig(PlacementConfig):
    """Options of a job that runs the model over the shards of the corpus."""

    prefetch: int = option(4, "Shards that a GPU worker holds at a time: one in progress, the rest read ahead", ge=2)


class ArithmeticConfig(StageConfig):
    """Options of a job whose arithmetic can be chosen."""

    heading = PlacementConfig.heading

    dtype: Literal["float32", "tf32", "bfloat16", "float16"] = option(
        "float32", "Arithmetic of the forward pass; tf32 (GPUs only): float32 with products rounded to 10 bits"
    )


class CorpusPassConfig(CorpusModelConfig, ModelPassConfig, ArithmeticConfig):
    """Options of a job that runs the model over the corpus, and the options of `ingest` for when --corpus is given."""


class SampledPassConfig(CorpusPassConfig):
    """Options of a job that may run the model over a sample of the corpus."""

    sentences: int | None = option(None, "Measure at most this many sentences, a uniform sample (default: all)", ge=1)


INGEST_ONLY = tuple(
    sorted(CorpusConfig.model_fields.keys() - StageConfig.model_fields.keys() - {"model", "model_seed"})
)


def without_ingest(config: BaseModel) -> dict[str, Any]:
    """Return the resolved options of a job without the options that only `ingest` uses, as run.json records them."""
    return {name: value for name, value in config.model_dump(mode="json").items() if name not in INGEST_ONLY}


def part_of(config: BaseModel, part: type[Config], **changes: Any) -> Config:
    """Return the options of a job that another job runs, taken from that job's options, with some of them changed."""
    return part(**{name: getattr(config, name) for name in part.model_fields} | changes)
