"""Compares the explanations of several runs over the same corpus, to find which kind of units is explained best.

    python -m bench bases --run "neurons=runs/hidden" --run "rotated axes=runs/rotated" --layer 4

The benchmark uses the units of one layer of each run, at the pole that all kinds of units have. For each run it reports
the share of units that are explained, the median R2 beyond length and source, and the mean held-out F1. Each number has
a 95 % interval from a bootstrap over units. Neurons, axes and features are compared fairly only if corpus, K and the
activation sample are the same, so runs in which one of these differs are refused.

A rule for rare events is easier to find, so features are compared within bins of the number of sentences in which they
are active, too. The benchmark also prints a table of the bases and bins.
"""

import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from bench.harness import Result
from ops.arrays import Float64s
from ops.errors import InputError
from ops.statistics.resampling import percentile_interval
from ops.storage.store import Store
from ops.storage.tables import read_rows

POLE = "top"
RESAMPLES = 1_000
BINS = (20, 100, 300, 1_000, 3_000)
Range = tuple[int, int | None]
Basis = dict[str, Any]
Activity = dict[str, Any]
Columns = dict[str, Float64s]  # for each measure, its value for each unit, `[units]`; NaN for a missing value


def basis_of(name: str, columns: Columns, seed: int, active: Range | None = None) -> Basis:
    """Return the findings about units: each measure with the ends of its 95 % interval.

    Args:
        name: the name of the basis.
        columns: the measures of the units.
        seed: the seed of the bootstrap.
        active: the range of active sentences from which the units were taken; None if all units were taken.
    """
    units = len(columns["f1"])
    drawn = np.random.default_rng(seed).integers(units, size=(RESAMPLES, units))
    found: Basis = {"name": name, "active": active, "units": units}
    with warnings.catch_warnings():
        # Of a few units, all may lack a measure.
        warnings.filterwarnings("ignore", "Mean of empty slice|All-NaN slice", RuntimeWarning)
        for key, values in columns.items():
            middle = np.nanmedian if key == "r2_beyond" else np.nanmean
            measured = np.append(middle(values), middle(values[drawn], axis=1))
            found[key] = percentile_interval(measured, units, least=-1.0)
    return found


def binned(name: str, columns: Columns, active: Float64s, edges: Sequence[int], seed: int) -> list[Basis]:
    """Return the findings about the features in each bin that is not empty.

    Args:
        name: the name of the basis.
        columns: the measures of the features.
        active: number of sentences in which each feature is active, `[features]`; NaN for other units.
        edges: where the bins begin, ascending. A bin ends before the next one, and the last one has no end.
        seed: the seed of the bootstrap.
    """
    found = []
    for first, stop in zip(edges, (*edges[1:], None), strict=True):
        chosen = (active >= first) & (active < (np.inf if stop is None else stop))
        if chosen.any():
            own = {key: values[chosen] for key, values in columns.items()}
            found.append(basis_of(name, own, seed, (first, stop)))
    return found


def read(name: str, run: str, layer: int, edges: Sequence[int], seed: int) -> tuple[list[Basis], list[Activity]]:
    """Return the findings about one layer of a run: all units, then the bins, and how active its features are.

    `dead` features are active in no sentence, and `median_share` is the median share of the sentences in which each of
    the others is active. `explained_variance` is that of the dictionary on the pilot; None without a decoder.
    """
    store, of_layer = Store(run), pc.field("layer") == layer
    names = ["unit", "verdict", "r2", "r2_nuisance", "f1"]
    rows = read_rows(store, "explanations", of_layer & (pc.field("pole") == POLE), names)
    if not rows:
        raise InputError(f"{run} has no explanations of layer {layer}")
    numbers = {key: np.array([row[key] for row in rows], np.float64) for key in ("r2", "r2_nuisance", "f1")}
    columns = {"rule": np.array([row["verdict"] == "rule" for row in rows], np.float64)}
    columns |= {"r2_beyond": numbers["r2"] - numbers["r2_nuisance"], "f1": numbers["f1"]}
    neurons = read_rows(store, "neurons", of_layer, ["unit", "n", "n_active"])
    active_of = {row["unit"]: row["n_active"] for row in neurons}
    active = np.array([active_of[row["unit"]] for row in rows], np.float64)
    found = [basis_of(name, columns, seed), *binned(name, columns, active, edges, seed)]
    shares = np.array([row["n_active"] for row in neurons], np.float64) / neurons[0]["n"]
    if np.isnan(shares).all():
        return found, []
    said = json.loads((Path(run) / "run.json").read_text())["stages"]["topk"]["counts"]["dictionaries"]
    explained = next(own["explained_variance"] for own in said if own["layer"] == layer)
    activity = {"name": name, "dead": int((shares == 0).sum()), "median_share": float(np.median(shares[shares > 0]))}
    return found, [activity | {"explained_variance": explained}]


def compared(run: str) -> dict[str, object]:
    """Return the settings in run.json that must be equal in all runs."""
    names, path = ("k", "activation_sample"), Path(run) / "run.json"
    stages = json.loads(path.read_text())["stages"] if path.is_file() else {}
    if not {"ingest", "topk", "explain"} <= stages.keys():
        raise InputError(f"{run} is not a run with the tables of jobs.explain")
    return {"corpus": stages["ingest"]["fingerprint"], **{n: stages["topk"]["identity"][n] for n in names}}


def layout(found: list[Basis]) -> str:
    """Return a table as Markdown: all units, and then one bin after another, each with the bases in their order."""
    head = ["active sentences", "units", "how many", "rule", "median R2 beyond length and source", "mean F1"]
    rows = [head, ["---"] * len(head)]
    for own in sorted(found, key=lambda own: (own["active"] or (0, None))[0]):
        label = "all"
        if own["active"]:
            first, stop = own["active"]
            label = f"{first:,} or more" if stop is None else f"{first:,} to {stop - 1:,}"
        share = "{:.1%} ({:.1%} to {:.1%})".format(*own["rule"])
        numbers = ["{:.3f} ({:.3f} to {:.3f})".format(*own[key]) for key in ("r2_beyond", "f1")]
        rows.append([label, own["name"], f"{own['units']:,}", share, *numbers])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def measure(run: list[str], layer: int, bins: tuple[int, ...] = BINS, seed: int = 0) -> Result:
    """Compare the runs, and print the table.

    Args:
        run: NAME=FOLDER of a run; repeatable.
        layer: the layer whose units are compared.
        bins: numbers of active sentences at which the bins of features begin.
        seed: the seed of the bootstrap.
    """
    if sorted({*bins}) != list(bins) or bins[0] < 1:
        raise InputError(f"--bins {' '.join(map(str, bins))}: must be ascending numbers from 1")
    runs = [(name, folder) for name, _, folder in (text.partition("=") for text in run)]
    same = [compared(folder) for _, folder in runs]
    for (_, folder), other in zip(runs, same, strict=True):
        for key, value in other.items():
            if value != same[0][key]:
                raise InputError(f"{folder} has another {key} than {runs[0][1]}")
    read_all = [read(name, folder, layer, bins, seed) for name, folder in runs]
    found = [own for bases, _ in read_all for own in bases]
    print(layout(found), file=sys.stderr)
    return {
        "layer": layer,
        "bases": [own for own in found if own["active"] is None],
        "bins": [own for own in found if own["active"]],
        "activity": [own for _, activity in read_all for own in activity],
    }
