"""The figures of `audit`: how well cards transfer from one data set to another, and the illusion by layer."""

from textwrap import fill

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from ops.arrays import Float64s
from ops.facts.audit_findings import AuditedRun
from ops.facts.text import shorten
from ops.facts.transfers import LEAST_GAIN, Transfers
from ops.facts.verdicts import HALVES, NEURONS, PERMUTED
from ops.figures.lines import quantiles, quantiles_of
from ops.figures.maps import heat_map
from ops.figures.panels import finish, panels
from ops.figures.style import LETTERS, PALE, WIDTH

MOST_NUMBERS = 8  # maximum number of data sets whose cells have room for numbers
SIDE_BY_SIDE = 4  # maximum number of data sets whose two matrices fit next to each other
NAME = 14  # letters of a data set's name
NOTE = 78  # letters in a line of the notes
SHORT = 8  # maximum number of letters of names that are not written upright
_TITLES = {NEURONS: "data sets as they are", PERMUTED: "data sets permuted over documents"}
_BASES = {
    NEURONS: "data sets as they are",
    HALVES: "two halves of each data set",
    PERMUTED: "data sets permuted over documents",
}


def audit_figures(run: AuditedRun) -> dict[str, Figure]:
    """Return the figures of an audit; there is none of transfer if no neuron is explained."""
    figures = {}
    if len(run.explained):
        figures["transfer"] = transfer_figure(run.transfers)
    if any(len(rows["illusion"].drop_null()) for rows in run.neurons.values()):
        figures["illusion"] = illusion_figure(run.neurons)
    return figures


def transfer_figure(transfers: dict[str, Transfers]) -> Figure:
    """Draw the transfer from each data set to each other one as a matrix with its numbers.

    The diagonal shows the transfer between two halves of the same data set, which is the highest that can be reached.
    The second matrix is that of data sets permuted over documents, which have the same content: only chance moves its
    cells away from 1, and the figure says how far. Below each name is the gain of that data set's own cards: the
    smaller it is, the less certain its column is. `transfers` are sums over neurons, also of the available controls.
    """
    matrices = {name: transfers[name].ratios() for name in _TITLES if name in transfers}
    names = transfers[NEURONS].names
    if HALVES in transfers:
        matrices[NEURONS][np.diag_indices(len(names))] = transfers[HALVES].between_halves(names)
    columns = len(matrices) if len(names) <= SIDE_BY_SIDE else 1
    figure, grid = panels(
        [_TITLES[name] for name in matrices], "How well explanations carry over from one data set to another",
        own_scales=True, columns=columns, height=0.4 + min((WIDTH - 1.5) / columns, 0.55 * len(names)),
    )  # fmt: skip
    for axes, (name, values) in zip(grid, matrices.items(), strict=True):
        image = _matrix(axes, transfers[name], values)
    if len(names) > MOST_NUMBERS:
        figure.colorbar(image, ax=grid, extend="both", shrink=0.6, label="transfer")
    notes = [
        "Row: learned on; column: tested on. Transfer: gain of the row's cards divided by that of the column's own "
        "cards, summed over explained neurons.",
        "With a name: mean gain of own cards in average precision. Grey cell: it is below "
        f"{LEAST_GAIN}, so that no share of it can be told.",
    ]
    if HALVES in transfers:
        notes.append("Diagonal: between two halves of one data set.")
    if PERMUTED in transfers and np.isfinite(matrices[PERMUTED]).any():
        low, high = np.nanmin(matrices[PERMUTED]), np.nanmax(matrices[PERMUTED])
        notes.append(
            "Permuted data sets have the same content, so only chance moves their cells away from 1: here they range "
            f"from {low:.2f} to {high:.2f}."
        )
    text = fill(" ".join(notes), NOTE)
    finish(figure)
    figure.set_figheight(figure.get_figheight() + 0.15 * (text.count("\n") + 1))
    figure.legend([], [], title=text, title_fontsize=LETTERS, loc="outside lower center")
    return figure


def _matrix(axes: Axes, sums: Transfers, values: Float64s) -> AxesImage:
    """Draw the cells of a matrix `[from, to]`; cells without a number are grey, but for the diagonal."""
    count = len(sums.names)
    nothing = np.where(np.isfinite(values) | np.eye(count, dtype=np.bool_), np.nan, 1.0)
    axes.imshow(nothing, cmap=ListedColormap([PALE]))
    image = heat_map(axes, values, 0, 1, digits=2 if count <= MOST_NUMBERS else None)
    names = [shorten(name, NAME) for name in sums.names]
    upright = max(map(len, names), default=0) > SHORT or count > MOST_NUMBERS
    between = ", " if upright else "\n"
    labels = [f"{name}{between}{gain:.3f}" for name, gain in zip(names, sums.mean_gains(), strict=True)]
    axes.set_xticks(range(count), labels, rotation=90 if upright else 0)
    axes.set_yticks(range(count), names)
    return image


def illusion_figure(neurons: dict[str, pa.Table]) -> Figure:
    """Draw the quantiles of the illusion by layer, over neurons and poles with known transfer, and of the controls."""
    known = {name: rows.filter(pc.is_valid(rows["illusion"])) for name, rows in neurons.items()}
    every = pa.concat_tables(
        rows.select(["layer", "illusion"]).append_column("basis", pa.repeat(name, len(rows)))
        for name, rows in known.items()
    )
    return quantiles(
        quantiles_of(every, ["basis", "layer"], "illusion"), "layer", "basis", levels={0: "", 1: ""},
        bases={name: f"{text} ({len(known[name]):,})" for name, text in _BASES.items() if name in known},
        title="How much of an explanation is an illusion of its data set: median, quartiles, 5 % and 95 %",
        y_label="illusion (1 - transfer) of explained neurons and poles",
    )  # fmt: skip
