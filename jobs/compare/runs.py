"""The part `runs` of `compare`: the scores of this run's neurons next to the scores of a control run."""

import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from jobs.compare.compared_run import part_plan, run_part, title_of
from jobs.compare.job import CompareConfig
from jobs.compare.other_run import check_same_options, open_other, title_of_other
from jobs.engine.item import Item
from jobs.stage.again import command
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.files import Output, partial_file, read_partials, write_partial
from jobs.stage.run import Run, RunReader
from jobs.stage.runner import Stage, Step
from ops import sampling, schema
from ops.compare.run_score_figures import SHOWN, draw_runs
from ops.compare.run_scores import MEASURES, TABLE, Values, compared_rows, read_values, with_missing_verdicts
from ops.errors import InputError
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import POLES, read_neurons

FLAG = "--against-run"
# The options of each stage that do not change its scores except by chance, or only change how many units have scores.
_MAY_DIFFER = (
    "seed", "units", "engine", "no_controls", "no_scores", "null_sets", "max_patterns", "device", "threads",
    "token_budget", "resamples",
)  # fmt: skip
_SAME_OF_TOPK = ("k", "pool", "special_tokens")
_MADE_BY = {"scores": "mine", "explanations": "explain", "audit/neurons": "audit"}
# Measured on one core: the seconds per resample, neuron and table; the approximate bytes of the table and figures.
RESAMPLE_S, KEPT_BYTES = 1.2e-6, 300_000


@dataclass(frozen=True)
class Control:
    """The control run, with which a run is compared.

    Attributes:
        run: the control run.
        named: its directory, as the user gave it.
        tables: the tables to compare, which both runs have.
        layers, poles: the layers and poles to compare, which both runs have.
    """

    run: RunReader
    named: str
    tables: tuple[str, ...]
    layers: tuple[int, ...]
    poles: tuple[str, ...]


def check_runs(config: CompareConfig, record: Run) -> Control:
    """Return what is compared; tables that only one run has are skipped, with a message.

    Raises:
        InputError: this run cannot be compared with the control.
    """
    named = config.against_run
    other = open_other(FLAG, named, record, ("topk", "mine"))
    own, others = (run.require("topk")["identity"] for run in (record, other))
    check_same_options(FLAG, named, "topk", *({n: i[n] for n in _SAME_OF_TOPK} for i in (own, others)))
    sites = {identity["site"] for identity in (own, others)} - {"dictionary"}
    if len(sites) > 1:
        raise InputError(
            f"{FLAG} {named}: has units of --site {others['site']}, this run of {own['site']}; give a run of the same"
        )
    tables = tuple(table for table in MEASURES if _fingerprint(record, table) and _fingerprint(other, table))
    if not tables:
        lacking = other if _fingerprint(record, "scores") else record
        again = command(lacking.store.uri, "mine", lacking.options_of("mine"), redo=True, no_scores=False)
        raise InputError(f"{FLAG} {named}: no scores are in both runs; explain both, or run", again)
    for table in tables:
        stage = _MADE_BY[table]
        if record.complete(stage) and other.complete(stage):
            check_same_options(FLAG, named, stage, *(_scoring(run.require(stage)) for run in (record, other)))
    if all(_fingerprint(record, table) == _fingerprint(other, table) for table in tables):
        raise InputError(
            f"{FLAG} {named}: holds the same results as this run; give one with random weights "
            "(--model random:NAME) or with rotated directions (--dictionary rotated:SEED)"
        )
    layers = [read_neurons(run.store).layers for run in (record, other)]
    common = tuple(layer for layer in layers[0] if layer in layers[1])
    if not common:
        raise InputError(
            f"{FLAG} {named}: has layers {_listed(layers[1])}, this run {_listed(layers[0])}; give a run of the same"
        )
    both = own["poles"] == others["poles"] == "both"
    poles = POLES if both else ("top",)
    missing = [t for t in MEASURES if t in schema.TABLES and t not in tables]
    if missing:
        print(f"compare/runs: skipped, because only one run has it: {', '.join(missing)}", file=sys.stderr)
    if common != layers[0]:
        print(f"compare/runs: only the layers that both runs have are compared: {_listed(common)}", file=sys.stderr)
    return Control(other, named, tables, common, poles)


def _listed(layers: tuple[int, ...]) -> str:
    return ", ".join(map(str, layers))


def _fingerprint(run: RunReader, table: str) -> str:
    """Return the fingerprint of a finished table; an empty string if the table is missing or has no rows."""
    files = run.record["tables"].get(table, [])
    return str(files[0]["fingerprint"]) if sum(file["rows"] or 0 for file in files) else ""


def _scoring(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a stage's identity that decide how its scores are measured, including its version."""
    identity = {"method": 1, **entry["identity"]}
    return {key: v for key, v in identity.items() if key not in _MAY_DIFFER and not key.endswith(" stage")}


@dataclass(frozen=True)
class RunsArgs:
    """The arguments of the worker."""

    store: Store
    control: Store
    fingerprint: str
    layers: tuple[int, ...]
    poles: tuple[str, ...]
    resamples: int
    seed: int


def runs_part(config: CompareConfig, record: Run, control: Control) -> None:
    """Write compare/runs and its figures, or the missing part of them."""
    depends_on: dict[str, Any] = {"resamples": config.resamples}
    for table in control.tables:
        depends_on |= {table: _fingerprint(record, table), f"control {table}": _fingerprint(control.run, table)}

    def args(config: CompareConfig, stage: Stage) -> RunsArgs:
        stores = stage.store, control.run.store
        return RunsArgs(*stores, stage.fingerprint, control.layers, control.poles, config.resamples, config.seed)

    about = {"against_run": {"out": control.run.store.uri, "title": title_of_other(control.run)}}
    run_part("runs", config, record, depends_on, args, partial(measure, control), partial(plan, control), about)


def measure(control: Control, config: CompareConfig, stage: Stage, args: RunsArgs) -> dict[str, Any]:
    """Compare the tables, write the rows and the figures, and return the counts."""
    step = tables_step(control, args)
    stage.do(step)
    found = pa.concat_tables(read_partials(stage.store, [table_file(item) for item in step.items]))
    found = schema.table(TABLE, found)
    write_part(stage.store, TABLE, 0, found.schema, [found], stage.fingerprint)
    pairs: dict[tuple[str, str], tuple[Values, Values]] = {}
    for table in control.tables:
        own, others = both_values(args, table)
        wanted = [name for name in own if (table, name) in SHOWN and name in others]
        pairs |= {(table, n): (own[n], others[n]) for n in wanted if len(own[n].value) and len(others[n].value)}
    titles = title_of(stage.record), title_of_other(control.run)
    figures = draw_runs(stage.store, found, pairs, *titles) if pairs else []
    return {"rows": found.num_rows, "tables": list(control.tables), "figures": figures}


def plan(control: Control, config: CompareConfig, stage: Stage, args: RunsArgs, record: DryRun) -> Plan:
    """Return what the part would do."""
    neurons = sum(run.require("topk")["counts"]["neurons"] for run in (record, control.run))
    step = tables_step(control, args)
    return part_plan(stage, record, [(step, 2 * neurons * config.resamples * RESAMPLE_S)], KEPT_BYTES)


def tables_step(control: Control, args: RunsArgs) -> Step:
    """Return the step that compares the tables, with one item per table."""
    items = [{"number": i, "table": table} for i, table in enumerate(MEASURES) if table in control.tables]
    return Step(
        "compare: scores", items, lambda item: [table_file(item)], ScoreComparer, {"args": args}, "tables", here=True
    )


def table_file(item: Item) -> Output:
    """Return the partial file of a table's rows."""
    return partial_file(TABLE, "table", item["number"])


def both_values(args: RunsArgs, table: str) -> tuple[dict[str, Values], dict[str, Values]]:
    """Return the values of a table in the run and in the control run."""
    own, control = (read_values(store, table, args.poles, args.layers) for store in (args.store, args.control))
    return with_missing_verdicts(own, control)


class ScoreComparer:
    """Compares tables of two runs."""

    def __init__(self, args: RunsArgs) -> None:
        self.args = args

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Compare one table of the two runs and commit the rows."""
        args = self.args
        seed = (args.seed, sampling.COMPARED_RUNS, item["number"])
        rows = compared_rows(item["table"], *both_values(args, item["table"]), args.layers, args.resamples, seed)
        write_partial(args.store, table_file(item), rows, args.fingerprint)
        return {"table": item["table"]}
