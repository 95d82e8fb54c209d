"""The figures of `audit`: how well cards transfer from one data set to another, and the illusion by layer."""

import matplotlib
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from ops.facts.audit_findings import HALVES, NEURONS, PERMUTED, AuditedRun
from ops.facts.text import shorten
from ops.facts.transfers import Transfers
from ops.figures import LETTERS, NULLS, ON_DARK, ON_PALE, OWN, PAGE, SEQUENTIAL, for_print, save_figures, titled
from ops.storage.store import Store

FOLDER = "audit/figures"
SIDE_BY_SIDE = 7  # maximum number of data sets whose two matrices fit next to each other
LETTER = 0.06  # inches for each letter of a name
TWO_DIGITS = 12  # maximum number of data sets whose cells have room for two digits
NAME = 14  # letters of a data set's name
_APART = 0.22  # layers between two series
_PALE_FROM = 0.6  # of the scale: cells above it are pale
_TITLES = {NEURONS: "Data sets\nas they are", PERMUTED: "Data sets permuted\nover documents"}
_SERIES = {
    NEURONS: ("data sets as they are", OWN),
    HALVES: ("two halves of each data set", NULLS[0]),
    PERMUTED: ("data sets permuted over documents", NULLS[1]),
}


def draw_audit(store: Store, run: AuditedRun, model: str = "") -> list[str]:
    """Draw the figures and return the file names; return none if no neuron is explained."""
    drawings = {}
    if len(run.explained):
        drawings["transfer"] = lambda: transfer_figure(run.transfers, model)
    if any(len(rows["illusion"].drop_null()) for rows in run.neurons.values()):
        drawings["illusion"] = lambda: illusion_figure(run.neurons, model)
    return save_figures(store, FOLDER, drawings)


@for_print
def transfer_figure(transfers: dict[str, Transfers], model: str = "") -> Figure:
    """Draw the transfer from each data set to each other one as a matrix with its numbers.

    The smaller cells of the diagonal show the transfer between two halves of the same data set, which is the highest
    that can be reached. Next to the matrix is that of data sets permuted over documents, which then have the same
    content: with enough winners, its cells are around 1. Below each name is the gain of that data set's own cards:
    the smaller it is, the less certain its column is.

    Args:
        transfers: the sums over neurons, and those of the available controls.
        model: name of the model.
    """
    shown = [name for name in (NEURONS, PERMUTED) if name in transfers]
    datasets = len(transfers[NEURONS].names)
    columns = len(shown) if datasets <= SIDE_BY_SIDE else 1
    rows = len(shown) // columns
    cell = min((PAGE - 2.0) / max(datasets * columns, 1), 0.62)
    figure = Figure(figsize=(PAGE, 1.15 + rows * (cell * datasets + 1.05)), layout="compressed")
    grid = figure.subplots(rows, columns, squeeze=False, sharey=columns > 1)
    for number, (panel, name) in enumerate(zip(grid.flat, shown, strict=True)):
        halves = transfers.get(HALVES) if name == NEURONS else None
        _matrix(panel, transfers[name], halves, cell)
        panel.set_title(_TITLES[name])
        panel.set_xlabel("tested on")
        if number % columns == 0:
            panel.set_ylabel("learned on")
    colours = ScalarMappable(Normalize(0, 1), SEQUENTIAL)
    figure.colorbar(colours, ax=grid, extend="both", shrink=0.7, pad=0.02, label="transfer")
    notes = ["Transfer: gain of the row's cards / gain of the column's own cards, summed over explained neurons."]
    diagonal = "Small cells: between two halves of one data set. " if HALVES in transfers else ""
    notes += [f"{diagonal}Empty cell: own cards gain nothing. Below a name: mean gain of own cards."]
    if PERMUTED in transfers:
        notes.append("Permuted data sets are similar: with enough winners, their cells are around 1.")
    figure.supxlabel("\n".join(notes), fontsize=LETTERS)
    figure.suptitle(titled("How well explanations carry over from one data set to another", model))
    return figure


def _matrix(panel: Axes, sums: Transfers, halves: Transfers | None, cell: float) -> None:
    """Draw the cells of a matrix `[from, to]`, each `cell` inches wide; unknown cells are omitted."""
    count = len(sums.names)
    values = sums.ratios()
    panel.imshow(np.ma.masked_invalid(values), vmin=0, vmax=1, cmap=SEQUENTIAL, aspect="equal")
    if halves is not None:
        values[np.diag_indices(count)] = halves.between_halves(sums.names)
        for i in np.nonzero(np.isfinite(np.diagonal(values)))[0]:
            colour = matplotlib.colormaps[SEQUENTIAL](float(np.clip(values[i, i], 0, 1)))
            panel.add_patch(Rectangle((i - 0.38, i - 0.38), 0.76, 0.76, facecolor=colour, edgecolor="none"))
    digits = 2 if count <= TWO_DIGITS else 1
    for i, j in zip(*np.nonzero(np.isfinite(values)), strict=True):
        ink = ON_PALE if values[i, j] > _PALE_FROM else ON_DARK
        panel.text(
            j,
            i,
            f"{round(values[i, j], digits) + 0.0:.{digits}f}",
            ha="center",
            va="center",
            color=ink,
            fontsize=LETTERS,
        )
    gains = sums.below.sum(0) / max(sums.neurons * (count - 1), 1)
    names = [shorten(name, NAME) for name in sums.names]
    labels = [f"{name}\n{gain:.3f}" for name, gain in zip(names, gains, strict=True)]
    panel.set_xticks(range(count), labels, rotation=0 if max(map(len, names), default=0) * LETTER < cell else 90)
    panel.set_yticks(range(count), names)
    panel.spines[:].set_visible(False)
    panel.tick_params(length=0)


@for_print
def illusion_figure(neurons: dict[str, pa.Table], model: str = "") -> Figure:
    """Draw the median and quartiles of the illusion by layer, over neurons and poles with known transfer.

    Args:
        neurons: rows of audit/neurons/ with `layer` and `illusion`, and those of the controls.
        model: name of the model.
    """
    figure = Figure(figsize=(PAGE, 3.2), layout="constrained")
    panel = figure.subplots()
    there = [name for name in _SERIES if name in neurons]
    for number, name in enumerate(there):
        rows = neurons[name].filter(pc.is_valid(neurons[name]["illusion"]))
        layer, illusion = rows["layer"].to_numpy(), rows["illusion"].to_numpy()
        layers = np.unique(layer)
        if not len(layers):
            continue
        quartiles = np.array([np.quantile(illusion[layer == one], [0.25, 0.5, 0.75]) for one in layers])
        label, look = _SERIES[name]
        x = layers + _APART * (number - (len(there) - 1) / 2)
        panel.vlines(x, quartiles[:, 0], quartiles[:, 2], color=look["color"], linewidth=1.5)
        panel.plot(
            x, quartiles[:, 1], **{**look, "linestyle": "none", "markersize": 4}, label=f"{label} ({len(rows):,})"
        )
    for level in (0, 1):
        panel.axhline(level, color="0.7", linewidth=0.6, zorder=0)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    panel.set_xlabel("layer")
    panel.set_ylabel("illusion (1 - transfer)")
    panel.set_title("Median and quartiles over explained neurons and poles with known transfer (number in legend)")
    figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.suptitle(titled("How much of an explanation is an illusion of its data set", model))
    return figure
