"""The steps of `audit`, which find the literals of sentences, and then compare each neuron across data sets."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from jobs.audit.job import AuditConfig
from jobs.engine.item import Item
from jobs.mine.job import MINE_OPTIONS
from jobs.stage.again import command
from jobs.stage.files import Output, TablePart, notes_of, partial_file, read_partials, table_part, write_partial
from jobs.stage.run import Run
from jobs.stage.runner import Stage, Step
from jobs.stage.stages import CODES
from ops.audit.audited_literals import ExplanationTerms, audited_literals
from ops.audit.audited_neurons import TABLES, AuditedNeurons
from ops.audit.dataset_winners import LEAST_WINNERS
from ops.audit.divisions import Division
from ops.audit.verdict import VERDICTS
from ops.compare.activation_vectors import layer_activations, sampled_sentences
from ops.errors import InputError, counted
from ops.explain.controlled_units import Controls
from ops.explain.explained_neurons import known_rows
from ops.explain.known_literals import KnownLiterals, one_after_another
from ops.explain.literals import Literals
from ops.mine.mining import Mining
from ops.model.names import model_title
from ops.patterns.occurrences import Occurrences
from ops.sentences.local_copy import open_sentences
from ops.shards import spans
from ops.show.audit_findings import NEURON_COLUMNS, audited_run
from ops.show.transfers import COLUMNS as PAIR_COLUMNS
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.store import Store
from ops.topk.datasets import LEAST_SENTENCES, MOST_DATASETS, Datasets
from ops.topk.neurons import Neurons, read_neurons
from ops.topk.silent import read_heard, read_silent

RUN = 10_000  # number of sentences in which one item finds literals
NEURONS_PER_RANGE = 32
CONTROLLED = 128  # number of units per layer for which controls are computed
LEAST_KEPT = 10  # fewest winners of a data set, so that a card can be learned from half of them


@dataclass(frozen=True)
class AuditedDatasets:
    """The data sets that are compared.

    Attributes:
        table: the table from which their winners are read.
        names, sizes: the name of each data set, and its number of sentences in the corpus.
    """

    table: str
    names: tuple[str, ...]
    sizes: tuple[int, ...]


def audited_datasets(out: str, record: Run) -> AuditedDatasets:
    """Return the data sets with winners of their own, or else with enough of the winners of the complete corpus.

    Raises:
        InputError: there are fewer than two such data sets.
    """
    topk, sources = record.require("topk"), record.require("ingest")["counts"]["sources"]
    k = topk["identity"].get("k_per_dataset", 0)
    found = Datasets.chosen(k, sources)
    table = "topk_by_dataset"
    if not k:
        table, found = "topk", _large_enough(sources)
        print(
            "audit: no winners were kept per data set (--k-per-dataset 0); the winners of the whole corpus are used "
            f"in the data sets where a neuron has at least {LEAST_WINNERS}",
            file=sys.stderr,
        )
    if len(found) < 2:
        raise _too_few(out, topk["config"], k, sorted(_sizes(sources).values(), reverse=True))
    return AuditedDatasets(table, found.names, found.sizes)


def _too_few(out: str, options: dict[str, Any], k: int, sizes: list[int]) -> InputError:
    """Return the error for fewer than two data sets that can be compared; `sizes` must be in descending order."""
    what = f"--out {out}: the corpus has {counted(len(sizes), 'data set')}"
    if len(sizes) < 2:
        return InputError(f"{what}; an audit compares at least two: give --corpus NAME=FILE for each to jobs.ingest")
    what += f", and fewer than two have {LEAST_SENTENCES * (k or LEAST_WINNERS):,} sentences"
    fewer = sizes[1] // LEAST_SENTENCES
    if not LEAST_KEPT <= fewer < k:
        return InputError(f"{what}; an audit compares at least two: give larger data sets to jobs.ingest")
    return InputError(
        f"{what} (20 sentences for each winner); to keep fewer winners, run",
        command(out, "topk", options, redo=True, k_per_dataset=fewer),
    )


def _sizes(sources: Any) -> dict[str, int]:
    """Return the number of sentences of each data set, from the counts that ingest recorded for each source."""
    sizes: dict[str, int] = {}
    for source in sources:
        sizes[source["dataset"]] = sizes.get(source["dataset"], 0) + source["kept"]
    return sizes


def _large_enough(sources: Any) -> Datasets:
    """Return the largest data sets in which a neuron could have enough winners."""
    sizes = _sizes(sources)
    least = LEAST_SENTENCES * LEAST_WINNERS
    chosen = sorted(sorted(sizes, key=lambda name: (-sizes[name], name))[:MOST_DATASETS])
    names = tuple(name for name in chosen if sizes[name] >= least)
    return Datasets(0, names, tuple(sizes[name] for name in names))


@dataclass(frozen=True)
class AuditArgs:
    """The arguments of every worker.

    Attributes:
        store, fingerprint: the run's folder, and the fingerprint of this stage.
        sentences: the fingerprint of the annotate stage, which identifies a machine's copy of the sentences.
        neurons: the neurons of the run.
        units: the neurons to audit; empty for all.
        datasets: the data sets that are compared.
        mine: the options with which patterns were mined.
        winners: the maximum number of winners per data set.
        card_literals: the maximum number of literals in a card, not counting nuisance literals.
        controls: whether controls are computed.
        seed: the seed of all random draws.
    """

    store: Store
    fingerprint: str
    sentences: str
    neurons: Neurons
    units: tuple[str, ...]
    datasets: AuditedDatasets
    mine: dict[str, Any]
    winners: int
    card_literals: int
    controls: bool
    seed: int

    def mining(self) -> Mining:
        """Return the annotated sentences in the form used for patterns, with words in lower case."""
        sentences = open_sentences(self.store, CODES, self.sentences)
        return Mining(sentences, self.neurons, {**self.mine, "word_case": "lower"}, self.seed, False)


def audit_args(config: AuditConfig, datasets: AuditedDatasets, stage: Stage, neurons: Neurons) -> AuditArgs:
    """Return the arguments of the workers."""
    record = stage.record
    mine = record.require("mine")["config"]
    return AuditArgs(
        stage.store, stage.fingerprint, record.require("annotate")["fingerprint"], neurons, config.units, datasets,
        {name: mine[name] for name in MINE_OPTIONS} | {"no_scores": True}, config.winners,
        record.require("explain")["config"]["card_literals"], not config.no_controls, config.seed,
    )  # fmt: skip


def audit(config: AuditConfig, datasets: AuditedDatasets, stage: Stage) -> dict[str, Any]:
    """Do the missing items of all steps, draw the figures, and return the counts."""
    neurons = read_neurons(stage.store)
    args = audit_args(config, datasets, stage, neurons)
    steps = audit_steps(args, stage.record.require("annotate")["counts"]["sentences"])
    for step in steps:
        stage.do(step)
    if notes_of(next(iter(read_partials(stage.store, [run_file(steps[0].items[0])]))))["alone"]:
        print("audit: each document has only one sentence, so intervals are by sentence", file=sys.stderr)
    rows = _read(stage, "neurons", steps[-1].items, NEURON_COLUMNS)
    verdicts = rows["verdict"].to_pylist()
    return {
        "neurons": len(verdicts), "datasets": list(datasets.names),
        **{name: verdicts.count(name) for name in VERDICTS},
        "figures": _draw(stage, rows, steps[-1].items),
    }  # fmt: skip


def _draw(stage: Stage, neurons: pa.Table, ranges: Sequence[Item]) -> list[str]:
    """Draw the figures of all ranges and return the names of their files."""
    # The plots are drawn here, so that no worker has to import Matplotlib.
    from ops.audit.audit_figures import draw_audit

    run = audited_run(
        read_heard(stage.store, "explanations", columns=["layer", "unit", "pole", "verdict"]),
        neurons,
        _read(stage, "neurons_controls", ranges, ["control", *NEURON_COLUMNS]),
        _read(stage, "portability", ranges, PAIR_COLUMNS),
        _read(stage, "portability_controls", ranges, ["control", *PAIR_COLUMNS]),
    )
    model = stage.record.record["model"]
    return draw_audit(stage.store, run, model_title(model["name"], model["fingerprint"], model.get("seed")))


def _read(stage: Stage, table: str, ranges: Sequence[Item], columns: list[str]) -> pa.Table:
    """Return the rows of a table of all ranges, which is not published yet."""
    found = []
    for item in ranges:
        with stage.store.parquet(range_part(table, item).path) as file:
            found.append(file.read(columns=columns))
    return pa.concat_tables(found)


def audit_steps(args: AuditArgs, sentences: int) -> list[Step]:
    """Return the steps in their order; `sentences` is the number of annotated sentences."""
    given = {"args": args}
    runs = [{"run": i, "first": first, "stop": stop} for i, (first, stop) in enumerate(spans(sentences, RUN))]
    number = len(args.units) or len(args.neurons)
    ranges = [{"range": i, "first": f, "stop": s} for i, (f, s) in enumerate(spans(number, NEURONS_PER_RANGE))]
    return [
        Step("audit: literals", runs, lambda item: [run_file(item)], LiteralFinder, given, "runs of sentences"),
        Step("audit: neurons", ranges, range_outputs, RangeWorker, given | {"runs": runs}, "ranges of neurons"),
    ]


def run_file(item: Item) -> Output:
    """Return the file of the literals in a block of sentences."""
    return partial_file("audit", "literals", item["run"])


def range_part(table: str, item: Item) -> TablePart:
    """Return the part of a table for a range of neurons."""
    return table_part(f"audit/{table}", item["range"], f"neurons-{item['first']}-{item['stop']}")


def range_outputs(item: Item) -> list[Output]:
    """Return the table parts that are written for a range of neurons."""
    return [range_part(f"{table}{end}", item) for table in TABLES for end in ("_controls", "")]


class LiteralFinder:
    """Finds the literals in blocks of the sentences with which all neurons are compared."""

    def __init__(self, args: AuditArgs) -> None:
        self.args, self.mining = args, args.mining()
        self.literals = Literals(audited_literals(args.store), self.mining.text, self.mining.kinds)
        self.known = known_rows(self.mining.sentences, sampled_sentences(args.store))

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Find and commit the literals of one block."""
        rows = self.known[slice(*np.searchsorted(self.known, [item["first"], item["stop"]]))]
        found = write_arrays(**vars(self.literals.find(rows)))
        sentences = self.mining.sentences
        notes = {"sentences": len(rows), "alone": sentences.documents == len(sentences.sent_id)}
        write_partial(self.args.store, run_file(item), found, self.args.fingerprint, notes)
        return {"sentences": len(rows)}


class RangeWorker:
    """Audits ranges of neurons."""

    def __init__(self, args: AuditArgs, runs: list[Item]) -> None:
        self.args, store = args, args.store
        self.chosen = args.neurons.named(args.units)
        mining = args.mining()
        sentences = mining.sentences
        pool = audited_literals(store)
        found = read_partials(store, [run_file(item) for item in runs])
        ids = sampled_sentences(store)
        rows = known_rows(sentences, ids)
        blocks = ((Occurrences(**read_arrays(table)), notes_of(table)["sentences"]) for table in found)
        matrix = KnownLiterals(one_after_another(blocks), len(rows))
        names = sentences.names["dataset"]
        division = Division.by_dataset(
            np.asarray(sentences.dataset), list(names), args.datasets.names, args.datasets.sizes
        )
        terms = ExplanationTerms.read(store, args.neurons, pool)
        measured = self.chosen[~read_silent(store, args.neurons)[self.chosen]]
        controls = Controls.drawn(args.controls, args.neurons, measured, CONTROLLED, args.seed)
        self.neurons = AuditedNeurons(
            store, mining, Literals(pool, mining.text, mining.kinds), rows, matrix, division, terms.of,
            sentences.rows(ids), lru_cache(1)(partial(layer_activations, store)), args.datasets.table, args.winners,
            args.card_literals, controls.carded, args.seed,
        )  # fmt: skip

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Audit one range and commit its tables."""
        with threadpool_limits(1):
            found = self.neurons.audit(self.chosen[item["first"] : item["stop"]])
        for table, rows in found.items():
            range_part(table, item).write(self.args.store, [rows], self.args.fingerprint)
        return {"range": item["range"]}
