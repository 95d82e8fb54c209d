"""What every pass of a model over the corpus shares: its options and checks, where it runs, and its shards."""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from jobs import ingest
from jobs._config import PRESETS, StageConfig, part_of
from jobs._engine import Item, Worker, fan_out, has_gpus, on_cluster, pool_size
from jobs._partials import partial
from jobs._progress import Progress
from jobs._record import Run
from jobs.ingest import IngestConfig
from ops.errors import InputError
from ops.model.load import ModelFacts, read_facts
from ops.model.tokenizer import Tokenizer
from ops.shards import Shards
from ops.storage.store import Store, is_whole

INGEST_ONLY = tuple(sorted(IngestConfig.model_fields.keys() - StageConfig.model_fields.keys() - {"model"}))


class SideConfig(IngestConfig):
    """Options of a job that runs the model over the corpus, and those of `ingest` for when --corpus is given."""

    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto: the GPUs where there are any")
    dtype: Literal["float32", "bfloat16", "float16"] = Field("float32", description="arithmetic of the forward pass")
    threads: int = Field(1, ge=1, description="threads of one worker on a CPU")
    token_budget: int | None = Field(None, ge=1, description="tokens of a batch, padding included; CPU 2048, GPU 32768")


@dataclass(frozen=True)
class Place:
    """Where a pass runs: device, tokens of a batch, threads of a worker (None on a GPU), workers, what each holds."""

    device: str
    token_budget: int
    threads: int | None
    workers: int
    holds: dict[str, Any]

    @property
    def identity(self) -> dict[str, Any]:
        """What of it results depend on."""
        return {"device": self.device, "threads": self.threads, "token_budget": self.token_budget}


def prepare(config: SideConfig, record: Run) -> tuple[ModelFacts, Tokenizer]:
    """Check options, sources and model, cheapest first, and return what is known of the model, and its tokenizer.

    Raises:
        InputError: something is missing or does not fit.
    """
    check_ingest_options(config)
    if config.corpus:
        ingest.check_sources(config)
    else:
        record.require(ingest.STAGE)
    if config.device == "cuda" and not on_cluster() and not has_gpus():
        raise InputError("--device cuda: no GPU is to be seen here; use --device auto or cpu")
    facts = read_facts(config.model)
    return facts, Tokenizer(facts)


def check_ingest_options(config: SideConfig) -> None:
    """Refuse options of `ingest` where no source is named.

    Raises:
        InputError: one was given without --corpus.
    """
    preset = PRESETS.get(config.preset or "", {})
    lonely = [n for n in INGEST_ONLY if n in config.model_fields_set and getattr(config, n) != preset.get(n)]
    if lonely and not config.corpus:
        raise InputError(
            f"--{lonely[0].replace('_', '-')}: is an option of ingest; give --corpus with it, or leave it out"
        )


def read_sources(config: SideConfig) -> None:
    """Do `ingest` first where sources are named."""
    if config.corpus:
        ingest.run(part_of(config, IngestConfig, redo=False))


def require_corpus(config: SideConfig, tokenizer: Tokenizer, record: Run) -> dict[str, Any]:
    """Return the entry of the finished corpus.

    Raises:
        InputError: it is not there, or was counted by another tokenizer.
    """
    corpus = record.require(ingest.STAGE)
    if corpus["identity"]["tokenizer"] != tokenizer.fingerprint:
        raise InputError(
            f"--model {config.model}: its tokenizer is not the one corpus/ was made with "
            f"({corpus['config']['model']}); give that model, or another --out"
        )
    return corpus


def choose_place(config: SideConfig) -> Place:
    """Choose device, size of a batch and number of workers."""
    gpu = config.device == "cuda" or (config.device == "auto" and has_gpus())
    budget = config.token_budget or (32_768 if gpu else 2_048)
    workers = pool_size(config.workers, config.threads, gpu)
    if on_cluster() and not has_gpus():
        # Machines with GPUs may come up only when a GPU is asked for.
        if gpu and config.workers == "auto":
            print("no GPU is up on the cluster yet: one is asked for; --workers N asks for N", file=sys.stderr)
        elif config.device == "auto":
            print("no GPU is up on the cluster: on CPUs; --device cuda --workers N asks for N GPUs", file=sys.stderr)
    if gpu:
        return Place("cuda", budget, None, workers, {"gpus": 1})
    return Place("cpu", budget, config.threads, workers, {"cpus": config.threads})


def begin(
    stage: str, config: SideConfig, facts: ModelFacts, place: Place, record: Run, identity: dict[str, Any]
) -> str | None:
    """Start or go on with a stage and return its fingerprint, or None where it was done before.

    Args:
        stage: its name.
        config: the job's options, for the record; those of `ingest` are left out.
        facts, place: model and place; they belong to the identity.
        record: the run.
        identity: all else that the results depend on, the fingerprints of the stages it reads aside.

    Raises:
        InputError: the directory holds results of other options.
    """
    identity = {**identity, "model": facts.fingerprint, **place.identity}
    options = {n: v for n, v in config.model_dump(mode="json").items() if n not in INGEST_ONLY}
    chosen = {"device": place.device, "token_budget": place.token_budget}
    fingerprint = record.begin(stage, identity, {**options, **chosen}, config.redo)
    if record.complete(stage):
        print(f"{stage}: done before, {record.require(stage)['counts']['scored']:,} sentences scored", file=sys.stderr)
        return None
    return fingerprint


def describe(facts: ModelFacts) -> dict[str, Any]:
    """Return what run.json says of a model."""
    return {
        "name": facts.name, "type": facts.model_type, "layers": facts.layers, "width": facts.width,
        "position_limit": facts.position_limit, "fingerprint": facts.fingerprint,
    }  # fmt: skip


def missing(store: Store, stage: str, fingerprint: str, shards: Shards, seed: int) -> list[int]:
    """Return the shards whose partial file is not there or not whole, in the seeded order."""
    return [i for i in shards.order(seed) if not is_whole(store, partial(stage, i), fingerprint, f"shard-{i}")]


def fan_out_shards(
    stage: str,
    items: list[Item],
    shards: Shards,
    place: Place,
    make: Callable[..., Worker],
    args: Item,
    prepare: Callable[[Item], Any] | None = None,
) -> Iterator[Item]:
    """Let workers do what is missing of the shards, show how far it is, and return their rows.

    Args:
        stage: its name.
        items: one for each missing shard.
        shards: all of them.
        place: where.
        make, args, prepare: as `fan_out` takes them; a worker's row holds `sentences`.
    """
    if len(shards) < place.workers:
        hint = f"{len(shards)} shards for {place.workers} workers; a smaller --shard-size (or --preset small)"
        print(f"{stage}: {hint} would use them all", file=sys.stderr)
    done = len(shards) - len(items)
    with Progress(stage, len(shards), "shards", done, ("sentences", shards.sentences)) as progress:
        for row in fan_out(items, make, args, workers=place.workers, prepare=prepare, **place.holds):
            progress.add(row["sentences"])
            yield row


@dataclass(frozen=True)
class Pass:
    """A side job's pass over the corpus: made by `start`, its shards done by `each_shard`, closed by `finish`.

    Attributes:
        stage, fingerprint: name, and what its results depend on.
        record, corpus: the run, and the entry of the corpus.
        shards: the corpus's, or groups of them.
        per_group: shards of a group.
        place, seed, keep_partials: as chosen.
        started: seconds of the monotonic clock.
    """

    stage: str
    fingerprint: str
    record: Run
    corpus: dict[str, Any]
    shards: Shards
    per_group: int
    place: Place
    seed: int
    keep_partials: bool
    started: float

    @property
    def partials(self) -> list[str]:
        """The paths of all partial files, in the order of the shards: merge them in this order for the same bits."""
        return [partial(self.stage, i) for i in range(len(self.shards))]

    def each_shard(self, make: Callable[..., Worker], args: Item, prepare: Callable[[Item], Any] | None = None) -> None:
        """Do what is missing, one item a shard or group.

        An item is `{"shard": number, "span": (first, stop), "parts": [parts of corpus/]}`; the
        worker commits `partial(stage, number)` with the footer `shard_footer(fingerprint, f"shard-{number}", rows)`
        and returns a row that holds `sentences`.
        """
        parts = -(-self.corpus["counts"]["sentences"] // self.corpus["config"]["shard_size"])
        items = [
            {
                "shard": i,
                "span": self.shards.span(i),
                "parts": list(range(i * self.per_group, min((i + 1) * self.per_group, parts))),
            }
            for i in missing(self.record.store, self.stage, self.fingerprint, self.shards, self.seed)
        ]
        for _ in fan_out_shards(self.stage, items, self.shards, self.place, make, args, prepare):
            pass

    def finish(self, scored: int, unscored: int, counts: dict[str, Any]) -> None:
        """Record that all tables are in place, and drop the partial files.

        Raises:
            InputError: not one sentence could be scored.
            RuntimeError: the sentences do not add up.
        """
        sentences = self.corpus["counts"]["sentences"]
        if scored + unscored != sentences:
            raise RuntimeError(f"{self.stage}: of {sentences} sentences {scored} were scored and {unscored} not")
        if not scored:
            raise InputError("--model: gave no finite value for any sentence; try --dtype float32, or another model")
        own = {"scored": scored, "unscored": unscored, **counts}
        self.record.finish(self.stage, own, time.monotonic() - self.started)
        if not self.keep_partials:
            self.record.store.delete(f"_partials/{self.stage}")


def start(
    stage: str,
    config: SideConfig,
    facts: ModelFacts,
    tokenizer: Tokenizer,
    identity: dict[str, Any],
    per_group: int = 1,
) -> Pass | None:
    """Start or go on with a side job, or return None where it was done before; call it after `read_sources`.

    Args:
        stage: its name, known to `jobs._record`.
        config, facts, tokenizer: as `prepare` checked them.
        identity: the job's own options that its results depend on; model, place, dtype and seed are added here.
        per_group: shards that share one partial file (where a worker's state is large); it belongs to the identity.

    Raises:
        InputError: another tokenizer than the corpus's, or results of other options are there.
    """
    begun = time.monotonic()
    record = Run(config.out)
    corpus = require_corpus(config, tokenizer, record)
    place = choose_place(config)
    identity = {**identity, "dtype": config.dtype, "seed": config.seed}
    if per_group > 1:
        identity["per_group"] = per_group
    fingerprint = begin(stage, config, facts, place, record, identity)
    if fingerprint is None:
        return None
    # The run's own model is the one of `topk`; a side job may look at another with the same tokenizer.
    record.record["stages"][stage]["model"] = describe(facts)
    shards = Shards(corpus["counts"]["sentences"], corpus["config"]["shard_size"] * per_group)
    return Pass(stage, fingerprint, record, corpus, shards, per_group, place, config.seed, config.keep_partials, begun)
