"""The stage `audit`: the literals of sentences are found, and then each neuron is compared across data sets."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import hstack
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from jobs.audit.job import AUDIT_OPTIONS, AuditConfig
from jobs.engine.item import Item
from jobs.mine.job import MINE_OPTIONS
from jobs.run_folder.again import command
from jobs.run_folder.run import Run, RunReader
from jobs.stage.outputs import Output, notes_of, read_partials
from jobs.stage.ranges import range_part, sentence_blocks
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.scored import Scored
from jobs.stage.sentence_literals import LiteralArgs, LiteralFinder, literals_file, read_literals
from jobs.stage.step import Made, Step, Steps
from jobs.stage.units import chosen_units
from ops.audit.audit_rows import VERDICTS
from ops.audit.audited_literals import ExplanationLiterals, audited_literals
from ops.audit.audited_neurons import TABLES, AuditedNeurons
from ops.audit.divisions import LEAST_WINNERS, Division
from ops.compare.activation_vectors import layer_activations, sampled_sentences
from ops.errors import InputError, counted
from ops.explain.controls import Controls
from ops.explain.explain import known_rows
from ops.facts.audit_findings import NEURON_COLUMNS, audited_run
from ops.facts.transfers import COLUMNS as PAIR_COLUMNS
from ops.literals.find import Literals
from ops.literals.incidence import incidence
from ops.shards import spans
from ops.topk.datasets import LEAST_SENTENCES, MOST_DATASETS, Datasets
from ops.topk.silent import read_heard, read_silent

SENTENCES_PER_BLOCK = 10_000  # number of sentences in which one item finds literals
NEURONS_PER_RANGE = 32
CONTROLLED = 128  # number of units per layer for which controls are computed
LEAST_KEPT = 10  # fewest winners of a data set, so that a card can be learned from half of them


def audit(config: AuditConfig, run: Run) -> None:
    """Run the stage, or the missing part of it."""
    run.require("topk")
    run.require_current("annotate")
    run.require("mine")
    run.require_current("explain")
    config = config.model_copy(update={"units": chosen_units(config, run, "audited")})
    datasets = audited_datasets(config.out, run)
    resolved = config.model_dump(mode="json")
    depends_on = {name: resolved[name] for name in (*AUDIT_OPTIONS, "seed")}
    stage = begin_stage("audit", config, run, depends_on, counted=("neurons", "neurons and poles"))
    if stage is None:
        return
    scored = Scored.of(run)
    sets, n = (len(config.units) or len(scored.neurons)) * scored.poles, len(datasets.names)
    rows = {"audit/portability": sets * n**2, "audit/neurons": sets}
    stage.complete(audit_steps(config, datasets, stage, scored), rows, {"neurons": sets})
    stage.drop_copies()


def audited_datasets(out: str, run: RunReader) -> Datasets:
    """Return the data sets with winners of their own, or else (`k` is 0) with enough of those of the complete corpus.

    Raises:
        InputError: there are fewer than two such data sets.
    """
    topk, sources = run.require("topk"), run.require("ingest")["counts"]["sources"]
    k = topk["identity"].get("k_per_dataset", 0)
    datasets = Datasets.chosen(k, sources) if k else _large_enough(sources)
    if not k:
        print(
            "audit: no winners were kept per data set (--k-per-dataset 0); the winners of the whole corpus are used "
            f"in the data sets where a neuron has at least {LEAST_WINNERS}",
            file=sys.stderr,
        )
    if len(datasets) < 2:
        raise _too_few(out, topk["config"], k, sorted(_sizes(sources).values(), reverse=True))
    return datasets


def winners_table(datasets: Datasets) -> str:
    """Return the table from which the winners in the data sets are read."""
    return "topk_by_dataset" if datasets.k else "topk"


def _too_few(out: str, options: dict[str, Any], k: int, sizes: list[int]) -> InputError:
    """Return the error for fewer than two data sets that can be compared; `sizes` must be in descending order."""
    what = f"--out {out}: the corpus has {counted(len(sizes), 'data set')}"
    if len(sizes) < 2:
        return InputError(f"{what}; an audit compares at least two: give --corpus NAME=FILE for each to atlas ingest")
    what += f", and fewer than two have {LEAST_SENTENCES * (k or LEAST_WINNERS):,} sentences"
    fewer = sizes[1] // LEAST_SENTENCES
    if not LEAST_KEPT <= fewer < k:
        return InputError(f"{what}; an audit compares at least two: give larger data sets to atlas ingest")
    return InputError(
        f"{what} (20 sentences for each winner); to keep fewer winners, run",
        command(out, "topk", options, redo=True, k_per_dataset=fewer),
    )


def _sizes(sources: Any) -> dict[str, int]:
    """Return the number of sentences of each data set, from the counts that ingest recorded for each source."""
    sizes: Counter[str] = Counter()
    for source in sources:
        sizes[source["dataset"]] += source["kept"]
    return sizes


def _large_enough(sources: Any) -> Datasets:
    """Return the largest data sets in which a neuron could have enough winners."""
    sizes = {name: size for name, size in _sizes(sources).items() if size >= LEAST_SENTENCES * LEAST_WINNERS}
    names = sorted(sorted(sizes, key=lambda name: (-sizes[name], name))[:MOST_DATASETS])
    return Datasets(0, tuple(names), tuple(sizes[name] for name in names))


@dataclass(frozen=True, kw_only=True)
class AuditArgs(LiteralArgs):
    """The arguments of every worker.

    Attributes:
        datasets: the data sets that are compared.
        winners: the maximum number of winners per data set.
        card_literals: the maximum number of literals in a card, not counting nuisance literals.
        controls: whether controls are computed.
    """

    datasets: Datasets
    winners: int
    card_literals: int
    controls: bool


def audit_steps(config: AuditConfig, datasets: Datasets, stage: Stage, scored: Scored) -> Steps:
    """Yield the steps, draw the figures and return the counts."""
    annotate, mine = stage.run.require("annotate"), stage.run.require("mine")["config"]
    args = AuditArgs(
        store=stage.store, neurons=scored.neurons, seed=config.seed, sentences=annotate["fingerprint"],
        units=config.units, datasets=datasets, mine={name: mine[name] for name in MINE_OPTIONS},
        winners=config.winners, card_literals=stage.run.require("explain")["config"]["card_literals"],
        controls=not config.no_controls,
    )  # fmt: skip
    steps = steps_of(args, annotate["counts"]["sentences"], scored.poles)
    yield steps
    blocks, ranges = (step.items for step in steps)
    (first,) = read_partials(stage.store, [literals_file("audit", blocks[0])])
    if notes_of(first)["alone"]:
        print("audit: each document has only one sentence, so intervals are by sentence", file=sys.stderr)
    neurons = _read(stage, "neurons", ranges, NEURON_COLUMNS)
    verdicts = neurons["verdict"].to_pylist()
    return {
        "neurons": len(verdicts), "datasets": list(datasets.names),
        **{name: verdicts.count(name) for name in VERDICTS},
        "figures": _draw(stage, neurons, ranges),
    }  # fmt: skip


def steps_of(args: AuditArgs, sentences: int, poles: int) -> list[Step]:
    """Return the steps in the order in which they must be done.

    Args:
        args: the arguments of the workers.
        sentences: the number of annotated sentences.
        poles: the number of poles of each neuron.
    """
    blocks = sentence_blocks(sentences, SENTENCES_PER_BLOCK)
    chosen = len(args.units) or len(args.neurons)
    ranges = [{"range": i, "first": f, "stop": s} for i, (f, s) in enumerate(spans(chosen, NEURONS_PER_RANGE))]
    return [
        Step(
            name="audit: literals", items=blocks, outputs=lambda item: [literals_file("audit", item)],
            worker=LiteralFinder, args={"args": args, "job": "audit", "pool": audited_literals},
            unit="blocks of sentences",
        ),
        Step(
            name="audit: neurons", items=ranges, outputs=range_outputs, worker=RangeAuditor,
            args={"args": args, "blocks": blocks}, unit="ranges of neurons",
            amount=chosen * poles * len(args.datasets.names),
        ),
    ]  # fmt: skip


def _draw(stage: Stage, neurons: pa.Table, ranges: Sequence[Item]) -> list[str]:
    """Draw the figures of all ranges and return the names of their files."""
    from ops.audit.audit_figures import audit_figures  # with Matplotlib, which no worker needs
    from ops.figures.files import save_figures

    audited = audited_run(
        read_heard(stage.store, "explanations", columns=["layer", "unit", "pole", "verdict"]),
        neurons,
        _read(stage, "neurons_controls", ranges, ["control", *NEURON_COLUMNS]),
        _read(stage, "portability", ranges, PAIR_COLUMNS),
        _read(stage, "portability_controls", ranges, ["control", *PAIR_COLUMNS]),
    )
    return save_figures(stage.store, "audit/figures", audit_figures(audited), stage.run.title)


def _read(stage: Stage, table: str, ranges: Sequence[Item], columns: list[str]) -> pa.Table:
    """Return the rows of a table of all ranges, which is not published yet."""
    parts = [range_part(f"audit/{table}", item) for item in ranges]
    return pa.concat_tables(read_partials(stage.store, parts, columns))


def range_outputs(item: Item) -> list[Output]:
    """Return the table parts that are written for a range of neurons."""
    return [range_part(f"audit/{table}{end}", item) for table in TABLES for end in ("_controls", "")]


class RangeAuditor:
    """Audits ranges of neurons."""

    def __init__(self, args: AuditArgs, blocks: list[Item]) -> None:
        self.chosen, store, datasets = args.neurons.named(args.units), args.store, args.datasets
        mining, pool = args.mining(), audited_literals(store)
        sentences, sampled = mining.sentences, sampled_sentences(store)
        rows = known_rows(sentences, sampled)
        literals = Literals(pool, mining.text, mining.kinds, args.mine["nuisance"])
        matrix = hstack([incidence(*own) for own in read_literals(store, "audit", blocks)], "csr")
        division = Division.by_dataset(
            np.asarray(sentences.dataset), list(sentences.names["dataset"]), datasets.names, datasets.sizes
        )
        measured = self.chosen[~read_silent(store, args.neurons)[self.chosen]]
        self.neurons = AuditedNeurons(
            store, mining, literals, rows, matrix, division, ExplanationLiterals(store, args.neurons, pool),
            sentences.rows(sampled),
            lru_cache(1)(partial(layer_activations, store)), winners_table(datasets), args.winners, args.card_literals,
            Controls.drawn(args.controls, args.neurons, measured, CONTROLLED, args.seed).carded, args.seed,
        )  # fmt: skip

    def __call__(self, item: Item) -> Made:
        """Audit one range."""
        with threadpool_limits(1):
            tables = self.neurons.audit(self.chosen[item["first"] : item["stop"]])
        return {range_part(f"audit/{table}", item): rows for table, rows in tables.items()}
