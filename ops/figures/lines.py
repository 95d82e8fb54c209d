"""Figures of a table's columns: lines with bands, points with bars, and quantiles, in panels."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ops.arrays import Float64s
from ops.figures.panels import finish, panels, set_scale
from ops.figures.style import BAND, GROUND, LEVEL, LINE, looks

Names = Mapping[Any, str]  # what a figure calls the values of a column, in the order in which they are drawn
QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
MOST_MARKED = 15  # maximum number of points of a line with markers
MOST_NAMED = 6  # maximum number of ordered lines in a legend
_SPREAD = 0.6  # share of the distance between two places that the series of a place fill


def longer(table: pa.Table, *parts: tuple[str, ...]) -> pa.Table:
    """Return the rows of a table once for each part, with the columns `panel`, `series`, `y`, `low` and `high`.

    A part has the values of `panel` and `series`, and the names of the columns that become `y` and, if it has an
    interval, `low` and `high`. A part whose columns are all null is left out.
    """

    def part(panel: str, series: str, *columns: str) -> pa.Table:
        rows = dict(zip(table.column_names, table.columns, strict=True))
        rows |= {name: pa.repeat(value, table.num_rows) for name, value in (("panel", panel), ("series", series))}
        return pa.table(rows | {name: table[c].cast(pa.float64()) for name, c in zip(("y", "low", "high"), columns)})  # noqa: B905

    known = [own for own in parts if table[own[2]].null_count < table.num_rows]
    return pa.concat_tables([part(*own) for own in known or parts], promote_options="default")


def with_panels(table: pa.Table, *columns: str) -> pa.Table:
    """Return a table whose column `panel` joins the texts of some columns with colons."""
    joined = pc.binary_join_element_wise(*(table[name].cast(pa.string()) for name in columns), ":")
    kept = [name for name in table.column_names if name != "panel"]
    return table.select(kept).append_column("panel", joined)


def with_deviation(table: pa.Table, where: Any = True, least: Any = -np.inf, most: float = np.inf) -> pa.Table:
    """Return a table with `low` and `high`, one `std` around `mean` and between `least` and `most`, null elsewhere."""
    spread = pc.if_else(where, table["std"], None)
    low = pc.max_element_wise(pc.subtract(table["mean"], spread), least, skip_nulls=False)
    high = pc.min_element_wise(pc.add(table["mean"], spread), most, skip_nulls=False)
    return table.append_column("low", low).append_column("high", high)


def layer_names(table: pa.Table) -> dict[int, str]:
    """Return what a figure calls the layers of a table, in ascending order."""
    return {layer: f"layer {layer}" for layer in sorted(pc.unique(table["layer"]).to_pylist())}


def quantiles_of(table: pa.Table, keys: list[str], value: str) -> pa.Table:
    """Return the quantiles `q05` to `q95` of a column's known values for each combination of keys."""
    known = table.filter(pc.is_valid(table[value])).group_by(keys, use_threads=False).aggregate([(value, "list")])
    shares = list(QUANTILES.values())
    found = np.array([np.quantile(own, shares) for own in known[f"{value}_list"].to_pylist()]).reshape(-1, len(shares))
    return pa.table({**{key: known[key] for key in keys}, **dict(zip(QUANTILES, found.T, strict=True))})


def lines(
    table: pa.Table, x: str, y: str = "y", *, title: str, y_label: str | Mapping[Any, str], x_label: str | None = None,
    panel: str = "panel", names: Names | None = None, own_scales: bool = False, columns: int = 0, height: float = 0.0,
    colour: str = "series", series: Names | None = None, factors: bool = False,
    y_scale: str | Mapping[Any, str] = "", levels: Mapping[float, str] = MappingProxyType({}), **options: Any,
) -> Figure:  # fmt: skip
    """Draw a column of a table by another one: a panel for each value of `panel`, a line for each value of `colour`.

    Args:
        x, y: the columns of the two axes. A text in `x` is a category.
        y_label, y_scale: the label of all vertical axes and their scale (see `set_scale`), or those of each panel.
        x_label: the label of the horizontal axes; by default the name of their column.
        panel, colour: the columns that distinguish panels and lines, if the table has them.
        names, series: what the figure calls the values of `panel` and `colour`; others are not drawn. Measured values
            come first in `series`, their controls after them.
        own_scales, columns, height: as in `panels`.
        factors: whether the numbers of `x` grow by factors: the axis is then logarithmic, with a tick at each of them.
        levels: values of `y` to compare with, which each panel marks, and their names in the legend, if they have any.
        options: more arguments of `draw_lines`.
    """
    panel, colour = (name if name in table.column_names else "" for name in (panel, colour))
    titles = names_of(table, panel, names)
    figure, grid = panels(list(titles.values()), title, own_scales, columns, height)
    places = None if own_scales else names_of(table, x)
    series = series or names_of(table, colour)
    shown = list(zip(titles or (None,), grid, strict=True))
    for value, axes in shown:
        draw_lines(axes, rows_where(table, panel, value), x, y, colour=colour, series=series, places=places, **options)
        for level, label in levels.items():
            axes.axhline(level, **LEVEL, label=label)
        if factors:
            numbers = sorted(pc.unique(table[x]).to_pylist())
            axes.set_xscale("log")
            axes.set_xticks(numbers, [str(number) for number in numbers])
            axes.minorticks_off()
        if isinstance(y_label, Mapping):
            axes.set_ylabel(y_label[value])
    for value, axes in shown if own_scales else shown[:1]:
        set_scale(axes, "y", y_scale.get(value, "") if isinstance(y_scale, Mapping) else y_scale)
    return finish(figure, x if x_label is None else x_label, y_label if isinstance(y_label, str) else "")


def draw_lines(
    axes: Axes, table: pa.Table, x: str, y: str = "y", *, low: str = "low", high: str = "high", dotted: str = "",
    colour: str = "series", series: Names | None = None, ordered: bool = False, points: bool = False,
    inner: tuple[str, ...] = (), places: Names | None = None,
) -> None:  # fmt: skip
    """Draw lines with bands, or points with bars, in one panel.

    Args:
        table, x, y, colour, series: as in `lines`.
        low, high: the columns of the interval of `y`, if the table has both.
        dotted: the column of a dotted line for each line to be compared with.
        ordered: whether the lines have an order, as layers do; only some of many are then named.
        points: draw points next to each other instead of lines.
        inner: for points, the columns of an interval within that of `low` and `high`.
        places: the categories of `x` in their order, if those of the table are not all.
    """
    places = places or names_of(table, x)
    columns = [y, *((low, high) if {low, high} <= set(table.column_names) else ()), *inner]
    colour = colour if colour in table.column_names else ""
    for label, look, aside, rows in _each(table, colour, series, ordered):
        at = _at(axes, rows, x, places) + (aside if points else 0.0)
        order = np.argsort(at, kind="stable")
        at = at[order]
        middle, *ends = (rows[c].to_numpy().astype(np.float64)[order] for c in columns)
        if points:
            look |= {"linestyle": "none"} | ({"markerfacecolor": GROUND} if inner else {})
            _leave_room(axes, table, x)
            for i, width in zip(range(0, len(ends), 2), (0.9, 2.5), strict=False):
                axes.vlines(at, *ends[i : i + 2], color=look["color"], linewidth=width)
        elif len(at) > MOST_MARKED:
            look["marker"] = ""
        axes.plot(at, middle, label=label, **look)
        if ends and not points:
            axes.fill_between(at, *ends, color=look["color"], **BAND)
        if dotted and rows[dotted].null_count < len(rows):
            axes.plot(at, rows[dotted].to_numpy().astype(np.float64)[order], color=look["color"], linestyle=":")


def quantiles(table: pa.Table, x: str, basis: str, *, bases: Names, **options: Any) -> Figure:
    """Draw median, quartiles, 5 % and 95 %, the columns of `QUANTILES`, with those of each basis next to each other.

    The column `basis` distinguishes neurons from controls; `bases` names its values in order. The other arguments are
    those of `lines`. Each panel has its own axes.
    """
    return lines(
        table, x, "q50", low="q05", high="q95", inner=("q25", "q75"), colour=basis, series=bases, own_scales=True,
        points=True, **options,
    )  # fmt: skip


def names_of(table: pa.Table, column: str, names: Names | None = None) -> Names:
    """Return the names of a column's values; without names, its texts in the order in which they appear.

    Without a column there is one value, None, with its name if it has one.
    """
    if not column:
        return names or {None: ""}
    known = pc.unique(table[column]).to_pylist()
    if names is None:
        return {value: value for value in known if isinstance(value, str)}
    return {value: name for value, name in names.items() if value in known}


def rows_where(table: pa.Table, column: str, value: Any) -> pa.Table:
    """Return the rows with this value in a column, or all rows without a column."""
    return table.filter(pc.equal(table[column], value)) if column and value is not None else table


def _each(
    table: pa.Table, colour: str, series: Names | None, ordered: bool = False
) -> Iterator[tuple[str, dict[str, Any], float, pa.Table]]:
    """Yield each series: its name, its look, how far to the side of its place it is drawn, and its rows."""
    every = series or names_of(table, colour)
    present = list(names_of(table, colour, every))
    step = -(-len(present) // MOST_NAMED) if ordered else 1
    for value, look in zip(every, looks(len(every), ordered), strict=True):
        if value in present:
            i = present.index(value)
            aside = _SPREAD * ((i + 0.5) / len(present) - 0.5)
            yield ("" if i % step else every[value]), look, aside, rows_where(table, colour, value)


def _at(axes: Axes, rows: pa.Table, x: str, places: Names) -> Float64s:
    """Return the horizontal places of rows, and set the ticks of their axis."""
    if not pa.types.is_string(rows.schema.field(x).type):
        at = np.asarray(rows[x].to_numpy().astype(np.float64))
        if pa.types.is_integer(rows.schema.field(x).type):
            axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
        return at
    wide = LINE // axes.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]
    upright = sum(len(name) + 2 for name in places.values()) > wide
    axes.set_xticks(range(len(places)), list(places.values()), rotation=90 if upright else 0)
    axes.set_xlim(-0.6, len(places) - 0.4)
    return np.asarray(pc.index_in(rows[x], pa.array(list(places))).to_numpy().astype(np.float64))


def _leave_room(axes: Axes, table: pa.Table, x: str) -> None:
    """Set the limits of an axis of numbers so that the series fit at the first and the last of them."""
    if table.num_rows and not pa.types.is_string(table.schema.field(x).type):
        low, high = pc.min_max(table[x]).as_py().values()
        axes.set_xlim(low - 0.6, high + 0.6)
