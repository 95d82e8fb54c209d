"""The options of every stage, as frozen, checked configs, and the sizes that a preset sets.

Nothing heavy is imported here: a job's `--help` reads these classes and answers at once.
"""

from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from ops.sources.formats import suffixes
from ops.sources.presets import PRESETS as CORPORA

PAPER: dict[str, Any] = {
    "k": 10_000,
    "k_per_dataset": 1_000,
    "baseline_size": 1_000_000,
    "activation_sample": 10_000,
    "null_sets": 200,
    "subtree_root": "collapse",
    "pack": 128,
}
SMALL: dict[str, Any] = {"k": 100, "k_per_dataset": 50, "baseline_size": None, "activation_sample": 5_000}
MOST = 10**15  # of any number
MOST_UNITS = 65_536  # neurons for which work that grows with them is done without being asked for
PRESETS: dict[str, dict[str, Any]] = {"small": SMALL, "paper": PAPER}


def preset_sizes(name: str) -> str:
    """Return a preset's options in words.

    >>> preset_sizes("small")
    'k 100, k-per-dataset 50, baseline-size all, activation-sample 5,000'
    """
    said = {None: "all"}
    sizes = (
        (option, f"{value:,}" if isinstance(value, int) else said.get(value, value))
        for option, value in PRESETS[name].items()
    )
    return ", ".join(f"{option.replace('_', '-')} {value}" for option, value in sizes)


def flag_of(option: str) -> str:
    """Return an option's flag; an option whose name Python keeps for itself ends with _, which is left out.

    >>> flag_of("model_seed"), flag_of("with_")
    ('--model-seed', '--with')
    """
    return f"--{option.rstrip('_').replace('_', '-')}"


Config = TypeVar("Config", bound=BaseModel)


class CheckedConfig(BaseModel):
    """Options that do not change, with no number that no table could hold."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    @field_validator("*")
    @classmethod
    def _is_countable(cls, value: Any) -> Any:
        if isinstance(value, int | float) and abs(value) >= MOST:
            raise ValueError(f"is too large; a number is less than {MOST:,}")
        return value


class JobConfig(CheckedConfig):
    """Options of every job that has a run.

    Attributes:
        heading: where the help lists the options that a class adds: a place among the others, and a title.
        required: the options that the help lists first.
    """

    heading: ClassVar[tuple[int, str]] = (5, "The run")
    required: ClassVar[tuple[str, ...]] = ("out",)

    out: str = Field("", description="run directory: a path or a URI such as s3://bucket/run")
    preset: Literal["small", "paper"] | None = Field(
        None,
        description="sizes to start from; never caps the corpus. "
        + ". ".join(f"{p}: {preset_sizes(p)}" for p in PRESETS),
    )
    config: str | None = Field(None, description="YAML file whose keys are these options, with _ for -")


class StageConfig(JobConfig):
    """Options of every stage that does work on Ray."""

    heading: ClassVar[tuple[int, str]] = (80, "Every stage")

    redo: bool = Field(
        False,
        description="do this stage again; its new results replace the old ones and those of later stages, once whole: "
        "there must be room for both",
    )
    dry_run: bool = Field(
        False, description="check everything, say what each stage would do, how long and how large, and stop"
    )
    seed: int = Field(0, ge=0, description="seed of every random draw")
    workers: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto", description="most worker processes; auto: one a core, or on a cluster as many as come up"
    )
    keep_partials: bool = Field(False, description="keep a finished stage's partial files")


def listed(value: object) -> object:
    """Return a single value of an option that is repeatable as a list of it."""
    return (value,) if isinstance(value, str | int) else value


class UnitsConfig(StageConfig):
    """Options of a stage that may be done for some neurons alone (`jobs.stage.units`)."""

    heading: ClassVar[tuple[int, str]] = (45, "Which neurons")

    units: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field(
        (),
        description="LAYER:UNIT of a neuron to be mined or compared, these alone, repeatable; "
        f"required beyond {MOST_UNITS:,} neurons",
    )


class CorpusConfig(StageConfig):
    """Options of `ingest`: the sources, and how they become sentences."""

    heading: ClassVar[tuple[int, str]] = (10, "ingest: the corpus")

    model: str = Field(
        "sample",
        description="Hugging Face id, local directory, or sample (the packaged all-MiniLM-L6-v2); random:NAME: the "
        "architecture and tokenizer of one of these with random weights, a control",
    )
    model_seed: int | None = Field(None, ge=0, description="seed of the weights of --model random:NAME; 0 by default")
    corpus: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field(
        (),
        description=f"pydocs, a preset ({' '.join(CORPORA)}), hf:ORG/NAME[:CONFIG][:SPLIT], or a path, glob or URI "
        f"of {suffixes()}; NAME= in front; repeatable",
    )
    text_column: str = Field("text", description="column that holds the text")
    split: Literal["sentences", "none"] = Field(
        "sentences", description="split the text, or take a row as one sentence"
    )
    limit: int | None = Field(None, ge=1, description="at most so many sentences, a uniform sample drawn after dedup")
    near_dedup: float | None = Field(
        None,
        gt=0,
        le=1,
        description="drop near-duplicates: of texts this similar (Jaccard) the first is kept; e.g. 0.8",
    )
    shard_size: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto", description="sentences of a shard; auto: a 32nd of the corpus, at least 500 and at most 100,000"
    )
    on_error: Literal["fail", "reject"] = Field(
        "fail", description="a broken place in a source: fail, or record and go on"
    )


class DeviceConfig(StageConfig):
    """Options of a job that runs a model: where."""

    heading: ClassVar[tuple[int, str]] = (20, "The model's pass over the corpus")

    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto: the GPUs where there are any")
    threads: int = Field(1, ge=1, description="threads of one worker on a CPU")


class CorpusModelConfig(CorpusConfig, DeviceConfig):
    """Options of a job that runs a model over the corpus, and those of `ingest` for when --corpus is given."""


class PlacementConfig(DeviceConfig):
    """Options of a job that runs the model: where, and in what batches."""

    heading: ClassVar[tuple[int, str]] = DeviceConfig.heading

    gpus: int | None = Field(
        None, ge=1, description="most GPUs, one a worker; none given: all of this machine, or what a cluster brings up"
    )
    token_budget: Annotated[int, Field(ge=1, le=1 << 20)] | Literal["auto"] = Field(
        "auto",
        description="tokens of a batch, padding included; auto: what a stage was begun with, or else 2048 on a CPU and "
        "on a GPU by its memory, 131072 at 80 GB, 65536 at 40, 32768 at 24",
    )


class ModelPassConfig(PlacementConfig):
    """Options of a job that runs the model over shards."""

    heading: ClassVar[tuple[int, str]] = PlacementConfig.heading

    prefetch: int = Field(
        4,
        ge=2,
        description="shards that a worker on a GPU has with it, one under way, the others read and tokenized; each "
        "takes about 12 MB of its machine's object store for 100,000 short sentences",
    )


class ArithmeticConfig(StageConfig):
    """Options of a job that runs the model with an arithmetic of its own."""

    heading: ClassVar[tuple[int, str]] = PlacementConfig.heading

    dtype: Literal["float32", "tf32", "bfloat16", "float16"] = Field(
        "float32",
        description="arithmetic of the forward pass; tf32, on GPUs alone: float32 whose products round to 10 bits",
    )


class CorpusPassConfig(CorpusModelConfig, ModelPassConfig, ArithmeticConfig):
    """Options of a job that runs the model over the corpus, and those of `ingest` for when --corpus is given."""

    heading: ClassVar[tuple[int, str]] = PlacementConfig.heading


class SampledPassConfig(CorpusPassConfig):
    """Options of a job that may run the model over some of the corpus's sentences alone."""

    heading: ClassVar[tuple[int, str]] = PlacementConfig.heading

    sentences: int | None = Field(
        None, ge=1, description="measure at most so many sentences of the corpus, a uniform sample; none given: all"
    )


INGEST_ONLY = tuple(
    sorted(CorpusConfig.model_fields.keys() - StageConfig.model_fields.keys() - {"model", "model_seed"})
)


def without_ingest(config: BaseModel) -> dict[str, Any]:
    """Return the resolved options of a job without those that are of `ingest` alone, as run.json records them."""
    return {name: value for name, value in config.model_dump(mode="json").items() if name not in INGEST_ONLY}


def part_of(config: BaseModel, part: type[Config], **changes: Any) -> Config:
    """Return the options of one job out of those of a job that runs it, some of them changed."""
    return part(**{name: getattr(config, name) for name in part.model_fields} | changes)
