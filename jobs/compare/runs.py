"""The part `runs` of `compare`: the scores of this run's neurons next to the scores of a control run."""

import sys
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from jobs.compare.job import CompareConfig
from jobs.compare.parts import begin_part
from jobs.engine.item import Item
from jobs.run_folder.again import command
from jobs.run_folder.run import Run, RunReader
from jobs.stage.other_run import RunPair
from jobs.stage.outputs import file_of, read_partials
from jobs.stage.runner import Stage
from jobs.stage.scored import Scored
from jobs.stage.step import Step, Steps
from ops import sampling, schema
from ops.compare.figures import SHOWN, run_figures
from ops.compare.run_scores import MEASURES, TABLE, Stores, Values, compared_rows, read_both
from ops.figures.files import save_figures

# The options of each stage that do not change its scores except by chance, or only change how many units have scores.
_MAY_DIFFER = (
    "seed", "units", "engine", "no_controls", "no_scores", "null_sets", "max_patterns", "device", "threads",
    "token_budget", "resamples",
)  # fmt: skip
_SAME_OF_TOPK = ("k", "pool", "special_tokens")
_MADE_BY = {"scores": "mine", "explanations": "explain", "audit/neurons": "audit"}


@dataclass(frozen=True)
class Control:
    """The control run, with which a run is compared."""

    pair: RunPair
    tables: tuple[str, ...]
    layers: tuple[int, ...]
    poles: tuple[str, ...]


def check_runs(config: CompareConfig, run: Run) -> Control:
    """Return what is compared; tables that only one run has are skipped, with a message.

    Raises:
        InputError: this run cannot be compared with the control.
    """
    pair = RunPair.open("--against-run", config.against_run, run, ("topk", "mine"))
    pair.check_same_corpus()
    pair.check_same_options("topk", _SAME_OF_TOPK.__contains__)
    scored, control = (Scored.of(one) for one in pair.runs)
    if len({scored.site, control.site} - {"dictionary"}) > 1:
        raise pair.refused(f"has units of --site {control.site}, this run of {scored.site}; give a run of the same")
    tables = tables_of_both(pair)
    layers = tuple(layer for layer in scored.neurons.layers if layer in control.neurons.layers)
    if not layers:
        raise pair.refused(
            f"has layers {_listed(control.neurons.layers)}, this run {_listed(scored.neurons.layers)}; "
            "give a run of the same"
        )
    missing = [table for table in MEASURES if table in schema.TABLES and table not in tables]
    if missing:
        print(f"compare/runs: skipped, because only one run has it: {', '.join(missing)}", file=sys.stderr)
    if layers != scored.neurons.layers:
        print(f"compare/runs: only the layers that both runs have are compared: {_listed(layers)}", file=sys.stderr)
    poles = scored.common_poles(control)
    if not poles:
        raise pair.refused("has no winners at the pole of this run; give a run with the same --poles")
    return Control(pair, tables, layers, poles)


def tables_of_both(pair: RunPair) -> tuple[str, ...]:
    """Return the tables of scores that both runs have.

    Raises:
        InputError: there is none, their scores were measured in different ways, or the runs have the same results.
    """
    tables = tuple(table for table in MEASURES if all(_fingerprint(run, table) for run in pair.runs))
    if not tables:
        lacking = pair.other if _fingerprint(pair.run, "scores") else pair.run
        again = command(lacking.store.uri, "mine", lacking.options_of("mine"), redo=True, no_scores=False)
        raise pair.refused("no scores are in both runs; explain both, or run", again)
    for stage in map(_MADE_BY.__getitem__, tables):
        if all(run.complete(stage) for run in pair.runs):
            pair.check_same_options(stage, lambda name: name not in _MAY_DIFFER and not name.endswith(" stage"))
    if all(_fingerprint(pair.run, table) == _fingerprint(pair.other, table) for table in tables):
        raise pair.refused(
            "holds the same results as this run; give one with random weights "
            "(--model random:NAME) or with rotated directions (--dictionary rotated:SEED)"
        )
    return tables


def _listed(layers: tuple[int, ...]) -> str:
    return ", ".join(map(str, layers))


def _fingerprint(run: RunReader, table: str) -> str:
    """Return the fingerprint of a finished table; an empty string if the table is missing or has no rows."""
    files = run.record["tables"].get(table, [])
    return str(files[0]["fingerprint"]) if sum(file["rows"] or 0 for file in files) else ""


def runs(config: CompareConfig, run: Run, control: Control) -> None:
    """Write compare/runs and its figures, or the missing part of them."""
    other = control.pair.other
    depends_on: dict[str, Any] = {"resamples": config.resamples}
    for table in control.tables:
        depends_on |= {table: _fingerprint(run, table), f"control {table}": _fingerprint(other, table)}
    about = {"against_run": {"out": other.store.uri, "title": control.pair.title}}
    stage = begin_part("runs", config, run, depends_on, about)
    if stage is not None:
        measures = sum(len(MEASURES[table]) for table in control.tables)
        stage.complete(run_steps(config, stage, control), {TABLE: measures * (len(control.layers) + 1)})


def run_steps(config: CompareConfig, stage: Stage, control: Control) -> Steps:
    """Compare the tables, write the rows and the figures, and return the counts."""
    given: dict[str, Any] = {
        "stores": (stage.store, control.pair.other.store), "layers": control.layers, "poles": control.poles,
        "resamples": config.resamples, "seed": config.seed,
    }  # fmt: skip
    items: list[Item] = [{"number": i, "table": table} for i, table in enumerate(MEASURES) if table in control.tables]
    neurons = sum(len(Scored.of(run).neurons) for run in control.pair.runs)
    step = Step(
        name="compare: scores", items=items, outputs=file_of(TABLE, "table", "number"), worker=compare_table,
        args=given, unit="tables", here=True, amount=len(items) * 2 * neurons * config.resamples,
    )  # fmt: skip
    yield [step]
    rows = schema.table(TABLE, pa.concat_tables(read_partials(stage.store, step.files)))
    stage.write(TABLE, rows)
    pairs: dict[tuple[str, str], tuple[Values, Values]] = {}
    for table in control.tables:
        values, others = read_both(given["stores"], table, control.poles, control.layers)
        shown = [name for name in values if (table, name) in SHOWN and name in others]
        pairs |= {(table, n): (values[n], others[n]) for n in shown if len(values[n].value) and len(others[n].value)}
    drawn = run_figures(rows, pairs, stage.run.title, control.pair.title)
    figures = save_figures(stage.store, "compare/figures/runs", drawn)
    return {"rows": rows.num_rows, "tables": list(control.tables), "figures": figures}


def compare_table(
    item: Item, stores: Stores, layers: tuple[int, ...], poles: tuple[str, ...], resamples: int, seed: int
) -> pa.Table:
    """Compare one table of the two runs."""
    values = read_both(stores, item["table"], poles, layers)
    seeds = (seed, sampling.COMPARED_RUNS, item["number"])
    return compared_rows(item["table"], *values, layers, resamples, seeds)
