"""Mine what each neuron's winners have in common, and set it against the corpus's baseline.

    python -m jobs.mine --out runs/docs --preset small
    ray job submit --working-dir . -- python -m jobs.mine --out s3://bucket/run --preset paper

Writes patterns/, profiles/, means/ and scores/. Needs topk/ (jobs.topk) and sentences/ (jobs.annotate).
"""

import sys
import time
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from jobs._config import StageConfig, main
from jobs._engine import fan_out, pool_size
from jobs._mining import (
    BaselineCounter,
    MineArgs,
    RangeFinisher,
    RangeMiner,
    baseline_file,
    mined_file,
    totals_file,
    union_file,
)
from jobs._progress import Progress
from jobs._record import Run
from jobs._scoring import (
    RangeScorer,
    TrainingCounter,
    TrainingMiner,
    training_file,
    training_run_file,
    training_totals_file,
    training_union_file,
)
from ops.errors import InputError
from ops.mine.candidates import unite
from ops.sentences.store import drop_sentences, open_sentences
from ops.shards import spans
from ops.storage.store import Store, is_whole, shard_footer
from ops.storage.tables import part_name
from ops.topk.neurons import Neurons

STAGE = "mine"
NEURONS_PER_RANGE = 64
SENTENCES_PER_COUNT = 50_000


class MineConfig(StageConfig):
    """Options of `mine`."""

    engine: Literal["compiled", "prefixspan"] = Field(
        "compiled", description="miner of words and tags: ours, or the prefixspan package (slow, no gap limit)"
    )
    word_min_support: float = Field(
        0.005, gt=0, le=1, description="least share of the winners that contain a word pattern"
    )
    word_max_length: int = Field(4, ge=1, description="most words of a pattern")
    word_max_gap: int = Field(4, ge=-1, description="most words skipped between neighbours of a pattern; -1: no limit")
    word_case: Literal["keep", "lower"] = Field("keep", description="words as written, or folded to lower case")
    tag_min_support: float = Field(
        0.01, gt=0, le=1, description="least share of the winners that contain a tag pattern"
    )
    tag_max_length: int = Field(5, ge=1, description="most tags of a pattern")
    tag_max_gap: int = Field(2, ge=-1, description="most tags skipped between neighbours of a pattern; -1: no limit")
    subtree_min_support: float = Field(
        0.01, gt=0, le=1, description="least share of the winners that contain a subtree"
    )
    subtree_max_nodes: int = Field(5, ge=2, description="most nodes of a subtree")
    subtree_root: Literal["keep", "collapse"] = Field(
        "keep", description="collapse: merge an S right under ROOT into it"
    )
    min_count: int = Field(5, ge=1, description="least winners with a pattern or a profile's value, whatever the share")
    productivity: float = Field(
        1.05, ge=0, description="least lift over that of each pattern one item shorter; 0 keeps all patterns"
    )
    no_scores: bool = Field(
        False, description="leave out the held-out scores, which take as long as the patterns again"
    )
    max_patterns: int = Field(1_000, ge=0, description="most patterns of a neuron, pole and kind, by rank; 0: all")


def run(config: MineConfig) -> None:
    """Do the stage, or what is missing of it."""
    started = time.monotonic()
    check(config)
    if config.engine == "prefixspan":
        config = config.model_copy(update={"word_max_gap": -1, "tag_max_gap": -1})
    record = Run(config.out)
    annotate = record.require("annotate")
    options = {k: v for k, v in config.model_dump(mode="json").items() if k in (*MineConfig.__annotations__, "seed")}
    fingerprint = record.begin(STAGE, options, config.model_dump(mode="json"), config.redo)
    if record.complete(STAGE):
        print(f"{STAGE}: done before, {record.require(STAGE)['counts']['patterns']:,} patterns", file=sys.stderr)
        return
    store = record.store
    neurons = Neurons(widths(store))
    args = MineArgs(config.out, annotate["fingerprint"], fingerprint, neurons, config.seed, options)
    sentences = open_sentences(store, args.sentences)
    workers = pool_size(config.workers)
    ranges = [{"range": i, "first": a, "stop": b} for i, (a, b) in enumerate(spans(len(neurons), NEURONS_PER_RANGE))]
    runs = [
        {"run": i, "first": a, "stop": b} for i, (a, b) in enumerate(spans(len(sentences.sent_id), SENTENCES_PER_COUNT))
    ]

    def spread(what: str, items: list[Any], name: str, unit: str, file: Any, worker: Any) -> None:
        todo = [item for item in items if not is_whole(store, file(item[name]), fingerprint, f"{name}-{item[name]}")]
        with Progress(f"{STAGE}: {what}", len(items), unit, len(items) - len(todo)) as progress:
            for _ in fan_out(todo, worker, {"args": args}, workers=workers):
                progress.add()

    def unite_all(file: Any, into: str) -> None:
        if not is_whole(store, into, fingerprint, "union"):
            _commit(store, into, unite(_read(store, file(item["range"])) for item in ranges), fingerprint, "union")

    def total(file: Any, into: str) -> None:
        if not is_whole(store, into, fingerprint, "totals"):
            _commit(store, into, _total(_read(store, file(item["run"])) for item in runs), fingerprint, "totals")

    spread("patterns", ranges, "range", "ranges of neurons", mined_file, RangeMiner)
    unite_all(mined_file, union_file())
    spread("baseline", runs, "run", "runs of sentences", baseline_file, BaselineCounter)
    total(baseline_file, totals_file())
    spread("tables", ranges, "range", "ranges of neurons", lambda i: part_name("means", i), RangeFinisher)
    if not config.no_scores:
        spread("training halves", ranges, "range", "ranges of neurons", training_file, TrainingMiner)
        unite_all(training_file, training_union_file())
        spread("their baseline", runs, "run", "runs of sentences", training_run_file, TrainingCounter)
        total(training_run_file, training_totals_file())
        spread("scores", ranges, "range", "ranges of neurons", lambda i: part_name("scores", i), RangeScorer)
    tables = ("patterns", "profiles", "means", *(() if config.no_scores else ("scores",)))
    counts = {table: sum(_rows(store, part_name(table, item["range"])) for item in ranges) for table in tables}
    record.finish(STAGE, counts, time.monotonic() - started)
    if not config.keep_partials:
        store.delete(f"_partials/{STAGE}")
        drop_sentences(args.sentences)


def check(config: MineConfig) -> None:
    """Refuse a gap limit for the prefixspan package, which knows none.

    Raises:
        InputError: one was asked for.
    """
    for name in ("word_max_gap", "tag_max_gap"):
        given = name in config.model_fields_set and getattr(config, name) != MineConfig.model_fields[name].default
        if config.engine == "prefixspan" and given and getattr(config, name) >= 0:
            raise InputError(
                f"--{name.replace('_', '-')}: the prefixspan engine has no gap limit; give -1 or leave it out"
            )


def widths(store: Store) -> tuple[int, ...]:
    """Return the units of each layer, from `activations/`."""
    with store.parquet(part_name("activations", 0)) as file:
        return tuple(field.type.list_size for field in file.schema_arrow if field.name.startswith("layer_"))


def _read(store: Store, name: str) -> pa.Table:
    with store.parquet(name) as file:
        return file.read()


def _rows(store: Store, name: str) -> int:
    with store.parquet(name) as file:
        return int(file.metadata.num_rows)


def _commit(store: Store, name: str, table: pa.Table, fingerprint: str, what: str) -> None:
    described = table.replace_schema_metadata(shard_footer(fingerprint, what, table.num_rows))
    store.commit(name, lambda path: pq.write_table(described, path, compression="zstd"))


def _total(tables: Any) -> pa.Table:
    """Add up the runs' counts: each has the same rows in the same order."""
    total: np.ndarray | None = None
    for table in tables:
        counts = table["count"].to_numpy()
        total = counts if total is None else total + counts
        first = table
    return first.set_column(first.schema.get_field_index("count"), "count", pa.array(total, pa.int64()))


if __name__ == "__main__":
    sys.exit(main(MineConfig, STAGE, str(__doc__).splitlines()[0], run))
