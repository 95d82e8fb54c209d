"""Compares the explanations of several runs over the same corpus, to find which kind of units is explained best.

    python -m bench bases --run "neurons=runs/hidden" --run "rotated axes=runs/rotated" --layer 4 --figure runs/bases

The benchmark uses the units of one layer of each run, at the pole that all kinds of units have. For each run it reports
the share of units that are explained, the median R2 beyond length and source, and the mean held-out F1. Each number has
a 95 % interval from a bootstrap over units. Neurons, axes and features are compared fairly only if corpus, K and the
activation sample are the same, so runs in which one of these differs are refused. The benchmark prints a table and one
line of JSON.
"""

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ops.arrays import Float64s
from ops.figures.files import save_figures
from ops.figures.lines import lines
from ops.statistics.interval import Interval
from ops.statistics.resampling import percentile_interval
from ops.storage.store import Store
from ops.storage.tables import read_rows

POLE = "top"
MEASURES = {
    "rule": "share of units\nwith a rule",
    "r2_beyond": "median R2 beyond\nlength and source",
    "f1": "mean held-out F1",
}


@dataclass(frozen=True)
class Basis:
    """The findings of one run: the number of its units, and each measure with the ends of its 95 % interval."""

    name: str
    units: int
    rule: Interval
    r2_beyond: Interval
    f1: Interval


def measure(name: str, columns: dict[str, Float64s], seed: int, resamples: int = 1_000) -> Basis:
    """Return the findings about the units of a run.

    Args:
        name: the name of the basis.
        columns: for each measure, its value for each unit, `[units]`; NaN for a missing value.
        seed: the seed of the bootstrap.
        resamples: number of bootstrap samples of units.
    """
    units = len(columns["f1"])
    drawn = np.random.default_rng(seed).integers(units, size=(resamples, units))
    found: dict[str, Interval] = {}
    for key, values in columns.items():
        middle = np.nanmedian if key == "r2_beyond" else np.nanmean
        measured = np.append(middle(values), middle(values[drawn], axis=1))
        found[key] = percentile_interval(measured, units, least=-1.0)
    return Basis(name, units, **found)


def read(name: str, run: str, layer: int, seed: int) -> Basis:
    """Return the findings about one layer of a run."""
    here = (pc.field("layer") == layer) & (pc.field("pole") == POLE)
    rows = read_rows(Store(run), "explanations", here, ["unit", "verdict", "r2", "r2_nuisance", "f1"])
    if not rows:
        raise SystemExit(f"error: bench bases: {run} has no explanations of layer {layer}")
    numbers = {key: np.array([row[key] for row in rows], np.float64) for key in ("r2", "r2_nuisance", "f1")}
    columns = {"rule": np.array([row["verdict"] == "rule" for row in rows], np.float64)}
    return measure(name, columns | {"r2_beyond": numbers["r2"] - numbers["r2_nuisance"], "f1": numbers["f1"]}, seed)


def compared(run: str) -> dict[str, object]:
    """Return the settings in run.json that must be equal in all runs."""
    names, path = ("k", "activation_sample"), Path(run) / "run.json"
    stages = json.loads(path.read_text())["stages"] if path.is_file() else {}
    if not {"ingest", "topk", "explain"} <= stages.keys():
        raise SystemExit(f"error: bench bases: {run} is not a run with the tables of jobs.explain")
    return {"corpus": stages["ingest"]["fingerprint"], **{n: stages["topk"]["identity"][n] for n in names}}


def layout(found: list[Basis]) -> str:
    """Return the table as Markdown."""
    lines = [
        "| units | how many | rule | median R2 beyond length and source | mean F1 |",
        "|---|---|---|---|---|",
    ]
    for own in found:
        share = "{:.1%} ({:.1%} to {:.1%})".format(*own.rule)
        numbers = ["{:.3f} ({:.3f} to {:.3f})".format(*values) for values in (own.r2_beyond, own.f1)]
        lines.append(f"| {own.name} | {own.units:,} | {share} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def draw(found: list[Basis]) -> Figure:
    """Draw each measure with its interval, with one point for each basis."""
    rows = [
        {"basis": own.name, "measure": title, **dict(zip(("y", "low", "high"), getattr(own, key), strict=True))}
        for own in found
        for key, title in MEASURES.items()
    ]
    return lines(
        pa.Table.from_pylist(rows), "basis", points=True, panel="measure", own_scales=True,
        names={title: title for title in MEASURES.values()}, x_label="basis", y_label="",
        title="How well units of different bases are explained",
    )  # fmt: skip


def main() -> int:
    """Compare the runs, print the table and one line of JSON, and draw the figure."""
    parser = argparse.ArgumentParser(prog="bench bases", description=str(__doc__).splitlines()[0])
    parser.add_argument("--run", action="append", required=True, help="NAME=FOLDER of a run; repeatable")
    parser.add_argument("--layer", type=int, required=True)
    parser.add_argument("--figure", help="folder of the figure, which is drawn only if one is given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    runs = [(name, run) for name, _, run in (text.partition("=") for text in options.run)]
    same = [compared(run) for _, run in runs]
    for (_, run), other in zip(runs, same, strict=True):
        wrong = [key for key, value in other.items() if value != same[0][key]]
        if wrong:
            print(f"error: bench bases: {run} has another {wrong[0]} than {runs[0][1]}", file=sys.stderr)
            return 2
    found = [read(name, run, options.layer, options.seed) for name, run in runs]
    print(layout(found), file=sys.stderr)
    if options.figure:
        save_figures(Store(options.figure), "", {"bases": draw(found)})
    print(json.dumps({"bench": "bases", "layer": options.layer, "bases": [asdict(own) for own in found]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
