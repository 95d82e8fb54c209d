"""The figure shows what the table holds."""

import numpy as np
import pyarrow as pa

from ops.outputs.control_rows import control_rows
from ops.outputs.figures import peaked_figures
from ops.schema import schema
from tests.unit.figure_letters import check_print


def controls(values: dict[int, np.ndarray]) -> pa.Table:
    random = np.linspace(0, 1, 50)
    rows = [
        row
        for layer, own in values.items()
        for name in ("kurtosis", "extreme")
        for row in control_rows(layer, name, own, random)
    ]
    return pa.Table.from_pylist(rows, schema("outputs/controls"))


def test_medians_of_units_stand_next_to_those_of_random_directions() -> None:
    table = controls({1: np.arange(5.0), 2: np.full(3, np.nan), 3: np.arange(9.0)})
    figure = peaked_figures(table)["peaked"]
    check_print(figure)
    left, right = figure.axes
    units, random = left.get_lines()
    assert list(units.get_ydata()) == [2.0, 4.0], "a layer that writes nothing is left out"
    assert np.round(units.get_xdata()).tolist() == [1, 3]
    np.testing.assert_allclose(random.get_ydata(), 0.5)
    assert len(right.get_lines()) == 2


def test_where_nothing_is_written_there_is_no_figure() -> None:
    table = controls({1: np.full(3, np.nan)})
    empty = table.filter(pa.compute.equal(table["basis"], "units"))
    assert peaked_figures(empty) == {}
