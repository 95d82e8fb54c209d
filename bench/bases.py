"""Compares the explanations of several runs over the same corpus, to find which kind of units is explained best.

    python -m bench bases --run "neurons=runs/hidden" --run "rotated axes=runs/rotated" --layer 4 --figure runs/bases

The benchmark uses the units of one layer of each run, at the pole that all kinds of units have. For each run it reports
the share of units that are explained, the median R2 beyond length and source, and the mean held-out F1. Each number has
a 95 % interval from a bootstrap over units. Neurons, axes and features are compared fairly only if corpus, K and the
activation sample are the same, so runs in which one of these differs are refused. The benchmark prints a table too.
"""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from bench.harness import Result
from ops.arrays import Float64s
from ops.errors import InputError
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


def basis_of(name: str, columns: dict[str, Float64s], seed: int, resamples: int = 1_000) -> Basis:
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
        raise InputError(f"{run} has no explanations of layer {layer}")
    numbers = {key: np.array([row[key] for row in rows], np.float64) for key in ("r2", "r2_nuisance", "f1")}
    columns = {"rule": np.array([row["verdict"] == "rule" for row in rows], np.float64)}
    return basis_of(name, columns | {"r2_beyond": numbers["r2"] - numbers["r2_nuisance"], "f1": numbers["f1"]}, seed)


def compared(run: str) -> dict[str, object]:
    """Return the settings in run.json that must be equal in all runs."""
    names, path = ("k", "activation_sample"), Path(run) / "run.json"
    stages = json.loads(path.read_text())["stages"] if path.is_file() else {}
    if not {"ingest", "topk", "explain"} <= stages.keys():
        raise InputError(f"{run} is not a run with the tables of jobs.explain")
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


def measure(run: list[str], layer: int, figure: str | None = None, seed: int = 0) -> Result:
    """Compare the runs, and print the table.

    Args:
        run: NAME=FOLDER of a run; repeatable.
        layer: the layer whose units are compared.
        figure: folder of the figure, which is drawn only if one is given.
        seed: the seed of the bootstrap.
    """
    runs = [(name, folder) for name, _, folder in (text.partition("=") for text in run)]
    same = [compared(folder) for _, folder in runs]
    for (_, folder), other in zip(runs, same, strict=True):
        for key, value in other.items():
            if value != same[0][key]:
                raise InputError(f"{folder} has another {key} than {runs[0][1]}")
    found = [read(name, folder, layer, seed) for name, folder in runs]
    print(layout(found), file=sys.stderr)
    if figure:
        save_figures(Store(figure), "", {"bases": draw(found)})
    return {"layer": layer, "bases": [asdict(own) for own in found]}, True
