"""Figures of tables show the table's numbers, each in its panel and series."""

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.axes import Axes

from ops.figures.lines import MOST_NAMED, layer_names, lines, longer, quantiles, quantiles_of
from ops.figures.panels import panels
from tests.unit.figure_letters import check_inside, check_print

TABLE = pa.table({
    "layer": [1, 2, 1, 2], "of": ["a", "a", "b", "b"], "own": [0.1, 0.2, 0.3, 0.4], "null": [0.0, 0.1, 0.0, None],
    "least": [0.0, 0.1, 0.2, 0.3],
})  # fmt: skip
TEXTS = {"title": "a title", "x_label": "layer", "y_label": "how much"}


def points(axes: Axes) -> list[list[list[float]]]:
    return [np.asarray(line.get_xydata()).tolist() for line in axes.lines]


@pytest.mark.parametrize(("count", "columns"), [(0, 1), (1, 1), (3, 3), (4, 2), (5, 3), (12, 3)])
def test_panels_fill_rows(count: int, columns: int) -> None:
    figure, grid = panels([f"panel {i}" for i in range(count)], "all of them")
    assert grid == figure.axes, "no panel is empty"
    assert len(grid) == max(count, 1)
    assert grid[0].get_subplotspec().get_gridspec().ncols == columns  # type: ignore[union-attr]


def test_a_panel_and_a_line_for_each_value_and_the_control_next_to_it() -> None:
    long = longer(TABLE, ("p", "measured", "own", "least", "own"), ("p", "shuffled", "null"))
    figure = lines(long, "layer", "y", low="low", high="high", colour="series", panel="of", names={"b": "B"}, **TEXTS)
    (axes,) = figure.axes
    assert axes.get_title() == "B"
    measured, shuffled = points(axes)
    assert measured == [[1, 0.3], [2, 0.4]]
    np.testing.assert_array_equal(shuffled, [[1, 0], [2, np.nan]])
    assert len(axes.collections) == 2, "a band each"
    check_print(figure)
    check_inside(figure)


def test_categories_keep_their_order_and_series_stand_next_to_each_other() -> None:
    table = longer(TABLE.sort_by([("of", "descending")]), ("", "x", "own"), ("", "y", "null"))
    (axes,) = lines(table, "of", "y", colour="series", points=True, **TEXTS).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["b", "a"]
    x, y = (np.asarray(line.get_xdata(), float) for line in axes.lines)
    assert np.round(x).tolist() == np.round(y).tolist() == [0, 0, 1, 1]
    assert (x < y).all()


def test_a_series_has_one_look_in_all_panels_and_a_column_of_nulls_none() -> None:
    parts = (("p", "a", "own"), ("p", "none", "nothing"), ("q", "b", "null"))
    table = longer(TABLE.append_column("nothing", pa.nulls(4, pa.float64())), *parts)
    figure = lines(table, "layer", "y", colour="series", panel="panel", names={"p": "p", "q": "q"}, **TEXTS)
    first, second = (axes.lines[0] for axes in figure.axes)
    assert [len(axes.lines) for axes in figure.axes] == [1, 1]
    assert first.get_color() != second.get_color()


def test_of_many_ordered_lines_some_are_named() -> None:
    table = pa.table({"layer": np.repeat(np.arange(1, 25), 2), "x": [0.0, 1.0] * 24, "y": np.arange(48.0)})
    figure = lines(table, "x", "y", colour="layer", series=layer_names(table), ordered=True, **TEXTS)
    assert len(figure.axes[0].lines) == 24
    assert len(figure.legends[0].get_texts()) == MOST_NAMED
    assert lines(table.slice(0, 0), "x", "y", colour="layer", **TEXTS).axes, "an empty table has an empty figure"


@pytest.mark.parametrize("name", ["$$", "a$x^y^z$", r"$\\", "5 $ & 10 $"])
def test_a_name_with_dollar_signs_is_no_formula(name: str) -> None:
    table = TABLE.set_column(1, "of", [[name, name, "b", "b"]])
    figure = lines(table, "layer", "own", colour="of", panel="of", **TEXTS | {"title": name})
    figure.canvas.draw()
    assert figure.axes[0].get_title() == name


def test_quantiles_of_each_basis_are_drawn_next_to_each_other() -> None:
    rng = np.random.default_rng(0)
    values = pa.table({"at": np.repeat([1, 2, 3], 40), "basis": ["b", "a"] * 60, "v": rng.normal(size=120)})
    values = pa.concat_tables([values, pa.table({"at": [1], "basis": ["a"], "v": pa.nulls(1, pa.float64())})])
    found = quantiles_of(values, ["basis", "at"], "v")
    figure = quantiles(found, "at", "basis", bases={"a": "neurons", "b": "null", "c": "none"}, **TEXTS)
    (axes,) = figure.axes
    assert [line.get_label() for line in axes.lines] == ["neurons", "null"]
    own = [values["v"].to_numpy()[1::2][20 * i : 20 * i + 20] for i in range(3)]
    np.testing.assert_allclose(np.asarray(axes.lines[0].get_ydata()), [np.median(v) for v in own])
    ends = [np.asarray(c.get_segments())[2, :, 1] for c in axes.collections[:2]]  # type: ignore[attr-defined]
    np.testing.assert_allclose(ends, np.quantile(own[2], [[0.05, 0.95], [0.25, 0.75]]))
    check_print(figure)
